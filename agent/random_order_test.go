// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// orderly plays one response with random calls, and watches the order in which they are asked about and run. What
// happens depends on the seed and the calls alone, so that every way of playing it must come to the same.
type orderly struct {
	t       *testing.T
	seed    uint64
	calls   []model.Part
	mu      sync.Mutex
	version map[string]int
	running map[string]bool
	ended   map[string]bool
	asks    map[string]int
	ran     map[string]int
	shown   map[string]string // the basis that a person has allowed last
	args    map[string]string // the arguments that a person has allowed last
	problem error
}

type orderlyArgs struct {
	Path string `json:"path" validate:"oneof=a b"`
	N    int    `json:"n" validate:"min=0,max=99"`
}

func (o *orderly) random(parts ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, parts...)
	return rand.New(rand.NewPCG(o.seed, h.Sum64()))
}

func (o *orderly) wrong(format string, args ...any) {
	if o.problem == nil {
		o.problem = fmt.Errorf(format, args...)
	}
}

func (o *orderly) index(id string) int {
	return slices.IndexFunc(o.calls, func(p model.Part) bool { return p.CallID == id })
}

// barrier says that a call must run alone, before and behind all others. Calls that ask when they run are none, because they
// have begun by then.
func (o *orderly) barrier(p *model.Part) bool {
	switch p.Tool {
	case "sequential", "guarded", "guarded_sequential", "loose":
		return true
	}
	return false
}

func (o *orderly) outside(p *model.Part) bool { return p.Tool == "external" || p.Tool == "later" }

// begin checks that a call may run now.
func (o *orderly) begin(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := o.index(id)
	for i := range o.calls {
		p := &o.calls[i]
		before := i < at && !o.ended[p.CallID] && !o.outside(p)
		switch {
		case i == at:
		case o.running[p.CallID] && (o.barrier(p) || o.barrier(&o.calls[at])):
			o.wrong("call %s runs beside %s", id, p.CallID)
		case before && (o.barrier(p) || o.barrier(&o.calls[at])):
			o.wrong("call %s (%s) runs before %s (%s) has ended", id, o.calls[at].Tool, p.CallID, p.Tool)
		case i > at && o.ran[p.CallID] > 0 && o.barrier(p) && !o.outside(&o.calls[at]):
			o.wrong("call %s runs behind %s", id, p.CallID)
		}
	}
	o.running[id] = true
}

func (o *orderly) end(id, path string, over bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.running, id)
	if over {
		o.ran[id]++
		o.ended[id] = true
		o.version[path]++
	}
}

func (o *orderly) basis(path string) string { return fmt.Sprint(path, " ", o.version[path]) }

func (o *orderly) tool(name string, opts ...toolset.Option) *toolset.Tool[deps] {
	return toolset.Func(name, "", func(_ context.Context, run *toolset.RunContext[deps], in orderlyArgs) (string, error) {
		id := run.Call.ID
		o.begin(id)
		over := false
		defer func() { o.end(id, in.Path, over) }()
		o.mu.Lock()
		shown, allowed, basis := o.shown[id], o.args[id], o.basis(in.Path)
		o.mu.Unlock()
		switch name {
		case "guarded", "guarded_sequential", "loose", "asks":
			if !run.Call.Approved {
				if name == "asks" {
					return "", toolset.ApprovalRequired(toolset.Approval{Scope: in.Path})
				}
				o.wrong("call %s runs without approval", id)
			}
			if got := fmt.Sprintf(`{"path":%q,"n":%d}`, in.Path, in.N); allowed != got {
				o.wrong("call %s runs with %s, approved was %s", id, got, allowed)
			}
			if (name == "guarded" || name == "guarded_sequential") && (shown != basis || run.Call.Approval.Basis != basis) {
				o.wrong("call %s runs at %q, shown was %q", id, basis, shown)
			}
		case "later":
			return "", toolset.Deferred(json.RawMessage(`1`))
		}
		over = true
		return fmt.Sprint(name, " ", in.Path, in.N), nil
	}, opts...)
}

