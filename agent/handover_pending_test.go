// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// waiter is an agent whose calls "w1" and "w2" need approval. It says what it was told last.
func waiter(t *testing.T, ran *[]string) *agent.Agent[deps, string] {
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		if err := wellFormed(req.Messages); err != nil {
			return nil, err
		}
		last := req.Messages[len(req.Messages)-1]
		switch said := last.Parts[0].Text; {
		case said == "first" || said == "again":
			return model.Response(model.Text("May I? "), call("w1", "guarded"), call("w2", "guarded")), nil
		default:
			return model.Response(model.Text("heard " + last.Parts[len(last.Parts)-1].Text)), nil
		}
	})
	guarded := tool("guarded", func(_ context.Context, run *toolset.RunContext[deps]) (string, error) {
		*ran = append(*ran, run.Call.ID)
		return "did " + run.Call.ID, nil
	})
	guarded.Approval = func(context.Context, *toolset.RunContext[deps], any) (*toolset.Approval, error) {
		return &toolset.Approval{}, nil
	}
	return newAgent(t, cfg{Name: "waiter", Model: m}, guarded)
}

// waitsBehind makes an agent that hands over to a waiter in an output mode, through others if depth is more than 1.
func waitsBehind(t *testing.T, mode agent.OutputMode, depth int, ran *[]string, opts ...agent.HandOverOption) *agent.Agent[deps, string] {
	inner := waiter(t, ran)
	for range depth {
		m := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			if mode == agent.OutputTool {
				return model.Response(bill("1", "first")), nil
			}
			return &model.Message{Kind: model.KindResponse, Finish: model.FinishStop, Parts: []model.Part{model.Text("```json\n{\"prompt\":\"first\"}\n```")}}, nil
		})
		inner = newAgent(t, cfg{Name: "outer", Model: m, Output: agent.Output{Mode: mode}, Alternatives: []agent.Alternative[deps, string]{
			agent.HandOver("bill", "", inner, sameDeps, opts...),
		}})
	}
	return inner
}

// modes plays a scene with a hand-over by a call and by text, at two depths, with and without a journal, that stays or does not.
func modes(t *testing.T, play func(t *testing.T, key string, run func(ran *[]string, prompt string, history []*model.Message, opts ...agent.RunOption) (*agent.Result[string], error))) {
	for _, mode := range []agent.OutputMode{agent.OutputTool, agent.OutputNative, agent.OutputPrompted} {
		for depth := 1; depth <= 2; depth++ {
			for _, journaled := range []bool{false, true} {
				for _, stays := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s,depth=%d,journal=%v,stays=%v", mode, depth, journaled, stays), func(t *testing.T) {
						key, id := "", "1"
						if mode != agent.OutputTool {
							id = "output"
						}
						for range depth {
							key += "/" + id
						}
						n := 0
						play(t, key, func(ran *[]string, prompt string, history []*model.Message, opts ...agent.RunOption) (*agent.Result[string], error) {
							var over []agent.HandOverOption
							if stays {
								over = append(over, agent.Stay())
							}
							if history != nil {
								opts = append(opts, throughJSON(t, history))
							}
							if !journaled {
								return waitsBehind(t, mode, depth, ran, over...).Run(t.Context(), deps{}, prompt, opts...)
							}
							n++
							opts = append(opts, agent.WithJournal(new(journal.Memory)), agent.WithRunID(fmt.Sprint("run-", n)))
							res, err := waitsBehind(t, mode, depth, ran, over...).Run(t.Context(), deps{}, prompt, opts...)
							before := len(*ran)
							again, errAgain := waitsBehind(t, mode, depth, ran, over...).Run(t.Context(), deps{}, prompt, opts...)
							require.Len(t, *ran, before, "nothing runs again")
							if err != nil {
								require.EqualError(t, errAgain, err.Error())
								require.Equal(t, asRunError(t, err).Messages, asRunError(t, errAgain).Messages)
							} else {
								require.Equal(t, res, again)
							}
							return res, err
						})
					})
				}
			}
		}
	}
}

func TestHandOverWaitsInEveryOutputMode(t *testing.T) {
	modes(t, func(t *testing.T, key string, run func(*[]string, string, []*model.Message, ...agent.RunOption) (*agent.Result[string], error)) {
		var ran []string
		_, err := run(&ran, "go", nil)
		pending, failed := pendingOf(t, err)
		require.Equal(t, []string{key + "/w1", key + "/w2"}, keys(pending.Calls))
		require.Equal(t, "waiter", pending.Calls[0].Agent)
		_, history := stored(t, pending, failed)

		_, err = run(&ran, "", history)
		again, _ := pendingOf(t, err)
		require.Equal(t, keys(pending.Calls), keys(again.Calls), "without answers it still waits")
		_, err = run(&ran, "", history, agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{key + "/w1": toolset.Allow()}}))
		require.ErrorIs(t, err, agent.ErrResults)
		require.ErrorContains(t, err, key+"/w2")
		require.Empty(t, ran)

		res, err := run(&ran, "", history, agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{key + "/w1": toolset.Allow(), key + "/w2": toolset.Deny("no")}}))
		require.NoError(t, err)
		require.Equal(t, []string{"w1"}, ran)
		require.Equal(t, "heard no", res.Output)
		require.Regexp(t, "^response\n(?s:.*)  text: May I\\? \n  text: heard no\n$", last(res.Messages), "what was told while it waited is there")
		require.Equal(t, "waiter", res.Agent)
	})
}

