// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
)

type (
	telling struct {
		model.Model
		id string
	}
	tellingByPointer struct{ model.Model }
	wrapsOwn         struct{ telling }
	wrapsOwnPointer  struct{ *tellingByPointer }
	wrapsForeign     struct{ *modelwrap.Costed }
	wrapsAndTells    struct{ *modelwrap.Costed }
	wrapsAndRepeats  struct{ *modelwrap.Costed }
	holdsForeign     struct {
		telling
		inner *modelwrap.Costed
	}
	wrapsInterface struct {
		model.Model
		model.Identifier
	}
	wrapsDeep struct{ wrapsForeign }
	function  func() string
	answering func(id string) string // a model that is a function
)

func (f answering) Identity() string { return f("a function") }
func (answering) Info() model.Info   { return model.Info{} }

func (answering) Generate(context.Context, *model.Request, model.Sink) (*model.Message, error) {
	return nil, nil
}

func (m telling) Identity() string           { return m.id }
func (m *tellingByPointer) Identity() string { return "pointer" }
func (m wrapsAndTells) Identity() string     { return "other" }
func (m wrapsAndRepeats) Identity() string   { return model.Identity(m.Model) }
func (f function) Identity() string          { return f() }

type callable struct {
	model.Model
	function
}

// TestIdentityIsTheModelsOwn checks that a model has an identity if it tells one itself, and not if it has that of a model of
// another package within it, which it may change.
func TestIdentityIsTheModelsOwn(t *testing.T) {
	plain := model.Func(model.Info{}, nil)
	inner := telling{plain, "inner"}
	costed := modelwrap.Cost(inner, model.Prices{}, nil)
	require.Equal(t, "model_test.telling inner", costed.Identity())
	for want, m := range map[string]model.Model{
		"model_test.telling inner": inner, "*model_test.telling inner": &inner, "*model_test.tellingByPointer pointer": &tellingByPointer{plain}, "model_test.wrapsOwn inner": wrapsOwn{inner}, "model_test.wrapsOwnPointer pointer": wrapsOwnPointer{&tellingByPointer{plain}},
		"model_test.answering a function":            answering(strings.TrimSpace),
		"*modelwrap.Costed model_test.telling inner": costed, "model_test.wrapsAndTells other": wrapsAndTells{costed}, "model_test.holdsForeign inner": holdsForeign{inner, costed},
	} {
		require.Equal(t, want, model.Identity(m))
	}
	for i, m := range []model.Model{
		plain, telling{plain, ""}, wrapsForeign{costed}, &wrapsForeign{costed}, wrapsAndRepeats{costed}, wrapsInterface{plain, inner}, wrapsDeep{wrapsForeign{costed}}, callable{plain, func() string { return "called" }},
	} {
		require.Empty(t, model.Identity(m), i)
	}
}
