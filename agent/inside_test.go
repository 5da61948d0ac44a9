// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// nest is an agent with others inside it, down to one that edits files at a desk. Each level asks the next one by a call with the
// id "1", beside a call of its own tool "hi" with the id "2"; the last one makes the calls that it is given.
type nest struct {
	*desk
	levels   int
	handOver bool
	calls    []model.Part
	// opts are the options of the innermost tools, outer those of AsTool.
	opts, outer []toolset.Option
	asker       toolset.Asker
	requests    map[string]int
}

// model answers by what it sees: so a resumed run needs no script of its own.
func (n *nest) model(level int) model.Model {
	return modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.requests == nil {
			n.requests = map[string]int{}
		}
		n.requests[fmt.Sprint("level ", level)]++
		usage := model.Usage{InputTokens: 10}
		last := req.Messages[len(req.Messages)-1]
		resp := model.Response(model.Text(fmt.Sprintf("level %d: %s", level, last.Parts[0].Text)))
		if len(req.Messages) == 1 {
			resp = model.Response(ask("1"), call("2", "hi"))
			if level == n.levels {
				resp = model.Response(n.calls...)
			}
			if n.handOver && level < n.levels {
				resp = model.Response(call("2", "hi"), ask("1"))
			}
		}
		resp.Usage = usage
		return resp, nil
	})
}

func (n *nest) agent(t *testing.T, level int) *agent.Agent[deps, string] {
	config := cfg{Name: fmt.Sprint("agent-", level), Model: n.model(level)}
	hi := tool("hi", func(context.Context, *toolset.RunContext[deps]) (string, error) {
		n.did("hi %d", level)
		return "hello", nil
	})
	if level == n.levels {
		return newAgent(t, config, n.edit("edit", n.opts...), n.tests(n.opts...), toolset.ExternalTool[deps, none]("external", ""),
			tool("later", func(context.Context, *toolset.RunContext[deps]) (string, error) {
				return "", toolset.Deferred(json.RawMessage(`{"job":7}`))
			}))
	}
	same := func(d deps) deps { return d }
	if n.handOver {
		config.Alternatives = []agent.Alternative[deps, string]{agent.HandOver[deps, deps, string]("ask", "", n.agent(t, level+1), same)}
		return newAgent(t, config, hi)
	}
	return newAgent(t, config, agent.AsTool("ask", "", n.agent(t, level+1), same, n.outer...), hi)
}

// run runs the agent once, as in a process of its own.
func (n *nest) run(t *testing.T, prompt string, opts ...agent.RunOption) (*agent.Result[string], error) {
	t.Helper()
	n.log, n.requests = nil, nil
	if n.asker != nil {
		opts = append(opts, agent.WithAsker(n.asker))
	}
	return n.agent(t, 1).Run(t.Context(), deps{}, prompt, opts...)
}

// key is the key of a call of the innermost agent.
func (n *nest) key(id string) string {
	if n.levels == 1 {
		return id
	}
	key := ""
	for range n.levels - 1 {
		key += "/1"
	}
	return key + "/" + id
}

func keys(calls []agent.PendingCall) (keys []string) {
	for _, c := range calls {
		keys = append(keys, c.Key())
	}
	return keys
}

// nests plays a scene at every depth, with tools and hand-overs, natively and with a journal.
func nests(t *testing.T, play func(t *testing.T, n *nest, opts func(run string) []agent.RunOption)) {
	for levels := 1; levels <= 4; levels++ {
		for _, handOver := range []bool{false, true} {
			for _, journaled := range []bool{false, true} {
				t.Run(fmt.Sprintf("levels=%d,handover=%v,journal=%v", levels, handOver, journaled), func(t *testing.T) {
					j := new(journal.Memory)
					play(t, &nest{desk: newDesk(), levels: levels, handOver: handOver}, func(run string) []agent.RunOption {
						if !journaled {
							return nil
						}
						return []agent.RunOption{agent.WithJournal(j), agent.WithRunID(run)}
					})
				})
			}
		}
	}
}