// The prompt reaches the agent that waits, at any depth: calls without an answer are denied, and it goes on.
func TestPromptReachesTheAgentThatWaits(t *testing.T) {
	modes(t, func(t *testing.T, key string, run func(*[]string, string, []*model.Message, ...agent.RunOption) (*agent.Result[string], error)) {
		var ran []string
		_, err := run(&ran, "go", nil)
		pending, failed := pendingOf(t, err)
		_, history := stored(t, pending, failed)

		res, err := run(&ran, "never mind", history)
		require.NoError(t, err)
		require.Empty(t, ran)
		require.Equal(t, "heard never mind", res.Output)
		told := "  text: May I\\? \nrequest\n  user: never mind\nresponse\n  text: heard never mind\n$"
		require.Regexp(t, told, dump(res.Messages[len(res.Messages)-3:]), "in the order in which it was said")
		require.NoError(t, wellFormed(append(res.Messages, model.UserText("x"))))

		_, err = run(&ran, "again", history, agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{key + "/w2": toolset.Allow()}}))
		pending, failed = pendingOf(t, err)
		require.Equal(t, []string{"w2"}, ran, "what was answered is carried out")
		require.Equal(t, []string{key + "/w1", key + "/w2"}, keys(pending.Calls), "these are other calls")
		_, history = stored(t, pending, failed)
		res, err = run(&ran, "", history, agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{key + "/w1": toolset.Allow(), key + "/w2": toolset.Allow()}}))
		require.NoError(t, err)
		require.Equal(t, []string{"w2", "w1", "w2"}, ran)
		told = "  text: May I\\? \nrequest\n  user: again\nresponse\n  text: May I\\? \n  text: heard did w2\n$"
		require.Regexp(t, told, dump(res.Messages[len(res.Messages)-3:]))
	})
}

// In a later turn of a conversation that stays there is no call of the outer model at all.
func TestAgentThatHasTheConversationWaits(t *testing.T) {
	modes(t, func(t *testing.T, key string, run func(*[]string, string, []*model.Message, ...agent.RunOption) (*agent.Result[string], error)) {
		if !agentStays(t) {
			return
		}
		var ran []string
		_, err := run(&ran, "go", nil)
		_, failed := pendingOf(t, err)
		res, err := run(&ran, "never mind", failed.Messages)
		require.NoError(t, err)

		_, err = run(&ran, "first", res.Messages)
		pending, failed := pendingOf(t, err)
		require.Equal(t, []string{key + "/w1", key + "/w2"}, keys(pending.Calls))
		_, history := stored(t, pending, failed)
		answered, err := run(&ran, "", history, agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{key + "/w1": toolset.Allow(), key + "/w2": toolset.Allow()}}))
		require.NoError(t, err)
		require.Equal(t, "request\n  user: first\nresponse\n  text: May I? \n  text: heard did w2\n", dump(answered.Messages[len(res.Messages):]))
		res, err = run(&ran, "stop", history)
		require.NoError(t, err)
		require.Equal(t, "heard stop", res.Output)
		res, err = run(&ran, "more", res.Messages)
		require.NoError(t, err)
		require.Equal(t, "heard more", res.Output)
		require.Equal(t, []string{"w1", "w2"}, ran)
		require.NoError(t, wellFormed(append(res.Messages, model.UserText("x"))))
	})
}

func agentStays(t *testing.T) bool { return t.Name()[len(t.Name())-len("stays=true"):] == "stays=true" }

// Denying the hand-over itself ends it, and the outer model answers the user.
func TestHandOverByTextCanBeDenied(t *testing.T) {
	var ran []string
	inner := waiter(t, &ran)
	m := modeltest.Script(modeltest.SayText(`{"prompt":"first"}`), modeltest.SayText(`{"prompt":"x"}`))
	a := newAgent(t, cfg{Model: m, Output: agent.Output{Mode: agent.OutputPrompted}, Alternatives: []agent.Alternative[deps, string]{agent.HandOver("bill", "", inner, sameDeps)}})
	_, err := a.Run(t.Context(), deps{}, "go")
	_, failed := pendingOf(t, err)
	res, err := a.Run(t.Context(), deps{}, "", throughJSON(t, failed.Messages), agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{"output": toolset.Deny("not now")}}))
	require.NoError(t, err)
	require.Equal(t, "heard x", res.Output, "the model has handed over once more")
	require.NoError(t, wellFormed(m.Requests()[1].Messages))
	require.Contains(t, dump(res.Messages), "  user: The agent waiter did not finish. Answer the user yourself.\n")
}

