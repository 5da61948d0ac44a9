// SPDX-License-Identifier: Apache-2.0

package subagents_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/subagents"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/engine/enginetest"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

type none = struct{}

type sub = subagents.Agent[none]

func same(none) none { return none{} }

// answering is a sub-agent that answers with what it was asked.
func answering(name string) sub {
	return subagents.Of(name, "Answers.", agent.Must(agent.New(agent.Config[none, string]{Name: name, Model: modeltest.Func(
		func(_ context.Context, req *model.Request) (*model.Message, error) {
			return model.Response(model.Text(name + " did " + req.Messages[0].Parts[0].Text)), nil
		})})), same)
}

// working is a sub-agent that calls a tool and then answers.
func working(name string, tool *toolset.Tool[none]) sub {
	return subagents.Of(name, "Works.", agent.Must(agent.New(agent.Config[none, string]{Name: name, Tools: []*toolset.Tool[none]{tool}, Model: modeltest.Func(
		func(_ context.Context, req *model.Request) (*model.Message, error) {
			if len(req.Messages) == 1 {
				return model.Response(model.ToolCall("w", tool.Def.Name, "{}")), nil
			}
			return model.Response(model.Text(name + ": " + req.Messages[2].Parts[0].Text)), nil
		})})), same)
}

func delegate(id, agent, task string, background bool) model.Part {
	return model.ToolCall(id, subagents.ToolDelegate, fmt.Sprintf(`{"agent":%q,"task":%q,"background":%v}`, agent, task, background))
}

func wait(handles string) model.Part {
	return model.ToolCall("w", subagents.ToolWait, `{"handles":[`+handles+`]}`)
}

func newAgent(t testing.TB, agents []sub, steps ...modeltest.Step) *agent.Agent[none, string] {
	t.Helper()
	return agentOn(t, modeltest.Script(append(steps, modeltest.SayText("done"))...), agents)
}

// thinking is a script that takes a second for each step.
func thinking(steps ...modeltest.Step) model.Model {
	script := modeltest.Script(append(steps, modeltest.SayText("done"))...)
	return modeltest.Func(func(ctx context.Context, req *model.Request) (*model.Message, error) {
		time.Sleep(time.Second)
		return script.Generate(ctx, req, nil)
	})
}

func agentOn(t testing.TB, m model.Model, agents []sub) *agent.Agent[none, string] {
	t.Helper()
	a, err := agent.New(agent.Config[none, string]{
		Model:        m,
		Capabilities: []agent.Capability[none]{subagents.New(subagents.Options[none]{Agents: agents})},
	})
	require.NoError(t, err)
	return a
}

// told returns what the model is told of its calls.
func told(messages []*model.Message) (all []string) {
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Kind == model.PartToolReturn || p.Kind == model.PartRetry {
				all = append(all, p.Text)
			}
		}
	}
	return all
}

func allow(seen *[]toolset.ApprovalRequest) toolset.Asker {
	return toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		*seen = append(*seen, r)
		return toolset.Allow(), nil
	}}
}

// dangerous is a tool that needs approval.
func dangerous() *toolset.Tool[none] {
	return toolset.Plain[none]("write", "Write.", func(context.Context, none) (string, error) { return "written", nil },
		toolset.Approve(func(context.Context, *toolset.RunContext[none], none) (*toolset.Approval, error) {
			return &toolset.Approval{Title: "Write it"}, nil
		}))
}

func TestTasksAreDelegated(t *testing.T) {
	a := newAgent(t, []sub{answering("one"), answering("two")},
		modeltest.Say(delegate("1", "one", "this", false), delegate("2", "two", "that", false)),
		modeltest.Say(delegate("1", "three", "x", false)), modeltest.Say(delegate("1", "one", "x", false)))
	s := a.Stream(t.Context(), none{}, "go")
	nested := map[string]int{}
	for e := range s.Events() {
		if n, ok := e.Value.(agent.Nested); ok && n.Event.Kind == agent.EventRunEnd {
			nested[n.Agent]++
		}
	}
	res, err := s.Result()
	require.NoError(t, err)
	require.Equal(t, []string{"one did this", "two did that", `unknown agent "three". Agents: one, two`, "one did x"}, told(res.Messages))
	require.Equal(t, map[string]int{"one": 2, "two": 1}, nested)
	require.Equal(t, 4+3, res.Usage.Requests, "what sub-agents use counts as the run's")
	require.Contains(t, res.Messages[0].Instructions, "\n\n- one: Answers.\n- two: Answers.")
}

func TestDelegatedTasksRunInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := toolset.Plain[none]("slow", "", func(context.Context, none) (string, error) { time.Sleep(time.Second); return "ok", nil })
		a := newAgent(t, []sub{working("one", slow), working("two", slow)}, modeltest.Say(delegate("1", "one", "x", false), delegate("2", "two", "x", false)))
		begin := time.Now()
		_, err := a.Run(t.Context(), none{}, "go")
		require.NoError(t, err)
		require.Equal(t, time.Second, time.Since(begin))
	})
}

func TestQuestionsOfSubAgentsArePassedUp(t *testing.T) {
	for _, background := range []bool{false, true} {
		var seen []toolset.ApprovalRequest
		steps := []modeltest.Step{modeltest.Say(delegate("d", "writer", "write", background))}
		if background {
			steps = append(steps, modeltest.Say(wait("")))
		}
		a := newAgent(t, []sub{working("writer", dangerous())}, steps...)
		res, err := a.Run(t.Context(), none{}, "go", agent.WithAsker(allow(&seen)))
		require.NoError(t, err)
		require.Len(t, seen, 1)
		require.Equal(t, "Write it", seen[0].Approval.Title)
		require.Equal(t, "writer", seen[0].Agent)
		require.Equal(t, map[bool][]string{false: {"d", "w"}, true: {"w", "w"}}[background], seen[0].Path)
		texts := told(res.Messages)
		require.Contains(t, texts[len(texts)-1], "writer: written")
	}
}

func TestPendingCallsOfSubAgentsArePending(t *testing.T) {
	a := newAgent(t, []sub{working("writer", dangerous())}, modeltest.Say(delegate("d", "writer", "write", false)))
	_, err := a.Run(t.Context(), none{}, "go")
	var pending *agent.PendingError
	var failed *agent.RunError
	require.ErrorAs(t, err, &pending)
	require.ErrorAs(t, err, &failed)
	var results toolset.DeferredResults
	results.Decide(pending.Calls[0].Key(), toolset.Allow())
	res, err := a.Run(t.Context(), none{}, "", agent.WithHistory(failed.Messages), agent.WithResults(results))
	require.NoError(t, err)
	require.Contains(t, told(res.Messages), "writer: written")
}

func TestOuterLimitsBoundSubAgents(t *testing.T) {
	for _, background := range []bool{false, true} {
		a := newAgent(t, []sub{answering("one")}, modeltest.Say(delegate("1", "one", "x", background)), modeltest.Say(wait("")))
		_, err := a.Run(t.Context(), none{}, "go", agent.WithLimits(agent.Limits{Requests: 3}))
		require.ErrorAs(t, err, new(*agent.LimitError))
	}
}

func TestPoliciesOfTheOuterRunHoldInTheBackground(t *testing.T) {
	refuse := agent.NewPolicy(agent.PolicyConfig[any]{Name: "house rules", Output: func(_ context.Context, run *toolset.RunContext[any], output any) (any, error) {
		if run.Agent == "one" {
			return nil, errors.New("forbidden")
		}
		return output, nil
	}})
	for _, background := range []bool{false, true} {
		a := newAgent(t, []sub{answering("one")}, modeltest.Say(delegate("1", "one", "x", background)), modeltest.Say(wait("")), modeltest.SayText("done"))
		res, err := a.Run(t.Context(), none{}, "go", agent.WithPolicies(refuse))
		if !background {
			require.ErrorAs(t, err, new(*agent.PolicyError))
			continue
		}
		require.NoError(t, err)
		require.Contains(t, res.Messages[4].Parts[0].Text, "forbidden")
	}
}

func TestSubAgentsWorkInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(d time.Duration) *toolset.Tool[none] {
			return toolset.Plain[none]("slow", "", func(context.Context, none) (string, error) { time.Sleep(d); return "ok", nil })
		}
		failing := toolset.Plain[none]("fail", "", func(context.Context, none) (string, error) { return "", errors.New("disk\nfull") })
		a := newAgent(t, []sub{working("one", slow(time.Second)), working("two", slow(2*time.Second)), working("bad", failing)},
			modeltest.Say(delegate("1", "one", "x", true)), modeltest.Say(delegate("2", "two", "x", true)), modeltest.Say(delegate("3", "bad", "x", true)),
			modeltest.Say(wait(`"nobody-9"`)), modeltest.Say(wait(`"one-1"`)), modeltest.Say(wait("")), modeltest.Say(wait("")))
		begin := time.Now()
		var at []time.Duration
		nested := map[string]int{}
		s := a.Stream(t.Context(), none{}, "go")
		for e := range s.Events() {
			if e.Kind == agent.EventToolResult {
				at = append(at, time.Since(begin))
			}
			if n, ok := e.Value.(agent.Nested); ok && n.Event.Kind == agent.EventRunEnd {
				nested[n.Agent]++
			}
		}
		res, err := s.Result()
		require.NoError(t, err)
		texts := told(res.Messages)
		require.Equal(t, "one works in the background. Its handle is one-1: get the result with wait_for_agents.", texts[0])
		require.Equal(t, "Unknown handle nobody-9. Background agents: one-1, two-1, bad-1.", texts[3])
		require.Equal(t, "# one-1 (one)\none: ok", texts[4])
		require.Contains(t, texts[5], "# two-1 (two)\ntwo: ok\n\n# bad-1 (bad)\nFailed: ")
		require.Contains(t, texts[5], "disk full")
		require.Equal(t, "No background agents.", texts[6])
		require.Equal(t, []time.Duration{0, 0, 0, 0, time.Second, 2 * time.Second, 2 * time.Second}, at)
		require.Equal(t, map[string]int{"one": 1, "two": 1, "bad": 1}, nested)
	})
}

func TestSubAgentsEndWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int32
		forever := toolset.Plain[none]("forever", "", func(ctx context.Context, _ none) (string, error) {
			<-ctx.Done()
			ended.Add(1)
			return "", context.Cause(ctx)
		})
		a := agentOn(t, thinking(modeltest.Say(delegate("1", "one", "x", true), delegate("2", "one", "x", true)),
			modeltest.Say(model.ToolCall("c", subagents.ToolCancel, `{"handle":"one-1"}`), model.ToolCall("e", subagents.ToolCancel, `{"handle":"x"}`))), []sub{working("one", forever)})
		res, err := a.Run(t.Context(), none{}, "go")
		require.NoError(t, err)
		require.EqualValues(t, 2, ended.Load(), "they have ended when the run returns")
		require.Contains(t, told(res.Messages), "Cancelled one-1.")

		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		a = newAgent(t, []sub{working("one", forever)}, modeltest.Say(delegate("1", "one", "x", true)), modeltest.Say(wait("")))
		_, err = a.Run(ctx, none{}, "go")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.EqualValues(t, 3, ended.Load())
	})
}

func TestQuestionIsAskedAgainIfTheWaitForAnotherEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		person := toolset.AskerFuncs{OnApprove: func(ctx context.Context, _ toolset.ApprovalRequest) (toolset.Decision, error) {
			if asked++; asked == 1 { // the person thinks until the other agent has ended
				<-ctx.Done()
				return toolset.Decision{}, context.Cause(ctx)
			}
			return toolset.Allow(), nil
		}}
		quick := toolset.Plain[none]("quick", "", func(context.Context, none) (string, error) { time.Sleep(time.Second); return "ok", nil })
		a := newAgent(t, []sub{working("writer", dangerous()), working("quick", quick)},
			modeltest.Say(delegate("1", "quick", "x", true)), modeltest.Say(delegate("2", "writer", "x", true)), modeltest.Say(wait("")))
		res, err := a.Run(t.Context(), none{}, "go", agent.WithAsker(person))
		require.NoError(t, err)
		require.Equal(t, 2, asked)
		require.Equal(t, "# quick-1 (quick)\nquick: ok\n\n# writer-1 (writer)\nwriter: written", told(res.Messages)[2])
	})
}

func TestSubAgentsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		forever := toolset.Plain[none]("forever", "", func(ctx context.Context, _ none) (string, error) { <-ctx.Done(); return "", ctx.Err() })
		var calls []model.Part
		for i := range subagents.MaxBackground + 1 {
			calls = append(calls, delegate(fmt.Sprint(i), "one", "x", true))
		}
		a := newAgent(t, []sub{working("one", forever)}, modeltest.Say(calls...))
		res, err := a.Run(t.Context(), none{}, "go")
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(strings.Join(told(res.Messages), "\n"), "8 background agents are already running."))
	})
	long := toolset.Plain[none]("long", "Talks.", func(context.Context, struct {
		Prompt string `json:"prompt"`
	}) (string, error) {
		return strings.Repeat("word ", 50_000), nil
	})
	for _, background := range []bool{false, true} {
		res, err := newAgent(t, []sub{subagents.FromTool(long)}, modeltest.Say(delegate("1", "long", "x", background)), modeltest.Say(wait(""))).Run(t.Context(), none{}, "go")
		require.NoError(t, err)
		text := strings.Join(told(res.Messages), "\n")
		require.Less(t, len(text), 66<<10)
		require.Contains(t, text, "[Cut here: the result has 250000 bytes.]")
	}
}

func TestToolsAreSubAgents(t *testing.T) {
	var seen []toolset.ApprovalRequest
	type args struct {
		Prompt string `json:"prompt"`
	}
	tool := toolset.Func("claude", "Another agent.", func(_ context.Context, run *toolset.RunContext[none], in args) (string, error) {
		if in.Prompt == "panic" {
			panic("boom")
		}
		run.Emit(agent.Nested{Agent: "claude", Event: agent.Event{Kind: agent.EventRunEnd}})
		return "did " + in.Prompt, nil
	}, toolset.Approve(func(_ context.Context, _ *toolset.RunContext[none], in args) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Ask Claude to " + in.Prompt}, nil
	}))
	a := newAgent(t, []sub{subagents.FromTool(tool)},
		modeltest.Say(delegate("1", "claude", "look", false)), modeltest.Say(delegate("1", "claude", "write", true)), modeltest.Say(delegate("1", "claude", "panic", true)), modeltest.Say(wait("")))
	s, nested := a.Stream(t.Context(), none{}, "go", agent.WithAsker(allow(&seen))), 0
	for e := range s.Events() {
		if _, ok := e.Value.(agent.Nested); ok {
			nested++
		}
	}
	res, err := s.Result()
	require.NoError(t, err)
	require.Equal(t, 2, nested)
	require.Equal(t, "did look", told(res.Messages)[0])
	require.Equal(t, "# claude-1 (claude)\ndid write\n\n# claude-2 (claude)\nFailed: panic: boom", told(res.Messages)[3])
	require.Len(t, seen, 3)
	require.Equal(t, "Ask Claude to write", seen[1].Approval.Title)
}

func TestAgentsOfARunAreLoaded(t *testing.T) {
	o := subagents.Options[none]{NoBackground: true, Load: func(context.Context, none) ([]sub, error) { return []sub{answering("late")}, nil }}
	script := modeltest.Script(modeltest.Say(model.ToolCall("1", "delegate", `{"agent":"late","task":"x"}`)), modeltest.SayText("done"))
	a := agent.Must(agent.New(agent.Config[none, string]{Model: script, Capabilities: []agent.Capability[none]{subagents.New(o)}}))
	res, err := a.Run(t.Context(), none{}, "go")
	require.NoError(t, err)
	require.Equal(t, []string{"late did x"}, told(res.Messages))
	require.Len(t, script.Requests()[0].Tools, 1)
	require.NotContains(t, string(script.Requests()[0].Tools[0].Schema), "background")
	require.NotContains(t, script.Requests()[0].Instructions, "wait_for_agents")

	o = subagents.Options[none]{Agents: []sub{answering("late")}, Load: o.Load}
	_, err = agent.Must(agent.New(agent.Config[none, string]{Model: script, Capabilities: []agent.Capability[none]{subagents.New(o)}})).Run(t.Context(), none{}, "go")
	require.ErrorContains(t, err, `two agents are called "late"`)
}

