// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// delegate is a tool that knows nothing of agents and waits for calls inside it.
func delegate(resumed *[]toolset.Resume, err error) *toolset.Tool[deps] {
	return tool("delegate", func(_ context.Context, run *toolset.RunContext[deps]) (string, error) {
		if run.Call.Resume == nil {
			return "", err
		}
		*resumed = append(*resumed, *run.Call.Resume)
		return "done", nil
	})
}

func TestAnyToolCanWaitForCallsInsideIt(t *testing.T) {
	for _, policy := range []bool{false, true} {
		var resumed []toolset.Resume
		a := newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(call("a/b", "delegate")), modeltest.SayText("ok"))}, delegate(&resumed, toolset.Pending(json.RawMessage(`{"job":7}`),
			toolset.PendingCall{ID: "p", Tool: "sh", Args: json.RawMessage(`{}`), Agent: "peer", Approval: &toolset.Approval{Reason: "why"}},
			toolset.PendingCall{ID: "q~", Tool: "sh", Args: json.RawMessage(`{}`), Path: []string{"deep", "q~"}})))
		if policy {
			a = newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(call("a/b", "delegate")), modeltest.SayText("ok")), ToolError: func(context.Context, *toolset.RunContext[deps], error) error { return toolset.Failed("no") }},
				delegate(&resumed, fmt.Errorf("wrapped: %w", toolset.Pending(json.RawMessage(`{"job":7}`), toolset.PendingCall{ID: "p", Tool: "sh"}, toolset.PendingCall{ID: "q~", Tool: "sh", Path: []string{"deep", "q~"}}))))
		}
		_, err := a.Run(t.Context(), deps{}, "go")
		pending, failed := pendingOf(t, err)
		require.Equal(t, []string{"/a~1b/p", "/a~1b/deep/q~0"}, keys(pending.Calls))
		res, err := a.Run(t.Context(), deps{}, "", reread(t, failed.Messages), agent.WithResults(agent.DeferredResults{
			Decisions: map[string]toolset.Decision{"/a~1b/p": toolset.Allow()}, Results: map[string]toolset.Result{"/a~1b/deep/q~0": {Text: "r"}},
		}))
		require.NoError(t, err)
		require.Equal(t, "ok", res.Output)
		require.Len(t, resumed, 1)
		require.JSONEq(t, `{"job":7}`, string(resumed[0].State))
		require.Equal(t, &toolset.DeferredResults{Decisions: map[string]toolset.Decision{"p": toolset.Allow()}, Results: map[string]toolset.Result{"/deep/q~0": {Text: "r"}}}, resumed[0].Results)
	}
}

func TestPendingNeedsCallsAndJSON(t *testing.T) {
	for want, err := range map[string]error{
		"names none":     toolset.Pending(nil),
		"not valid JSON": toolset.Pending(json.RawMessage(`{`), toolset.PendingCall{ID: "p", Tool: "sh"}),
	} {
		var resumed []toolset.Resume
		_, err := newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(call("1", "delegate")))}, delegate(&resumed, err)).Run(t.Context(), deps{}, "go")
		require.ErrorContains(t, err, want)
		require.False(t, errors.As(err, new(*agent.PendingError)))
	}
}