func (o *orderly) approval(withBasis bool) toolset.Option {
	return toolset.Approve(func(_ context.Context, run *toolset.RunContext[deps], in orderlyArgs) (*toolset.Approval, error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		a := &toolset.Approval{Scope: in.Path}
		if withBasis {
			a.Basis = o.basis(in.Path)
		}
		return a, nil
	})
}

// decide is what a person says about a call the n-th time. A call is asked about at its place.
func (o *orderly) decide(r toolset.ApprovalRequest, inline bool) toolset.Decision {
	o.mu.Lock()
	defer o.mu.Unlock()
	id := r.CallID()
	at := o.index(id)
	for i := range o.calls[:max(at, 0)] {
		if p := &o.calls[i]; inline && !o.ended[p.CallID] && !o.outside(p) && o.calls[at].Tool != "asks" && p.Tool != "asks" {
			o.wrong("call %s is asked about before %s has ended", id, p.CallID)
		}
	}
	n := o.asks[id]
	o.asks[id]++
	rnd := o.random("decide", id, n)
	var in orderlyArgs
	_ = json.Unmarshal(r.Args, &in)
	allow := func(args string) toolset.Decision {
		o.shown[id], o.args[id] = r.Approval.Basis, string(r.Args)
		d := toolset.Decision{Verdict: toolset.VerdictAllow, By: "ada"}
		if args != "" {
			d.Args = json.RawMessage(args)
			o.args[id] = args
		}
		return d
	}
	switch rnd.IntN(7) {
	case 0:
		o.ended[id] = true
		return toolset.Decision{Verdict: toolset.VerdictDeny, Reason: "no", By: "bob"}
	case 1:
		if n < 3 {
			return allow(fmt.Sprintf(`{"path":%q,"n":%d}`, in.Path, 50+n))
		}
	case 2:
		if n < 3 {
			return allow(`{"path":"nowhere","n":1}`)
		}
	case 3:
		if n < 3 {
			other := map[string]string{"a": "b", "b": "a"}[in.Path]
			d := allow(fmt.Sprintf(`{"path":%q,"n":%d}`, other, 70+n))
			if r.Approval.Basis != "" {
				o.shown[id] = "of the other path" // nothing of which was shown
			}
			return d
		}
	}
	return allow("")
}

func (o *orderly) tools() []*toolset.Tool[deps] {
	return []*toolset.Tool[deps]{
		o.tool("free"), o.tool("sequential", toolset.Sequential()), o.tool("guarded", o.approval(true)), o.tool("loose", o.approval(false)),
		o.tool("guarded_sequential", o.approval(true), toolset.Sequential()), o.tool("asks"), o.tool("later"),
		toolset.ExternalTool[deps, orderlyArgs]("external", ""),
	}
}

