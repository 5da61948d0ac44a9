// SPDX-License-Identifier: Apache-2.0

package genkitdev_test

import (
	"context"
	"errors"
	"testing"

	"github.com/firebase/genkit/go/genkit"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/genkitdev"
	"github.com/ponte-go/ponte/toolset"
)

// Hooks pass on what they get, and return what comes back, within flows and outside of them.
func TestHooksPassOnWhatTheyGet(t *testing.T) {
	h := genkitdev.Hooks[deps]()
	boom := errors.New("boom")
	check := func(ctx context.Context) error {
		run := &toolset.RunContext[deps]{}
		run.Call = toolset.Call{ID: "1", Tool: "look", Args: model.RawArgs(`{}`)}
		for _, failed := range []error{nil, boom} {
			require.ErrorIs(t, h.Run(ctx, run, func(context.Context) (*agent.Summary, error) { return &agent.Summary{}, failed }), failed)
			req, resp := &model.Request{Instructions: "x"}, model.Response(model.Text("x"))
			got, err := h.Request(ctx, run, req, func(_ context.Context, passed *model.Request) (*model.Message, error) {
				require.Same(t, req, passed)
				return resp, failed
			})
			require.ErrorIs(t, err, failed)
			require.Same(t, resp, got)
			res, err := h.Call(ctx, run, "args", func(_ context.Context, args any) (toolset.Result, error) {
				require.Equal(t, "args", args)
				return toolset.Result{Text: "looked", Outcome: model.OutcomeFailed}, failed
			})
			require.ErrorIs(t, err, failed)
			require.Equal(t, toolset.Result{Text: "looked", Outcome: model.OutcomeFailed}, res)
		}
		return nil
	}
	require.NoError(t, check(t.Context()))
	flow := genkit.DefineFlow(g, unique(t.Name()), func(ctx context.Context, _ string) (string, error) { return "", check(ctx) })
	_, err := flow.Run(t.Context(), "x")
	require.NoError(t, err)
}
