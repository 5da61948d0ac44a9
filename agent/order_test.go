// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// desk has files, tools on them, and a person who approves edits. It keeps what happens, in order.
type desk struct {
	mu      sync.Mutex
	files   map[string]string
	log     []string
	decide  func(toolset.ApprovalRequest) toolset.Decision
	noBasis bool
}

type editArgs struct {
	Path string `json:"path" validate:"required"`
	Text string `json:"text"`
}

func (d *desk) did(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = append(d.log, fmt.Sprintf(format, args...))
}

func (d *desk) read(path string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.files[path]
}

// edit appends to a file. Files whose names begin with "_" need no approval.
func (d *desk) edit(name string, opts ...toolset.Option) *toolset.Tool[deps] {
	t := toolset.Func(name, "", func(_ context.Context, run *toolset.RunContext[deps], in editArgs) (string, error) {
		d.did("%s %s", name, in.Path)
		d.mu.Lock()
		defer d.mu.Unlock()
		if run.Call.Approval != nil && !d.noBasis && run.Call.Approval.Basis != "was "+d.files[in.Path] {
			return "", fmt.Errorf("what was shown is no longer true: %q", d.files[in.Path])
		}
		d.files[in.Path] += in.Text
		return "now " + d.files[in.Path], nil
	}, opts...)
	t.Approval = func(_ context.Context, _ *toolset.RunContext[deps], args any) (*toolset.Approval, error) {
		in := args.(*editArgs)
		if in.Path[0] == '_' {
			return nil, nil
		}
		d.did("preview %s", in.Path)
		old := d.read(in.Path)
		a := &toolset.Approval{Scope: in.Path, Basis: "was " + old, Preview: []toolset.Preview{{Diff: &toolset.Diff{Path: in.Path, Old: &old, New: new(old + in.Text)}}}}
		if d.noBasis {
			a.Basis = ""
		}
		return a, nil
	}
	return t
}

func (d *desk) tests(opts ...toolset.Option) *toolset.Tool[deps] {
	return tool("tests", func(context.Context, *toolset.RunContext[deps]) (string, error) { d.did("tests"); return "pass", nil }, opts...)
}

func (d *desk) approve(r toolset.ApprovalRequest) toolset.Decision {
	d.did("ask %s", r.Approval.Preview[0].Diff.Path)
	if d.decide != nil {
		return d.decide(r)
	}
	return toolset.Allow()
}

func edit(id, tool, path, text string) model.Part {
	return model.ToolCall(id, tool, fmt.Sprintf(`{"path":%q,"text":%q}`, path, text))
}

func newDesk() *desk { return &desk{files: map[string]string{}} }

// play runs calls to the end, live or out of band: then every run ends pending, goes through JSON, and is resumed by
// another agent, with the desk's decisions.
func (d *desk) play(t *testing.T, inline, journaled bool, opts []toolset.Option, calls ...model.Part) *agent.Result[string] {
	t.Helper()
	script := []modeltest.Step{modeltest.Say(calls...), modeltest.SayText("ok")}
	var runOpts []agent.RunOption
	prompt := "go"
	j := new(journal.Memory)
	for n := range 20 {
		config := cfg{Model: modeltest.Script(script...)}
		if inline {
			config.Asker = approves(d.approve)
		}
		if journaled {
			runOpts = append(runOpts, agent.WithJournal(j), agent.WithRunID(fmt.Sprint("run-", n)))
		}
		a := newAgent(t, config, d.edit("edit", opts...), d.tests(opts...), d.edit("note"), says("hi", "hello"))
		res, err := a.Run(t.Context(), deps{}, prompt, runOpts...)
		if err == nil {
			if journaled {
				before := append([]string(nil), d.log...)
				again, err := newAgent(t, cfg{Asker: config.Asker, Model: modeltest.Script()}, d.edit("edit", opts...), d.tests(opts...), d.edit("note"), says("hi", "hello")).Run(t.Context(), deps{}, prompt, runOpts...)
				require.NoError(t, err)
				require.Equal(t, dump(res.Messages), dump(again.Messages))
				require.Equal(t, before, d.log, "a replay asks nobody and does nothing")
			}
			return res
		}
		pending, failed := pendingOf(t, err)
		calls, history := stored(t, pending, failed)
		results := agent.DeferredResults{Decisions: map[string]toolset.Decision{}}
		for _, c := range calls {
			results.Decisions[c.ID] = d.approve(toolset.ApprovalRequest{Origin: toolset.Origin{Path: []string{c.ID}}, Args: c.Args, Approval: *c.Approval, Invalid: c.Invalid})
		}
		prompt, script = "", script[len(script)-1:]
		runOpts = []agent.RunOption{agent.WithHistory(history), agent.WithResults(results)}
	}
	t.Fatal("there is no end")
	return nil
}

