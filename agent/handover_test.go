// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

func sameDeps(d deps) deps { return d }

// textOutput is an alternative for agents that have others beside plain text.
func textOutput() agent.Alternative[deps, string] {
	return agent.Text(func(_ context.Context, _ *toolset.RunContext[deps], text string) (string, error) { return text, nil })
}

// billing is an agent that others hand over to by the tool "bill".
func billing(t *testing.T, config cfg, opts ...agent.HandOverOption) agent.Alternative[deps, string] {
	config.Name = "billing"
	return agent.HandOver("bill", "Hand over to billing.", newAgent(t, config, says("look", "paid")), sameDeps, opts...)
}

// frontDesk is an agent that can hand over and answer.
func frontDesk(t *testing.T, m model.Model, over ...agent.Alternative[deps, string]) *agent.Agent[deps, string] {
	return newAgent(t, cfg{Name: "desk", Model: m, Alternatives: append(over, textOutput())})
}

func bill(id, prompt string) model.Part {
	return model.ToolCall(id, "bill", fmt.Sprintf(`{"prompt":%q}`, prompt))
}

func TestHandOverIsInTheHistory(t *testing.T) {
	for _, stream := range []bool{false, true} {
		for _, journaled := range []bool{false, true} {
			inner := modeltest.Script(modeltest.Say(model.Text("Let me look."), call("1", "look")), modeltest.SayText("You have paid."))
			m := modeltest.Script(modeltest.Say(model.Text("One moment."), bill("1", "Has she paid?")), modeltest.SayText("As they said."))
			a := frontDesk(t, m, billing(t, cfg{Model: inner}))
			opts := []agent.RunOption{agent.WithRunID("r")}
			if journaled {
				opts = append(opts, agent.WithJournal(new(journal.Memory)))
			}
			var res *agent.Result[string]
			var err error
			if stream {
				res, err = a.Stream(t.Context(), deps{}, "Have I paid?", opts...).Result()
			} else {
				res, err = a.Run(t.Context(), deps{}, "Have I paid?", opts...)
			}
			require.NoError(t, err)
			require.Equal(t, "You have paid.", res.Output)
			require.Equal(t, "billing", res.Agent)
			require.Equal(t, `request
  user: Have I paid?
response
  text: One moment.
  tool_call 1 bill {"prompt":"Has she paid?"}
request
  tool_return 1 bill: Handed over to the agent billing. Its answer to the user follows.
response
  text: Let me look.
  text: You have paid.
`, dump(res.Messages))
			told := res.Messages[3]
			require.Equal(t, "billing", told.HandOver.Agent)
			require.Equal(t, "r", told.RunID)
			require.False(t, told.Time.IsZero())
			require.Zero(t, told.Usage, "it is counted on the meter")
			require.Equal(t, 3, res.Usage.Requests)

			res, err = a.Run(t.Context(), deps{}, "Sure?", throughJSON(t, res.Messages))
			require.NoError(t, err)
			require.Equal(t, "As they said.", res.Output, "the next run is the outer agent's")
			require.Equal(t, "desk", res.Agent)
			require.NoError(t, wellFormed(m.Requests()[1].Messages))
			require.Len(t, m.Requests()[1].Messages, 5)
		}
	}
}

// A structured output of the other agent was a call, so the history has it as text.
func TestStructuredOutputOfAHandOverIsInTheHistory(t *testing.T) {
	inner := newAgent(t, agent.Config[deps, city]{Model: modeltest.Script(modeltest.Say(final("1", `{"city":"Oslo <N>","population":7}`)))})
	a := newAgent(t, agent.Config[deps, city]{Model: modeltest.Script(modeltest.Say(ask("1"))), Alternatives: []agent.Alternative[deps, city]{agent.HandOver("ask", "", inner, sameDeps)}})
	res, err := a.Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, city{"Oslo <N>", 7}, res.Output)
	require.Equal(t, "response\n  text: {\"city\":\"Oslo <N>\",\"population\":7}\n", last(res.Messages))
	require.Equal(t, "ask", res.Messages[3].HandOver.Agent, "an agent without a name has that of the hand-over")
}

