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

// However a run fails, whoever watches learns of the end of every call that the model made, once.
func TestEveryCallOfAFailedRunHasAResultEvent(t *testing.T) {
	three := []model.Part{call("1", "bad"), call("2", "look"), call("3", "look")}
	seq := toolset.Sequential()
	bad := func(opts ...toolset.Option) *toolset.Tool[deps] {
		return tool("bad", func(context.Context, *toolset.RunContext[deps]) (string, error) { return "", errBoom }, opts...)
	}
	asks := watched("bad")
	asks.Approval = func(context.Context, *toolset.RunContext[deps], any) (*toolset.Approval, error) { return nil, errBoom }
	checks := says("bad", "x")
	checks.Check = func(context.Context, *toolset.RunContext[deps], any) error { return errBoom }
	invalid := agent.Config[deps, city]{Validators: []agent.Validator[deps, city]{func(context.Context, *toolset.RunContext[deps], city) (city, error) { return city{}, errBoom }}}
	for name, c := range map[string]struct {
		config agent.Config[deps, city]
		calls  []model.Part
		bad    *toolset.Tool[deps]
	}{
		"one after the other":       {agent.Config[deps, city]{MaxParallelCalls: 1}, three, bad()},
		"a barrier":                 {agent.Config[deps, city]{}, three, bad(seq)},
		"the limit on calls":        {agent.Config[deps, city]{Limits: agent.Limits{ToolCalls: 2}}, three, says("bad", "x")},
		"the limit on tokens":       {agent.Config[deps, city]{Limits: agent.Limits{OutputTokens: 1}}, three, says("bad", "x")},
		"a preview":                 {agent.Config[deps, city]{}, three, asks},
		"a check":                   {agent.Config[deps, city]{}, three, checks},
		"an output":                 {invalid, append([]model.Part{final("0", `{"city":"Oslo","population":1}`)}, three...), says("bad", "x")},
		"an output after functions": {invalid, append(three[1:3:3], final("1", `{"city":"Oslo","population":1}`), call("4", "look")), says("bad", "x")},
		"early":                     {agent.Config[deps, city]{EndStrategy: agent.EndEarly, Validators: invalid.Validators}, append([]model.Part{final("0", `{"city":"Oslo","population":1}`)}, three...), says("bad", "x")},
	} {
		for _, instead := range []bool{false, true} {
			c.config.Model = modeltest.Script(modeltest.Say(c.calls...))
			a := newAgent(t, c.config, c.bad, says("look", "y"))
			s := a.Stream(t.Context(), deps{}, "go")
			if instead { // the calls are of the history
				resp := model.Response(c.calls...)
				resp.RunID = "before"
				s = a.Stream(t.Context(), deps{}, "", agent.WithHistory([]*model.Message{model.UserText("go"), resp}))
				if name == "the limit on tokens" {
					continue
				}
			}
			ends, cut := map[string]int{}, map[string]model.Part{}
			for e := range s.Events() {
				if e.Kind == agent.EventToolResult {
					ends[e.CallID]++
					require.True(t, e.Err != nil || e.Result != nil)
					if e.Result != nil && e.Result.Outcome == model.OutcomeInterrupted {
						cut[e.CallID] = *e.Result
					}
				}
			}
			_, err := s.Result()
			require.Error(t, err)
			for _, p := range c.calls {
				require.Equal(t, 1, ends[p.CallID], "%s: call %s", name, p.CallID)
			}
			require.Len(t, ends, len(c.calls), name)
			for _, m := range requestAfter(t, asRunError(t, err).Messages) {
				for _, p := range m.Parts {
					if said, ok := cut[p.CallID]; ok && p.Kind == model.PartToolReturn {
						require.Equal(t, said, p, "%s: the history says what the event said", name)
						delete(cut, p.CallID)
					}
				}
			}
			require.Empty(t, cut, name)
		}
	}
}

// Calls that wait go on in another run: they have not ended.
func TestCallsThatWaitHaveNoResultEvent(t *testing.T) {
	s := newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(call("1", "x"), call("2", "look")))}, watched("x"), says("look", "y")).Stream(t.Context(), deps{}, "go")
	for e := range s.Events() {
		require.NotEqual(t, agent.EventToolResult, e.Kind)
	}
	_, err := s.Result()
	require.ErrorAs(t, err, new(*agent.PendingError))
}

// requestAfter returns the messages that a model is sent when a history is continued with a prompt.
func requestAfter(t *testing.T, history []*model.Message) []*model.Message {
	t.Helper()
	script := modeltest.Script(modeltest.SayText("ok"))
	_, err := newAgent(t, cfg{Model: script}).Run(t.Context(), deps{}, "go on", agent.WithHistory(history))
	require.NoError(t, err)
	return script.Requests()[0].Messages
}