func TestNewReportsInvalidAgents(t *testing.T) {
	_, err := agent.New(agent.Config[none, string]{Capabilities: []agent.Capability[none]{subagents.New(subagents.Options[none]{Agents: []sub{
		{}, answering("a"), answering("a"), answering("b c"), subagents.FromTool[none](nil), subagents.FromTool(&toolset.Tool[none]{Def: model.ToolDef{Name: "x"}}),
		subagents.Of[none, none, string]("nil", "", nil, nil), subagents.Of("mute", " ", agent.Must(agent.New(agent.Config[none, string]{})), same),
	}})}})
	_, none := agent.New(agent.Config[none, string]{Capabilities: []agent.Capability[none]{subagents.New(subagents.Options[none]{})}})
	require.ErrorContains(t, none, "subagents: Options has neither Agents nor Load")
	for _, want := range []string{
		`agent 0 (""): use Of or FromTool`, `two agents are called "a"`, `the name "b c" must have`, "the tool is nil",
		"an external tool is not a sub-agent", `agent 6 ("nil"): the agent or the function is nil`, `agent "mute" has no description`,
	} {
		require.ErrorContains(t, err, want)
	}
}

// TestWorkersHaveNoBackground: what works on after its task has ended would not be counted, and its handle be unknown to other workers. So the
// call of a worker has the result at once, under the share of the call.
func TestWorkersHaveNoBackground(t *testing.T) {
	a := newAgent(t, []sub{answering("scout")}, modeltest.Say(delegate("1", "scout", "look", true), delegate("2", "scout", "dig", true)), modeltest.Say(wait("")))
	w := agent.NewWorker(a, none{})
	res, err := a.Run(t.Context(), none{}, "go", agent.WithEngine(func(_ context.Context, local engine.Worker) (engine.Engine, error) {
		return enginetest.NewRemote(local, func(ctx context.Context, task []byte, report func([]byte) error) ([]byte, error) {
			return engine.Execute(ctx, w, task, report)
		}), nil
	}))
	require.NoError(t, err)
	require.NoError(t, w.Close(t.Context()))
	require.Equal(t, []string{
		"scout has finished. Its result:\nscout did look", "scout has finished. Its result:\nscout did dig", "No background agents.",
	}, told(res.Messages))
	require.Equal(t, 5, res.Usage.Requests)
}

// TestBackgroundIsCountedOnceByRunsThatResume: what a sub-agent has used is recorded with the call that got its result. A run that resumes counts
// it, and a replay does not count it twice.
func TestBackgroundIsCountedOnceByRunsThatResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scout := subagents.Of("scout", "Scouts.", agent.Must(agent.New(agent.Config[none, string]{Name: "scout", Model: thinking()})), same)
		for _, ending := range []model.Part{wait(""), model.ToolCall("c", subagents.ToolCancel, `{"handle":"scout-1"}`)} {
			steps := []modeltest.Step{modeltest.Say(delegate("1", "scout", "look", true)), modeltest.Say(ending)}
			script, fails := modeltest.Script(append(steps, modeltest.SayText("done"))...), true
			m := modeltest.Func(func(ctx context.Context, req *model.Request) (*model.Message, error) {
				if time.Sleep(time.Second); fails && len(req.Messages) == 5 {
					return nil, errors.New("the process ends")
				}
				return script.Generate(ctx, req, nil)
			})
			a, log := agentOn(t, m, []sub{scout}), new(journal.Memory)
			opts := []agent.RunOption{agent.WithJournal(log), agent.WithRunID("r")}
			_, err := a.Run(t.Context(), none{}, "go", opts...)
			var failed *agent.RunError
			require.ErrorAs(t, err, &failed)
			require.Equal(t, 4, failed.Usage.Requests)
			fails = false
			for range 2 { // the second is a replay
				res, err := a.Run(t.Context(), none{}, "go", opts...)
				require.NoError(t, err)
				require.Equal(t, 4, res.Usage.Requests)
			}
		}
	})
}