func TestPendingCallsOfInnerRunsAreResumed(t *testing.T) {
	nests(t, func(t *testing.T, n *nest, opts func(string) []agent.RunOption) {
		n.calls = []model.Part{edit("x", "edit", "a", "1"), edit("y", "edit", "b", "2"), edit("z", "edit", "c", "3"), call("e", "external"), call("l", "later")}
		_, err := n.run(t, "go", opts("first")...)
		pending, failed := pendingOf(t, err)
		require.Equal(t, []string{n.key("x"), n.key("y"), n.key("z")}, keys(pending.Calls), "external calls are behind approvals")
		require.Contains(t, err.Error(), fmt.Sprintf(`approval of "edit" (call %s)`, n.key("x")))
		require.Empty(t, n.files)
		if n.levels > 1 {
			require.Equal(t, fmt.Sprint("agent-", n.levels), pending.Calls[0].Agent)
			require.Len(t, pending.Calls[0].Path, n.levels)
		}
		usage := failed.Usage
		require.Equal(t, n.levels, usage.Requests)
		if opts("") != nil {
			log := n.log
			_, again := n.run(t, "go", opts("first")...)
			_, failedAgain := pendingOf(t, again)
			require.Equal(t, failed.Messages, failedAgain.Messages)
			require.Equal(t, failed.Usage, failedAgain.Usage)
			require.NotContains(t, n.log, "hi 1")
			n.log = log
		}

		calls, history := stored(t, pending, failed)
		require.Equal(t, calls, agent.PendingCalls(history))
		results := agent.DeferredResults{Decisions: map[string]toolset.Decision{
			n.key("x"): {Verdict: toolset.VerdictAllow, By: "ada"},
			n.key("y"): toolset.Deny("not b"),
			n.key("z"): toolset.AllowWith(json.RawMessage(`{"path":"_d","text":"changed"}`)),
		}}
		_, err = n.run(t, "", append(opts("second"), agent.WithHistory(history), agent.WithResults(results))...)
		pending, failed = pendingOf(t, err)
		require.Equal(t, []string{n.key("e"), n.key("l")}, keys(pending.Calls))
		require.True(t, pending.Calls[0].External)
		require.JSONEq(t, `{"job":7}`, string(pending.Calls[1].Meta))
		require.Equal(t, map[string]string{"a": "1", "_d": "changed"}, n.files)
		require.Empty(t, n.requests, "no model is asked again")
		for _, l := range n.log {
			require.NotContains(t, l, "hi", "what has ended does not run again")
		}

		_, history = stored(t, pending, failed)
		results = agent.DeferredResults{Results: map[string]toolset.Result{n.key("e"): {Text: "from outside"}, n.key("l"): {Text: "job done"}}}
		last := append(opts("third"), agent.WithHistory(history), agent.WithResults(results))
		res, err := n.run(t, "", last...)
		require.NoError(t, err)
		require.Contains(t, res.Output, "now 1")
		asked := n.levels
		if n.handOver {
			asked = 1 // the others have handed over
		}
		require.Equal(t, asked, res.Usage.Requests)
		require.Equal(t, map[string]string{"a": "1", "_d": "changed"}, n.files)
		require.NoError(t, wellFormed(res.Messages[:3]))
		for _, m := range res.Messages {
			require.False(t, m.Pending)
			require.Nil(t, m.SuspendedCalls)
		}
		if opts("") != nil {
			again, err := n.run(t, "", last...)
			require.NoError(t, err)
			require.Equal(t, res, again)
			require.Empty(t, n.requests)
			require.Empty(t, n.log)
		}
	})
}

// The order of previews, questions and executions is that of the calls at every depth, live and resumed from JSON.
func TestInnerCallsAreAskedAboutAndRunInTheirOrder(t *testing.T) {
	want := []string{"preview a", "ask a", "preview a", "edit a", "preview a", "ask a", "preview a", "edit a", "tests"}
	for _, live := range []bool{true, false} {
		nests(t, func(t *testing.T, n *nest, opts func(string) []agent.RunOption) {
			n.opts = []toolset.Option{toolset.Sequential()}
			n.calls = []model.Part{edit("x", "edit", "a", "1"), edit("y", "edit", "a", "2"), call("t", "tests")}
			if live {
				n.asker = approves(n.approve)
			}
			var log []string
			prompt, resumed := "go", []agent.RunOption(nil)
			for turn := 0; ; turn++ {
				require.Less(t, turn, 4, "it ends")
				_, err := n.run(t, prompt, append(opts(fmt.Sprint("run-", turn)), resumed...)...)
				for _, l := range n.log {
					if l[:2] != "hi" {
						log = append(log, l)
					}
				}
				if err == nil {
					break
				}
				require.False(t, live, "somebody answers")
				n.log = nil
				calls, history := storedPending(t, err)
				answers := agent.DeferredResults{Decisions: map[string]toolset.Decision{}}
				for _, c := range calls {
					answers.Decisions[c.Key()] = n.approve(toolset.ApprovalRequest{Approval: *c.Approval})
				}
				log = append(log, n.log...)
				prompt, resumed = "", []agent.RunOption{agent.WithHistory(history), agent.WithResults(answers)}
			}
			require.Equal(t, want, log)
			require.Equal(t, map[string]string{"a": "12"}, n.files)
		})
	}
}