func TestFailedHandOverKeepsWhatItTold(t *testing.T) {
	for _, stream := range []bool{false, true} {
		inner := modeltest.Script(modeltest.Say(model.Text("Let me look."), call("1", "look")), modeltest.Fail(errBoom))
		m := modeltest.Script(modeltest.Say(bill("1", "x")), modeltest.SayText("Sorry."))
		a := frontDesk(t, m, billing(t, cfg{Model: inner}))
		var err error
		if stream {
			_, err = a.Stream(t.Context(), deps{}, "go").Result()
		} else {
			_, err = a.Run(t.Context(), deps{}, "go")
		}
		require.ErrorIs(t, err, errBoom)
		failed := asRunError(t, err)
		require.Equal(t, "request interrupted\nresponse interrupted\n  text: Let me look.\n", dump(failed.Messages[2:]))
		res, err := a.Run(t.Context(), deps{}, "Well?", throughJSON(t, failed.Messages))
		require.NoError(t, err)
		require.Equal(t, "Sorry.", res.Output)
		require.NoError(t, wellFormed(m.Requests()[1].Messages))
	}
}

// A mistake of the inner model is a failure of the inner run, and no call of the outer model to correct.
func TestInvalidOutputOfAHandOverFailsTheRun(t *testing.T) {
	inner := newAgent(t, agent.Config[deps, city]{OutputRetries: new(0), Model: modeltest.Script(modeltest.Say(final("1", `{"city":"Oslo","population":0}`)))})
	m := modeltest.Script(modeltest.Say(ask("1")))
	a := newAgent(t, agent.Config[deps, city]{Model: m, Alternatives: []agent.Alternative[deps, city]{agent.HandOver("ask", "", inner, sameDeps)}})
	_, err := a.Run(t.Context(), deps{}, "go")
	var budget *agent.BudgetError
	require.ErrorAs(t, err, &budget)
	require.Equal(t, agent.StageOutput, asRunError(t, err).Stage)
	require.Len(t, m.Requests(), 1)
}

func TestHandOverStreams(t *testing.T) {
	build := func() *agent.Agent[deps, string] {
		expert := newAgent(t, cfg{Name: "expert", Model: modeltest.Script(modeltest.SayText("It is the valve."))})
		middle := frontDesk(t, modeltest.Script(modeltest.Say(model.Text("Asking. "), ask("1"))), agent.HandOver("ask", "", expert, sameDeps))
		outer := modeltest.Script(modeltest.Say(model.Text("Wait. "), bill("1", "x")))
		return newAgent(t, cfg{Model: outer, Alternatives: []agent.Alternative[deps, string]{agent.HandOver("bill", "", middle, sameDeps)}},
			agent.AsTool("unused", "", expert, sameDeps))
	}
	require.Equal(t, "Wait. Asking. It is the valve.", strings.Join(slices.Collect(build().Stream(t.Context(), deps{}, "go").Text()), ""))
	partials := slices.Collect(build().Stream(t.Context(), deps{}, "go").Partials())
	require.Equal(t, "It is the valve.", partials[len(partials)-1])
	require.Contains(t, partials, "It is the ", "they grow")

	s := build().Stream(t.Context(), deps{}, "go")
	var told []string
	var output, end agent.Event
	for e := range s.Events() {
		switch {
		case e.Kind == agent.EventCustom:
			require.Equal(t, "1", e.CallID)
			require.True(t, e.Value.(agent.Nested).HandOver)
		case e.Kind == agent.EventResponse && e.Message.HandOver != nil:
			told = append(told, e.Message.HandOver.Agent+": "+e.Message.Text())
		case e.Kind == agent.EventOutput:
			output = e
		case e.Kind == agent.EventRunEnd:
			end = e
		}
	}
	res, err := s.Result()
	require.NoError(t, err)
	require.Equal(t, []string{"expert: Asking. It is the valve."}, told)
	require.Equal(t, any(res.Output), output.Value)
	require.Equal(t, res.Usage, *end.Usage)
	require.Equal(t, "expert", res.Agent)
}

// What a tool's agent says is not what the user is told.
func TestTextLeavesOutAgentsInTools(t *testing.T) {
	expert := newAgent(t, cfg{Model: modeltest.Script(modeltest.SayText("aside"))})
	a := newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(ask("1")), modeltest.SayText("out loud"))}, agent.AsTool("ask", "", expert, sameDeps))
	require.Equal(t, "out loud", strings.Join(slices.Collect(a.Stream(t.Context(), deps{}, "go").Text()), ""))
}

// A journal has the end of a hand-over alone: the text is shown when the run is repeated, all at once.
func TestRepeatedHandOverShowsItsText(t *testing.T) {
	j := new(journal.Memory)
	opts := []agent.RunOption{agent.WithJournal(j), agent.WithRunID("r")}
	a := func(m model.Model) *agent.Agent[deps, string] {
		return frontDesk(t, m, billing(t, cfg{Model: modeltest.Script(modeltest.SayText("You have paid."))}))
	}
	first, err := a(modeltest.Script(modeltest.Say(bill("1", "x")))).Stream(t.Context(), deps{}, "go", opts...).Result()
	require.NoError(t, err)
	s := a(modeltest.Script()).Stream(t.Context(), deps{}, "go", opts...)
	require.Equal(t, "You have paid.", strings.Join(slices.Collect(s.Text()), ""))
	again, err := s.Result()
	require.NoError(t, err)
	require.Equal(t, first, again)
}