// play plays the response to the end and returns the history.
func (o *orderly) play(journaled bool, defers int) []*model.Message {
	t := o.t
	o.version, o.running, o.ended, o.asks, o.ran = map[string]int{}, map[string]bool{}, map[string]bool{}, map[string]int{}, map[string]int{}
	o.shown, o.args = map[string]string{}, map[string]string{}
	script := []modeltest.Step{modeltest.Say(o.calls...), modeltest.SayText("ok")}
	prompt := "go"
	opts := []agent.RunOption{}
	j := new(journal.Memory)
	for run := range 60 {
		var asker toolset.Asker
		rnd := o.random("asker", run, defers)
		if rnd.IntN(10) >= defers {
			asker = toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
				if o.random("defer", run, r.CallID(), defers).IntN(10) < defers {
					return toolset.Defer(), nil
				}
				return o.decide(r, true), nil
			}}
		}
		config := cfg{Model: modeltest.Script(script...), Asker: asker, MaxParallelCalls: rnd.IntN(3)}
		if journaled {
			opts = append(opts, agent.WithJournal(j), agent.WithRunID(fmt.Sprint("run-", run)))
		}
		res, err := newAgent(t, config, o.tools()...).Run(t.Context(), deps{}, prompt, opts...)
		require.NoError(t, o.problem, "seed %d\n%s", o.seed, dump([]*model.Message{model.Response(o.calls...)}))
		if journaled {
			ran := fmt.Sprint(o.ran, o.asks)
			again, errAgain := newAgent(t, cfg{Model: modeltest.Script(), Asker: asker}, o.tools()...).Run(t.Context(), deps{}, prompt, opts...)
			require.Equal(t, err == nil, errAgain == nil, "seed %d: %v", o.seed, errAgain)
			require.Equal(t, res, again)
			if ran != fmt.Sprint(o.ran, o.asks) {
				require.Equal(t, ran, fmt.Sprint(o.ran, o.asks), "seed %d: a replay does nothing and asks nobody", o.seed)
			}
		}
		if err == nil {
			require.Len(t, res.Messages, 4)
			return res.Messages
		}
		var pending *agent.PendingError
		if !errors.As(err, &pending) {
			require.NoError(t, err, "seed %d", o.seed)
		}
		history := asRunError(t, err).Messages
		data, err := json.Marshal(history)
		require.NoError(t, err)
		var back []*model.Message
		require.NoError(t, json.Unmarshal(data, &back))
		results := agent.DeferredResults{Decisions: map[string]toolset.Decision{}, Results: map[string]toolset.Result{}}
		for _, c := range agent.PendingCalls(back) {
			require.False(t, o.ended[c.ID], "seed %d: call %s is pending and has ended", o.seed, c.ID)
			if c.Approval == nil {
				results.Results[c.ID] = toolset.Result{Text: "from elsewhere"}
				o.ended[c.ID] = true
				continue
			}
			results.Decisions[c.ID] = o.decide(toolset.ApprovalRequest{Origin: toolset.Origin{Path: []string{c.ID}}, Args: c.Args, Approval: *c.Approval, Invalid: c.Invalid}, false)
		}
		script = script[len(script)-1:]
		prompt, opts = "", []agent.RunOption{agent.WithHistory(back), agent.WithResults(results)}
	}
	require.Fail(t, "there is no end", "seed %d", o.seed)
	return nil
}

// TestRandomCallsAreAskedAboutAndRunInTheirOrder plays random responses with barriers, approvals and calls that are settled
// elsewhere, live, deferred and resumed from JSON, natively and with a journal: each call is approved at its place, runs once at most and
// only as it was approved, and is answered once. The natural and the journaled way come to the same history.
func TestRandomCallsAreAskedAboutAndRunInTheirOrder(t *testing.T) {
	names := []string{"free", "free", "sequential", "guarded", "guarded", "loose", "guarded_sequential", "asks", "later", "external"}
	for seed := range uint64(conversations(80)) {
		o := &orderly{t: t, seed: seed}
		rnd := o.random("calls")
		for i := range 1 + rnd.IntN(7) {
			o.calls = append(o.calls, model.ToolCall(fmt.Sprint("c", i), names[rnd.IntN(len(names))], fmt.Sprintf(`{"path":%q,"n":%d}`, []string{"a", "b"}[rnd.IntN(2)], i)))
		}
		for _, defers := range []int{0, 4, 10} {
			native := o.play(false, defers)
			journaled := o.play(true, defers)
			require.Equal(t, dump(native), dump(journaled), "seed %d, %d", seed, defers)
			requireAnswered(t, native)
			for _, n := range o.ran {
				require.Equal(t, 1, n, "seed %d", seed)
			}
			for i := range native[2].Parts {
				require.Equal(t, native[2].Parts[i].Decision, journaled[2].Parts[i].Decision, "seed %d", seed)
			}
		}
	}
}
