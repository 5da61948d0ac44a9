// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// checked is a toolset of a program that knows what is wrong with it.
type checked[D any] struct {
	toolset.Toolset[D]
	err error
}

func (c checked[D]) Check() error { return c.err }

var _ toolset.Checker = checked[deps]{}

func TestNewReportsWhatACheckerReports(t *testing.T) {
	errPath := errors.New("files: Root is empty: set the directory to serve")
	set := checked[deps]{toolset.Of[deps](), errPath}
	narrowed := checked[int]{toolset.Of[int](), errPath}
	for name, outer := range map[string]toolset.Toolset[deps]{
		"itself":   set,
		"Named":    toolset.Named(set, "files"),
		"Combine":  toolset.Combine(toolset.Of[deps](), set),
		"Prefixed": toolset.Prefixed(set, "a_"),
		"Defaults": toolset.Defaults(set, toolset.Retries(1)),
		"Adapt":    toolset.Adapt(narrowed, func(deps) int { return 0 }),
		"Filtered": toolset.Filtered(set, func(context.Context, *toolset.RunContext[deps], *toolset.Tool[deps]) (bool, error) { return true, nil }),
		"Prepared": toolset.Prepared(set, func(_ context.Context, _ *toolset.RunContext[deps], d model.ToolDef) (*model.ToolDef, error) {
			return &d, nil
		}),
		"nested": toolset.Named(toolset.Combine(toolset.Prefixed(set, "a_")), "outer"),
	} {
		_, err := agent.New(cfg{Toolsets: []toolset.Toolset[deps]{outer}, MaxParallelCalls: -1})
		require.ErrorIs(t, err, errPath, name)
		require.ErrorContains(t, err, "MaxParallelCalls", "other problems are reported as well")
	}
	_, err := agent.New(cfg{Toolsets: []toolset.Toolset[deps]{checked[deps]{Toolset: toolset.Of[deps]()}}})
	require.NoError(t, err)
}