// The limits of the outer run bound the turns of the agent that has the conversation, and the agent's own limits bound it alone.
func TestLimitsHoldForAnAgentThatHasTheConversation(t *testing.T) {
	build := func(limits agent.Limits) *agent.Agent[deps, string] {
		m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
			if len(req.Messages) == 1 {
				return model.Response(model.Text("Hello.")), nil
			}
			return model.Response(call("1", "look")), nil
		})
		return frontDesk(t, modeltest.Script(modeltest.Say(bill("1", "x"))), billing(t, cfg{Model: m, Limits: limits}, agent.Stay()))
	}
	res, err := build(agent.Limits{}).Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	for _, test := range []struct {
		inner, outer agent.Limits
		bound        int
	}{{agent.Limits{Requests: 5}, agent.Limits{}, 5}, {agent.Limits{}, agent.Limits{Requests: 3}, 3}, {agent.Limits{Requests: 7}, agent.Limits{Requests: 4}, 4}} {
		_, err := build(test.inner).Run(t.Context(), deps{}, "work", throughJSON(t, res.Messages), agent.WithLimits(test.outer))
		var limit *agent.LimitError
		require.ErrorAs(t, err, &limit)
		require.EqualValues(t, test.bound, limit.Bound)
		require.Equal(t, test.bound, asRunError(t, err).Usage.Requests)
	}
}

// What an agent further in has told is in the outer history while that agent waits, once. It stays there if the agent does not go on.
func TestPendingHandOversKeepWhatAgentsFurtherInTold(t *testing.T) {
	for _, journaled := range []bool{false, true} {
		for name, answer := range map[string]struct {
			key     string
			results func(r *agent.DeferredResults, key string)
			told    []string
		}{
			"answered": {"/1/1/7", func(r *agent.DeferredResults, key string) { r.Supply(key, toolset.Result{Text: "ok"}) }, []string{"Moment.", "May I?", "Thanks."}},
			"denied":   {"1", func(r *agent.DeferredResults, key string) { r.Decide(key, toolset.Deny("no")) }, []string{"Moment.", "May I?", "Then not."}},
		} {
			t.Run(fmt.Sprintf("%s,journal=%v", name, journaled), func(t *testing.T) {
				build := func(outer, middle, inner model.Model) *agent.Agent[deps, string] {
					waits := newAgent(t, cfg{Name: "inner", Model: inner}, fails("wait", toolset.Deferred(nil)))
					return frontDesk(t, outer, agent.HandOver("bill", "", frontDesk(t, middle, agent.HandOver("ask", "", waits, sameDeps)), sameDeps))
				}
				j := new(journal.Memory)
				options := func(run string, opts ...agent.RunOption) []agent.RunOption {
					if journaled {
						opts = append(opts, agent.WithJournal(j), agent.WithRunID(run))
					}
					return opts
				}
				_, err := build(
					modeltest.Script(modeltest.Say(bill("1", "x"))),
					modeltest.Script(modeltest.Say(model.Text("Moment."), ask("1"))),
					modeltest.Script(modeltest.Say(model.Text("May I?"), call("7", "wait"))),
				).Run(t.Context(), deps{}, "go", options("one")...)
				_, history := storedPending(t, err)
				require.Equal(t, "Moment.May I?", suspendedText(history))
				var results agent.DeferredResults
				answer.results(&results, answer.key)
				last := modeltest.SayText(answer.told[2])
				res, err := build(modeltest.Script(last), modeltest.Script(), modeltest.Script(last)).
					Run(t.Context(), deps{}, "", options("two", agent.WithHistory(history), agent.WithResults(results))...)
				require.NoError(t, err)
				var told []string
				for _, m := range res.Messages {
					for i := range m.Parts {
						if m.Parts[i].Kind == model.PartText {
							told = append(told, m.Parts[i].Text)
						}
					}
				}
				require.Equal(t, answer.told, told)
			})
		}
	}
}

func TestHandOverThatWaitsIsPendingWhateverStandsBesideIt(t *testing.T) {
	var ran []string
	m := modeltest.Script(modeltest.Say(call("f", "free"), call("g", "free"), call("h", "free"), bill("1", "first")))
	a := newAgent(t, cfg{Model: m, EndStrategy: agent.EndEarly, Limits: agent.Limits{ToolCalls: 2}, Alternatives: []agent.Alternative[deps, string]{
		agent.HandOver("bill", "", waiter(t, &ran), sameDeps),
	}}, says("free", "free"))
	_, err := a.Run(t.Context(), deps{}, "go")
	pending, _ := pendingOf(t, err)
	require.Len(t, pending.Calls, 2, "no other call runs, so none is counted")
	for i := range pending.Calls {
		require.Equal(t, "waiter", pending.Calls[i].Agent)
	}
}
