// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/replay"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/toolset"
)

// forecaster returns an agent whose calls end in each way, and which gives its output by a tool.
func forecaster() *agent.Agent[none, forecast] {
	returns := func(name string, err error, opts ...toolset.Option) *toolset.Tool[none] {
		call := func(context.Context, *toolset.RunContext[none], none) (string, error) { return "", err }
		return toolset.Func(name, "", call, opts...)
	}
	tries := 0
	again := func(context.Context, *toolset.RunContext[none], none) (string, error) {
		if tries++; tries == 1 {
			return "", toolset.Retry("once more")
		}
		return "done", nil
	}
	raw := func(context.Context, *toolset.RunContext[none], json.RawMessage) (toolset.Result, error) {
		return toolset.Result{}, toolset.Failed("broken")
	}
	ask := toolset.Approve(func(context.Context, *toolset.RunContext[none], none) (*toolset.Approval, error) {
		return &toolset.Approval{}, nil
	})
	tools := []*toolset.Tool[none]{
		returns("works", nil), returns("fails", toolset.Failed("broken")), returns("refuses", toolset.Denied("never")),
		returns("asks", nil, ask), toolset.Func("again", "", again),
		toolset.Raw("raw", "", json.RawMessage(`{"type":"object"}`), raw),
	}
	var calls []model.Part
	for _, tool := range append(tools, returns("unknown", nil)) {
		calls = append(calls, model.ToolCall(tool.Def.Name, tool.Def.Name, `{}`))
	}
	m := modeltest.Script(
		modeltest.Say(calls...), modeltest.Say(model.ToolCall("1", "again", `{}`)),
		modeltest.Say(model.ToolCall("2", "final_result", `{"city":7}`)),
		modeltest.Say(model.ToolCall("3", "final_result", `{"city":"Oslo","rain":true}`), model.ToolCall("4", "works", `{}`)),
	)
	return agent.Must(agent.New(agent.Config[none, forecast]{Model: m, Tools: tools}))
}

// TestCasesAreMetByTheSameRun makes a case of a run and evaluates the same run.
func TestCasesAreMetByTheSameRun(t *testing.T) {
	no := agent.WithAsker(toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
		return toolset.Deny("no"), nil
	}})
	store := new(session.Memory)
	_, err := store.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), store, "s", session.Claim{})
	require.NoError(t, err)
	c, err := transcript.Open(t.Context(), w, transcript.Options{})
	require.NoError(t, err)
	turn, err := c.Begin(t.Context(), model.User("Oslo?"))
	require.NoError(t, err)
	res, err := forecaster().Run(t.Context(), none{}, "Oslo?", append(turn.Options(), no)...)
	require.NoError(t, err)
	require.NoError(t, transcript.End(t.Context(), turn, res, err))
	r, err := replay.Make(t.Context(), store, "s", replay.Options{})
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, r.WriteCases(&b))
	require.Contains(t, b.String(), `["works","fails","refuses","raw","again"]`)

	d, err := evals.Parse[string, forecast]([]byte(b.String()), evals.FileOptions{})
	require.NoError(t, err)
	report, err := evals.Run(t.Context(), d, evals.Agent(forecaster(), none{}, no), evals.Options{})
	require.NoError(t, err)
	require.Equal(t, "TrajectoryMatch", report.Metrics()[0].Name)
	require.Equal(t, 1.0, report.Metrics()[0].Mean)
}