func TestHandOverPassesTheHistory(t *testing.T) {
	prompts := func(m *modeltest.Scripted) (texts []string) {
		for _, msg := range m.Requests()[0].Messages {
			for _, p := range msg.Parts {
				texts = append(texts, p.Text)
			}
		}
		return texts
	}
	handOver := func(opts ...agent.HandOverOption) []string {
		inner := modeltest.Script(modeltest.SayText("ok"))
		history := []*model.Message{model.UserText("Hello."), model.Response(model.Text("Hi."))}
		_, err := frontDesk(t, modeltest.Script(modeltest.Say(bill("1", "Has she paid?"))), billing(t, cfg{Model: inner}, opts...)).
			Run(t.Context(), deps{}, "Have I paid?", agent.WithHistory(history))
		require.NoError(t, err)
		return prompts(inner)
	}
	require.Equal(t, []string{"Has she paid?"}, handOver())
	require.Equal(t, []string{"Hello.", "Hi.", "Have I paid?", "Has she paid?"}, handOver(agent.PassHistory(nil)))
	require.Equal(t, []string{"Have I paid?", "Has she paid?"}, handOver(agent.PassHistory(func(h []*model.Message) []*model.Message { return h[len(h)-1:] })))
}

// The validators of the outer agent check the output once. If one refuses it, the outer model is asked.
func TestValidatorsCheckTheOutputOfAHandOver(t *testing.T) {
	for _, stays := range []bool{false, true} {
		var opts []agent.HandOverOption
		if stays {
			opts = append(opts, agent.Stay())
		}
		checked := []string{}
		m := modeltest.Script(modeltest.Say(bill("1", "x")), modeltest.SayText("Yes."))
		a := newAgent(t, cfg{Model: m, Alternatives: []agent.Alternative[deps, string]{billing(t, cfg{Model: modeltest.Script(modeltest.SayText("Perhaps."))}, opts...), textOutput()},
			Validators: []agent.Validator[deps, string]{func(_ context.Context, _ *toolset.RunContext[deps], out string) (string, error) {
				checked = append(checked, out)
				if out == "Perhaps." {
					return "", toolset.Retry("Yes or no?")
				}
				return out, nil
			}}})
		res, err := a.Run(t.Context(), deps{}, "go")
		require.NoError(t, err)
		require.Equal(t, "Yes.", res.Output)
		require.Equal(t, []string{"Perhaps.", "Yes."}, checked)
		require.NoError(t, wellFormed(m.Requests()[1].Messages))
		require.Equal(t, "response\n  text: Perhaps.\nrequest\n  retry: Yes or no?\nresponse\n  text: Yes.\n", dump(res.Messages[3:]))
	}
}

// A hand-over that waits can be denied, or given a result. It does not run then, and the outer model goes on.
func TestAnsweredHandOverDoesNotRunAgain(t *testing.T) {
	for name, results := range map[string]agent.DeferredResults{
		"denied": {Decisions: map[string]toolset.Decision{"1": toolset.Deny("not now")}},
		"result": {Results: map[string]toolset.Result{"1": {Text: "not now"}}},
	} {
		t.Run(name, func(t *testing.T) {
			inner := modeltest.Script(modeltest.Say(model.Text("May I?"), call("7", "wait")))
			m := modeltest.Script(modeltest.Say(bill("1", "x")), modeltest.SayText("Then not."))
			over := agent.HandOver("bill", "", newAgent(t, cfg{Name: "billing", Model: inner}, fails("wait", toolset.Deferred(nil))), sameDeps)
			a := frontDesk(t, m, over)
			_, err := a.Run(t.Context(), deps{}, "go")
			pending, failed := pendingOf(t, err)
			_, history := stored(t, pending, failed)
			res, err := a.Run(t.Context(), deps{}, "", agent.WithHistory(history), agent.WithResults(results))
			require.NoError(t, err)
			require.Equal(t, "Then not.", res.Output)
			require.Len(t, inner.Requests(), 1)
			require.NoError(t, wellFormed(m.Requests()[1].Messages))
			require.Contains(t, dump(res.Messages), "response\n  text: May I?\n", "it was shown")
			require.Contains(t, dump(res.Messages), ": not now\n")
		})
	}
}