// surfaces plays a scene live and out of band, natively and with a journal.
func surfaces(t *testing.T, play func(t *testing.T, inline, journaled bool)) {
	for _, inline := range []bool{true, false} {
		for _, journaled := range []bool{false, true} {
			t.Run(fmt.Sprintf("inline=%v,journal=%v", inline, journaled), func(t *testing.T) { play(t, inline, journaled) })
		}
	}
}

func TestCallsAreAskedAboutAndRunInTheirOrder(t *testing.T) {
	calls := []model.Part{edit("1", "edit", "a", "x"), edit("2", "edit", "a", "y"), call("3", "tests"), edit("4", "edit", "b", "z"), call("5", "tests")}
	want := []string{"preview a", "ask a", "preview a", "edit a", "preview a", "ask a", "preview a", "edit a", "tests", "preview b", "ask b", "preview b", "edit b", "tests"}
	surfaces(t, func(t *testing.T, inline, journaled bool) {
		d := newDesk()
		res := d.play(t, inline, journaled, []toolset.Option{toolset.Sequential()}, calls...)
		require.Equal(t, map[string]string{"a": "xy", "b": "z"}, d.files)
		require.Equal(t, "request\n  tool_return 1 edit: now x\n  tool_return 2 edit: now xy\n  tool_return 3 tests: pass\n  tool_return 4 edit: now z\n  tool_return 5 tests: pass\n", dump(res.Messages[2:3]))
		require.Equal(t, want, d.log)
	})
}

func TestApprovalsOfParallelToolsAreBarriers(t *testing.T) {
	calls := []model.Part{edit("1", "edit", "_free", "x"), edit("2", "edit", "a", "x"), edit("3", "edit", "a", "y"), call("4", "tests"), edit("5", "edit", "a", "z")}
	surfaces(t, func(t *testing.T, inline, journaled bool) {
		d := newDesk()
		d.play(t, inline, journaled, nil, calls...)
		require.Equal(t, map[string]string{"_free": "x", "a": "xyz"}, d.files)
		var done []string
		for _, l := range d.log {
			if l[:3] != "ask" && l[:3] != "pre" {
				done = append(done, l)
			}
		}
		require.Equal(t, []string{"edit _free", "edit a", "edit a", "tests", "edit a"}, done)
	})
}

// Out of band, all calls of a group are shown at once; what an earlier one changes makes a later preview false, and it is shown again.
func TestPendingCallsOfAGroupAreShownTogether(t *testing.T) {
	d := newDesk()
	config := cfg{Model: modeltest.Script(modeltest.Say(call("1", "hi"), edit("2", "edit", "a", "x"), call("3", "hi"), edit("4", "edit", "b", "y"), edit("5", "edit", "a", "z"), call("6", "tests"), edit("7", "edit", "c", "z")))}
	a := newAgent(t, config, d.edit("edit"), d.tests(toolset.Sequential()), says("hi", "hello"))
	_, err := a.Run(t.Context(), deps{}, "go")
	pending, failed := pendingOf(t, err)
	ids := func(calls []agent.PendingCall) (ids []string) {
		for _, c := range calls {
			ids = append(ids, c.ID)
		}
		return ids
	}
	require.Equal(t, []string{"2", "4", "5"}, ids(pending.Calls), "call 7 is behind a barrier")
	require.Equal(t, "x", *pending.Calls[0].Approval.Preview[0].Diff.New)
	require.Equal(t, "request\n  tool_return 1 hi: hello\n", last(failed.Messages), "what is behind does not start")

	_, history := stored(t, pending, failed)
	d.log = nil
	allow := map[string]toolset.Decision{"2": toolset.Allow(), "4": toolset.Allow(), "5": toolset.Allow()}
	a = newAgent(t, cfg{}, d.edit("edit"), d.tests(toolset.Sequential()), says("hi", "hello"))
	_, err = a.Run(t.Context(), deps{}, "", agent.WithModel(modeltest.Script()), agent.WithHistory(history), agent.WithResults(agent.DeferredResults{Decisions: allow}))
	pending, failed = pendingOf(t, err)
	require.Equal(t, []string{"5"}, ids(pending.Calls), "its preview is not true any more")
	require.Equal(t, "xz", *pending.Calls[0].Approval.Preview[0].Diff.New)
	require.Equal(t, []string{"preview a", "edit a", "preview b", "edit b", "preview a"}, d.log)
	require.Equal(t, "request\n  tool_return 1 hi: hello\n  tool_return 2 edit: now x\n  tool_return 3 hi: hello\n  tool_return 4 edit: now y\n", last(failed.Messages))
}

