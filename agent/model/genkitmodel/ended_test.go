// SPDX-License-Identifier: Apache-2.0

package genkitmodel_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/firebase/genkit/go/ai"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
)

// Some plugins ignore their callback's error, and complete the response although the context has ended. When Generate
// checks, both results are ready, and select would choose at random, so the test tries many times.
func TestEndedContextWinsOverCompleteResponse(t *testing.T) {
	left := errors.New("the user has left")
	m := open(t, genkitmodel.Config{}, func(ctx context.Context, _ *ai.ModelRequest, cb ai.ModelStreamCallback) (*ai.ModelResponse, error) {
		for _, text := range []string{"It ", "rains."} {
			_ = cb(ctx, &ai.ModelResponseChunk{Role: ai.RoleModel, Content: []*ai.Part{ai.NewTextPart(text)}})
		}
		return answer(ai.NewTextPart("It rains.")), nil
	})
	for range 30 {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			msg, err := m.Generate(ctx, hello(), func(model.Delta) error {
				cancel(left)
				synctest.Wait() // the plugin has returned
				return nil
			})
			require.ErrorIs(t, err, left)
			require.Nil(t, msg)
		})
	}
}

// The sink may get the whole response at once and then cancel the context.
func TestContextEndedByTheLastDelta(t *testing.T) {
	left := errors.New("the user has left")
	m := open(t, genkitmodel.Config{}, func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error) {
		return answer(ai.NewTextPart("It rains.")), nil
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := m.Generate(ctx, hello(), func(model.Delta) error {
		cancel(left)
		return nil
	})
	require.ErrorIs(t, err, left)
}