// storedPending returns what another process gets of a pending run.
func storedPending(t *testing.T, err error) ([]agent.PendingCall, []*model.Message) {
	t.Helper()
	pending, failed := pendingOf(t, err)
	return stored(t, pending, failed)
}

func TestInnerRunIsPendingForNewCalls(t *testing.T) {
	nests(t, func(t *testing.T, n *nest, opts func(string) []agent.RunOption) {
		n.opts = []toolset.Option{toolset.Sequential()}
		n.calls = []model.Part{edit("x", "edit", "a", "1"), edit("y", "edit", "a", "2"), call("t", "tests"), edit("z", "edit", "b", "3")}
		_, err := n.run(t, "go", opts("0")...)
		for i, id := range []string{"x", "y", "z"} {
			pending, failed := pendingOf(t, err)
			require.Equal(t, []string{n.key(id)}, keys(pending.Calls))
			_, history := stored(t, pending, failed)
			results := agent.DeferredResults{Decisions: map[string]toolset.Decision{n.key(id): toolset.Allow()}}
			_, err = n.run(t, "", append(opts(fmt.Sprint(i+1)), agent.WithHistory(history), agent.WithResults(results))...)
		}
		require.NoError(t, err)
		require.Equal(t, map[string]string{"a": "12", "b": "3"}, n.files)
	})
}

func TestResumeNamesTheInnerCallsWithoutAnAnswer(t *testing.T) {
	nests(t, func(t *testing.T, n *nest, opts func(string) []agent.RunOption) {
		n.calls = []model.Part{call("e", "external"), edit("x", "edit", "a", "1"), edit("y", "edit", "b", "2")}
		_, err := n.run(t, "go", opts("0")...)
		pending, failed := pendingOf(t, err)
		require.Equal(t, []string{n.key("e"), n.key("x"), n.key("y")}, keys(pending.Calls))
		_, history := stored(t, pending, failed)
		allow, e := toolset.Allow(), map[string]toolset.Result{n.key("e"): {Text: "ok"}}
		for i, c := range []struct {
			decisions map[string]toolset.Decision
			results   map[string]toolset.Result
			want      string
		}{
			{map[string]toolset.Decision{n.key("x"): allow}, e, fmt.Sprintf("call %q of \"edit\" has none", n.key("y"))},
			{map[string]toolset.Decision{n.key("x"): allow, n.key("y"): allow, n.key("z"): allow}, e, fmt.Sprintf("there is no pending call %q", n.key("z"))},
			{map[string]toolset.Decision{n.key("x"): allow, n.key("y"): allow, n.key("e"): allow}, nil, fmt.Sprintf("call %q of \"external\" needs a result", n.key("e"))},
		} {
			_, err := n.run(t, "", append(opts(fmt.Sprint("r", i)), agent.WithHistory(history), agent.WithResults(agent.DeferredResults{Decisions: c.decisions, Results: c.results}))...)
			require.ErrorIs(t, err, agent.ErrResults)
			require.ErrorContains(t, err, c.want)
			require.Empty(t, n.log, "nothing has been run")
			require.Equal(t, history, asRunError(t, err).Messages)
		}
		if n.levels > 1 {
			_, err := n.run(t, "", append(opts("none"), agent.WithHistory(history), agent.WithResults(agent.DeferredResults{}))...)
			require.ErrorContains(t, err, n.key("x"))
			require.ErrorContains(t, err, n.key("y"))
		}
	})
}

func TestAnswerToAnOuterCallStandsForThoseInside(t *testing.T) {
	n := &nest{desk: newDesk(), levels: 3, calls: []model.Part{edit("x", "edit", "a", "1")}}
	_, err := n.run(t, "go")
	pending, failed := pendingOf(t, err)
	_, history := stored(t, pending, failed)
	answer := func(results agent.DeferredResults) (*agent.Result[string], error) {
		return n.run(t, "", agent.WithHistory(history), agent.WithResults(results))
	}
	res, err := answer(agent.DeferredResults{Decisions: map[string]toolset.Decision{"1": toolset.Deny("stop it")}})
	require.NoError(t, err)
	require.Equal(t, "level 1: stop it", res.Output)
	res, err = answer(agent.DeferredResults{Results: map[string]toolset.Result{"1": {Text: "done by hand"}}})
	require.NoError(t, err)
	require.Equal(t, "level 1: done by hand", res.Output)
	require.Empty(t, n.files)
	_, err = answer(agent.DeferredResults{Decisions: map[string]toolset.Decision{"1": toolset.Allow()}})
	require.ErrorContains(t, err, `call "1" of "ask" has been started`)
	_, err = answer(agent.DeferredResults{Decisions: map[string]toolset.Decision{"1": toolset.Deny(""), "/1/1/x": toolset.Allow()}})
	require.ErrorContains(t, err, `call "/1/1/x" has an answer, and so has call "1" around it`)
	require.Empty(t, n.log)
}

