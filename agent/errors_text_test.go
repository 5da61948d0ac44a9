// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

type shape interface{ Area() float64 }

// TestErrorsSayWhatWhereAndWhatToDo has the texts of errors that users meet, each once and on one line.
func TestErrorsSayWhatWhereAndWhatToDo(t *testing.T) {
	crash := tool("crash", func(context.Context, *toolset.RunContext[deps]) (string, error) { panic("two\nlines") })
	deref := tool("deref", func(context.Context, *toolset.RunContext[deps]) (string, error) {
		var missing *deps
		return string(rune(missing.base)), nil
	})
	bad := final("1", `{"city":1}`)
	for _, c := range []struct {
		want  string
		model []modeltest.Step
	}{
		{`^agent helper: model: HTTP 500 Internal Server Error$`, []modeltest.Step{modeltest.Fail(&model.APIError{Status: 500})}},
		{`^agent helper: model: acme acme-1: HTTP 429 Too Many Requests: slow down$`, []modeltest.Step{modeltest.Fail(&model.APIError{Provider: "acme", Model: "acme-1", Status: 429, Message: "slow down"})}},
		{`^agent helper: output: no valid answer after 1 retry: Plain text responses`, []modeltest.Step{modeltest.SayText("x"), modeltest.SayText("x")}},
		{`^agent helper: output "final_result" \(call 1\): no valid answer after 1 retry: city: must be a string`, []modeltest.Step{modeltest.Say(bad), modeltest.Say(bad)}},
		{`^agent helper: tool "crash" \(call 1\): panic: two lines \(errors_text_test.go:[0-9]+ in agent_test.TestErrorsSay[^ ]*\)$`, []modeltest.Step{modeltest.Say(call("1", "crash"))}},
		{`^agent helper: tool "deref" \(call 1\): panic: runtime error: invalid memory address or nil pointer dereference \(errors_text_test.go:[0-9]+ in agent_test.[^ ]*\)$`, []modeltest.Step{modeltest.Say(call("1", "deref"))}},
	} {
		a := newAgent(t, cityCfg{Name: "helper", Model: modeltest.Script(c.model...)}, crash, deref)
		_, err := a.Run(context.Background(), deps{}, "go")
		require.Error(t, err)
		require.Regexp(t, c.want, err.Error())
	}

	_, err := newAgent(t, cfg{Limits: agent.Limits{Requests: 1}, Model: modeltest.Script(modeltest.Say(call("1", "nope")))}).Run(context.Background(), deps{}, "go")
	require.EqualError(t, err, "agent: model: usage limit reached: 1 request, limit 1")
	require.EqualError(t, &agent.PanicError{Value: "x"}, "panic: x")
	require.EqualError(t, &agent.PanicError{Value: "x", Stack: []byte("panic(\n\t")}, "panic: x")
	require.EqualError(t, &agent.RunError{Stage: "model"}, "agent: model: failed")

	_, err = agent.New(agent.Config[deps, shape]{Name: "drawer", Model: modeltest.Script()})
	require.EqualError(t, err, "agent: new drawer: output: agent_test.shape is an interface: list the types that the model can choose from in Config.Alternatives, each made with agent.As")
}

func TestInboxServesOneRunAtATime(t *testing.T) {
	var inbox agent.Inbox
	inner := newAgent(t, cfg{Name: "inner", Model: modeltest.Script(modeltest.SayText("inner"))})
	var innerErr error
	ask := tool("ask", func(ctx context.Context, _ *toolset.RunContext[deps]) (string, error) {
		_, innerErr = inner.Run(ctx, deps{}, "go", agent.WithInbox(&inbox))
		return "asked", nil
	})
	outer := newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(call("1", "ask")), modeltest.SayText("done"))}, ask)
	_, err := outer.Run(context.Background(), deps{}, "go", agent.WithInbox(&inbox))
	require.NoError(t, err)
	require.ErrorIs(t, innerErr, agent.ErrInboxInUse)
	require.EqualError(t, innerErr, "agent inner: prepare: the inbox is in use by another run: give each run its own inbox")

	_, err = inner.Run(context.Background(), deps{}, "go", agent.WithInbox(&inbox))
	require.NoError(t, err, "the outer run has ended")
	for range newAgent(t, cfg{Model: modeltest.Script(modeltest.SayText("x"))}).Stream(context.Background(), deps{}, "go", agent.WithInbox(&inbox)).Events() {
		break // leaves the run
	}
	_, err = newAgent(t, cfg{Model: modeltest.Script(modeltest.SayText("x"))}).Run(context.Background(), deps{}, "go", agent.WithInbox(&inbox))
	require.NoError(t, err)
}