func TestEmptyBasisIsNotAskedTwice(t *testing.T) {
	surfaces(t, func(t *testing.T, inline, journaled bool) {
		d := newDesk()
		d.noBasis = true
		d.play(t, inline, journaled, []toolset.Option{toolset.Sequential()}, edit("1", "edit", "a", "x"), edit("2", "edit", "a", "y"))
		require.Equal(t, []string{"preview a", "ask a", "edit a", "preview a", "ask a", "edit a"}, d.log)
	})
}

func TestCallIsAskedAboutAgainWhenItsPreviewIsOutOfDate(t *testing.T) {
	surfaces(t, func(t *testing.T, inline, journaled bool) {
		d := newDesk()
		d.decide = func(r toolset.ApprovalRequest) toolset.Decision {
			if d.files["a"] == "" {
				d.files["a"] = "meanwhile " // by somebody else, while the person thinks
			}
			return toolset.Allow()
		}
		d.play(t, inline, journaled, nil, edit("1", "edit", "a", "x"))
		require.Equal(t, "meanwhile x", d.files["a"])
		require.Equal(t, []string{"preview a", "ask a", "preview a", "ask a", "preview a", "edit a"}, d.log)
	})
}

func TestModelIsToldWhenNoApprovalStaysTrue(t *testing.T) {
	d := newDesk()
	asked := 0
	d.decide = func(r toolset.ApprovalRequest) toolset.Decision {
		asked++
		d.files["a"] += "."
		return toolset.Allow()
	}
	res := d.play(t, true, false, nil, edit("1", "edit", "a", "x"))
	require.Equal(t, 6, asked)
	require.Equal(t, model.OutcomeFailed, res.Messages[2].Parts[0].Outcome)
	require.NotContains(t, d.log, "edit a")
}

func TestInvalidChangesGoBackToThePerson(t *testing.T) {
	surfaces(t, func(t *testing.T, inline, journaled bool) {
		d := newDesk()
		var invalid []string
		answers := []toolset.Decision{toolset.AllowWith(json.RawMessage(`{"path":"","text":"y"}`)), toolset.AllowWith(json.RawMessage(`{"path":"b","text":"y"}`)), toolset.Allow()}
		d.decide = func(r toolset.ApprovalRequest) toolset.Decision {
			invalid = append(invalid, r.Invalid+" "+string(r.Args))
			answer := answers[0]
			answers = answers[1:]
			answer.By = "ada"
			return answer
		}
		d.files["b"] = "old "
		res := d.play(t, inline, journaled, nil, edit("1", "edit", "a", "x"))
		require.Equal(t, map[string]string{"b": "old y"}, d.files)
		require.Len(t, invalid, 3)
		require.Equal(t, ` {"path":"a","text":"x"}`, invalid[0])
		require.Regexp(t, `path: .*empty.* \{"path":"a","text":"x"\}`, invalid[1])
		require.Equal(t, ` {"path":"b","text":"y"}`, invalid[2], "the file is another one, of which nothing had been shown")
		p := res.Messages[2].Parts[0]
		require.Equal(t, "The arguments of this call were changed before it ran, to: {\"path\":\"b\",\"text\":\"y\"}\n\nnow old y", p.Text)
		require.Equal(t, &toolset.Decision{Verdict: toolset.VerdictAllow, Args: json.RawMessage(`{"path":"b","text":"y"}`), By: "ada"}, p.Decision)
		require.Equal(t, `{"path":"a","text":"x"}`, string(res.Messages[1].Parts[0].Args), "the history keeps what the model wrote")
	})
}

func TestChangedArgumentsWithTheSameBasisAreNotAskedAboutAgain(t *testing.T) {
	surfaces(t, func(t *testing.T, inline, journaled bool) {
		d := newDesk()
		d.decide = func(r toolset.ApprovalRequest) toolset.Decision {
			return toolset.AllowWith(json.RawMessage(`{"path":"a","text":"y"}`))
		}
		d.play(t, inline, journaled, nil, edit("1", "edit", "a", "x"))
		require.Equal(t, map[string]string{"a": "y"}, d.files)
		require.Equal(t, []string{"preview a", "ask a", "preview a", "edit a"}, d.log)
	})
}