func TestResumeWithoutAnswersAsksTheAskerOfInnerRuns(t *testing.T) {
	nests(t, func(t *testing.T, n *nest, opts func(string) []agent.RunOption) {
		n.calls = []model.Part{edit("x", "edit", "a", "1")}
		_, err := n.run(t, "go", opts("0")...)
		pending, failed := pendingOf(t, err)
		_, history := stored(t, pending, failed)
		_, err = n.run(t, "", append(opts("1"), agent.WithHistory(history))...)
		again, _ := pendingOf(t, err)
		require.Equal(t, keys(pending.Calls), keys(again.Calls), "there is still nobody")
		var asked [][]string
		n.asker = approves(func(r toolset.ApprovalRequest) toolset.Decision {
			asked = append(asked, r.Path)
			return toolset.Allow()
		})
		_, err = n.run(t, "", append(opts("2"), agent.WithHistory(history))...)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"a": "1"}, n.files)
		require.Len(t, asked, 1)
		require.Len(t, asked[0], n.levels)
	})
}

// An approved call of AsTool is not asked about again when the calls inside it have been answered, and keeps its arguments.
func TestApprovedOuterCallStaysApproved(t *testing.T) {
	asked := 0
	n := &nest{desk: newDesk(), levels: 2, calls: []model.Part{edit("x", "edit", "a", "1")}, outer: []toolset.Option{func(o *toolset.Options) { o.Sequential = true }}}
	build := func() *agent.Agent[deps, string] {
		outer := agent.AsTool("ask", "", n.agent(t, 2), func(d deps) deps { return d }, n.outer...)
		outer.Approval = func(context.Context, *toolset.RunContext[deps], any) (*toolset.Approval, error) {
			asked++
			return &toolset.Approval{Reason: "costs money", Basis: "price"}, nil
		}
		return newAgent(t, cfg{Model: n.model(1)}, outer, says("hi", "hello"))
	}
	history, decisions, prompt := []*model.Message(nil), map[string]toolset.Decision(nil), "go"
	answers := []map[string]toolset.Decision{
		{"1": {Verdict: toolset.VerdictAllow, Args: json.RawMessage(`{"prompt":"another task"}`), By: "ada"}},
		{"/1/x": toolset.Allow()},
	}
	for _, answer := range answers {
		opts := []agent.RunOption{agent.WithHistory(history)}
		if decisions != nil {
			opts = append(opts, agent.WithResults(agent.DeferredResults{Decisions: decisions}))
		}
		_, err := build().Run(t.Context(), deps{}, prompt, opts...)
		pending, failed := pendingOf(t, err)
		require.Len(t, pending.Calls, 1)
		require.Contains(t, answer, pending.Calls[0].Key())
		_, history = stored(t, pending, failed)
		prompt, decisions = "", answer
	}
	before := asked
	res, err := build().Run(t.Context(), deps{}, "", agent.WithHistory(history), agent.WithResults(agent.DeferredResults{Decisions: decisions}))
	require.NoError(t, err)
	require.Equal(t, before, asked)
	require.Equal(t, map[string]string{"a": "1"}, n.files)
	part := res.Messages[2].Parts[0]
	require.Equal(t, "ada", part.Decision.By)
	require.Contains(t, part.Text, `to: {"prompt":"another task"}`)
}

// historyStore is a store of JSON.
type historyStore map[string][]byte

func (s historyStore) Put(_ context.Context, id string, messages []*model.Message) (err error) {
	s[id], err = json.Marshal(messages)
	return err
}

func (s historyStore) Get(_ context.Context, id string) (messages []*model.Message, err error) {
	if s[id] == nil {
		return nil, errBoom
	}
	return messages, json.Unmarshal(s[id], &messages)
}