func TestDecisionIsKeptWithTheResult(t *testing.T) {
	surfaces(t, func(t *testing.T, inline, journaled bool) {
		d := newDesk()
		decisions := map[string]toolset.Decision{
			"a": {Verdict: toolset.VerdictAllow, By: "ada", Meta: json.RawMessage(`{"n":1}`)},
			"b": {Verdict: toolset.VerdictDeny, Reason: "keep it", By: "bob", Meta: json.RawMessage(`{"n":2}`)},
		}
		d.decide = func(r toolset.ApprovalRequest) toolset.Decision { return decisions[r.Approval.Scope] }
		res := d.play(t, inline, journaled, nil, edit("1", "edit", "a", "x"), edit("2", "edit", "b", "x"), edit("3", "edit", "_free", "x"))
		parts := res.Messages[2].Parts
		require.Equal(t, decisions["a"], *parts[0].Decision)
		require.Equal(t, decisions["b"], *parts[1].Decision)
		require.Equal(t, "keep it", parts[1].Text)
		require.Nil(t, parts[2].Decision, "nobody was asked")
		back := new(model.Message)
		data, err := json.Marshal(res.Messages[2])
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, back))
		require.Equal(t, parts, back.Parts)
	})
}

func TestArgumentsThatAreNotJSONGoBackToThePerson(t *testing.T) {
	d := newDesk()
	var invalid []string
	d.decide = func(r toolset.ApprovalRequest) toolset.Decision {
		invalid = append(invalid, r.Invalid)
		if len(invalid) == 1 {
			return toolset.AllowWith(json.RawMessage(`{`))
		}
		return toolset.Allow()
	}
	d.play(t, true, true, nil, edit("1", "edit", "a", "x"))
	require.Equal(t, []string{"", "the arguments are not valid JSON"}, invalid)
}

func TestToolMayComparePreviewsItself(t *testing.T) {
	state, asked := 0, []string(nil)
	careful := tool("careful", func(_ context.Context, run *toolset.RunContext[deps]) (string, error) {
		basis := fmt.Sprint("state ", state)
		if run.Call.Approval == nil || run.Call.Approval.Basis != basis {
			return "", toolset.ApprovalRequired(toolset.Approval{Basis: basis})
		}
		return "did it by " + run.Call.Decision.By, nil
	})
	asker := approves(func(r toolset.ApprovalRequest) toolset.Decision {
		if asked = append(asked, r.Approval.Basis); len(asked) == 1 {
			state++
		}
		return toolset.Decision{Verdict: toolset.VerdictAllow, By: "ada"}
	})
	res, err := newAgent(t, cfg{Asker: asker, Model: modeltest.Script(modeltest.Say(call("1", "careful")), modeltest.SayText("ok"))}, careful).Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, []string{"state 0", "state 1"}, asked)
	require.Equal(t, "did it by ada", res.Messages[2].Parts[0].Text)
}

func TestExternalCallsAreNoBarriersUnlessSequential(t *testing.T) {
	for _, sequential := range []bool{false, true} {
		d := newDesk()
		external := tool("external", nil, func(o *toolset.Options) { o.External, o.Sequential = true, sequential })
		later := fails("later", toolset.Deferred(json.RawMessage(`1`)))
		later.Sequential = sequential
		for _, name := range []string{"external", "later"} {
			_, failed, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", name), call("2", "tests"), edit("3", "edit", "a", "x"))}, external, later, d.tests(), d.edit("edit"))
			pending, _ := pendingOf(t, failed)
			want := "request\n  tool_return 2 tests: pass\n"
			if sequential {
				want = "request\n"
				require.Len(t, pending.Calls, 1, name)
			} else {
				require.Len(t, pending.Calls, 2, name)
			}
			require.Equal(t, want, last(failed.Messages), name)
		}
	}
}

// A run of a pending history without answers does not start a call again whose result is to come from elsewhere.
func TestDeferredCallIsNotStartedAgain(t *testing.T) {
	started := 0
	later := tool("later", func(context.Context, *toolset.RunContext[deps]) (string, error) {
		started++
		return "", toolset.Deferred(json.RawMessage(`{"job":7}`))
	})
	a := newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(call("1", "later")))}, later)
	_, err := a.Run(t.Context(), deps{}, "go")
	pending, failed := pendingOf(t, err)
	_, err = a.Run(t.Context(), deps{}, "", agent.WithHistory(failed.Messages))
	again, _ := pendingOf(t, err)
	require.Equal(t, pending.Calls, again.Calls)
	require.Equal(t, 1, started)
}