func TestInnerHistoriesAreKeptInAStore(t *testing.T) {
	nests(t, func(t *testing.T, n *nest, opts func(string) []agent.RunOption) {
		store := historyStore{}
		n.calls = []model.Part{edit("x", "edit", "a", "1")}
		_, err := n.run(t, "go", append(opts("0"), agent.WithHistoryStore(store))...)
		pending, failed := pendingOf(t, err)
		require.Len(t, store, n.levels-1)
		_, history := stored(t, pending, failed)
		data, err := json.Marshal(history)
		require.NoError(t, err)
		resume := append(opts("1"), agent.WithHistory(history), agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{n.key("x"): toolset.Allow()}}))
		if n.levels > 1 {
			require.NotContains(t, string(data), `\"path\":\"a\",\"text\"`, "the inner history is not in the outer one")
			_, err = n.run(t, "", append(resume, agent.WithHistoryStore(historyStore{}))...)
			require.ErrorIs(t, err, errBoom)
			_, err = n.run(t, "", resume...)
			require.ErrorContains(t, err, "WithHistoryStore")
			require.Empty(t, n.files)
		}
		_, err = n.run(t, "", append(resume, agent.WithHistoryStore(store))...)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"a": "1"}, n.files)
	})
}

func TestEventsOfAResumedInnerRunAreNested(t *testing.T) {
	for _, handOver := range []bool{false, true} {
		n := &nest{desk: newDesk(), levels: 3, handOver: handOver, calls: []model.Part{edit("x", "edit", "a", "1")}}
		_, err := n.run(t, "go")
		pending, failed := pendingOf(t, err)
		_, history := stored(t, pending, failed)
		s := n.agent(t, 1).Stream(t.Context(), deps{}, "", agent.WithHistory(history), agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{"/1/1/x": toolset.Allow()}}))
		var seen []string
		for e := range s.Events() {
			for depth := 1; ; depth++ {
				if e.Kind == agent.EventToolResult {
					seen = append(seen, fmt.Sprint(depth, " ", e.Tool))
				}
				inner, ok := e.Value.(agent.Nested)
				if !ok {
					break
				}
				e = inner.Event
			}
		}
		_, err = s.Result()
		require.NoError(t, err)
		require.Equal(t, []string{"3 edit", "2 ask", "1 ask"}, seen)
	}
}

// While a hand-over waits, neither what comes after it nor another output is tried.
func TestNothingAfterAPendingHandOverStarts(t *testing.T) {
	for _, end := range []agent.EndStrategy{agent.EndGraceful, agent.EndEarly, agent.EndExhaustive} {
		n := &nest{desk: newDesk(), levels: 2, calls: []model.Part{edit("x", "edit", "a", "1")}}
		build := func() *agent.Agent[deps, string] {
			return newAgent(t, cfg{EndStrategy: end, Model: modeltest.Script(modeltest.Say(ask("1"), call("2", "after"), ask("3"))), Alternatives: []agent.Alternative[deps, string]{
				agent.HandOver[deps, deps, string]("ask", "", n.agent(t, 2), func(d deps) deps { return d }),
			}}, tool("after", func(context.Context, *toolset.RunContext[deps]) (string, error) { n.did("after"); return "", nil }))
		}
		_, err := build().Run(t.Context(), deps{}, "go")
		pending, failed := pendingOf(t, err)
		require.Equal(t, []string{"/1/x"}, keys(pending.Calls))
		if end != agent.EndExhaustive {
			require.NotContains(t, n.log, "after")
		}
		require.Equal(t, 1, n.requests["level 2"])
		_, history := stored(t, pending, failed)
		res, err := build().Run(t.Context(), deps{}, "", agent.WithHistory(history), agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{"/1/x": toolset.Allow()}}))
		if end == agent.EndExhaustive { // the other one waits as well, and nobody uses it
			require.Equal(t, 3, n.requests["level 2"])
		}
		require.NoError(t, err)
		require.Equal(t, "level 2: now 1", res.Output)
		require.NoError(t, wellFormed(res.Messages[:3]))
	}
}

func TestBrokenStateOfAnInnerRunEndsTheRun(t *testing.T) {
	nests(t, func(t *testing.T, n *nest, opts func(string) []agent.RunOption) {
		if n.levels == 1 {
			return
		}
		n.calls = []model.Part{edit("x", "edit", "a", "1")}
		_, err := n.run(t, "go", opts("0")...)
		pending, failed := pendingOf(t, err)
		_, history := stored(t, pending, failed)
		for _, broken := range []string{`"text"`, `{"messages":1}`, `{"messages":[{"kind":"request","v":99}]}`} {
			history[len(history)-1].SuspendedCalls[0].State = json.RawMessage(broken)
			_, err = n.run(t, "", append(opts("1"+broken), agent.WithHistory(history), agent.WithResults(agent.DeferredResults{
				Decisions: map[string]toolset.Decision{n.key("x"): toolset.Allow()},
			}))...)
			require.ErrorContains(t, err, "inner run: read the history", broken)
			require.Empty(t, n.files)
		}
	})
}
