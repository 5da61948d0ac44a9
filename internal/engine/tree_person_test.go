// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// asker is the person of a leg. In some there is nobody.
func (w *tree) asker(n int) toolset.Asker {
	rnd := w.random("asker", n)
	defers := []int{0, 0, 4, 10}[rnd.IntN(4)]
	if defers == 10 {
		return toolset.AskerFuncs{}
	}
	return toolset.AskerFuncs{
		OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
			name := nameOf(r.Args)
			w.log.add(entry{Said: saidAsk, Name: name, Inline: true, Args: canonical(r.Args), Basis: r.Approval.Basis})
			think()
			if w.random("defer", name, n, w.log.count(saidAsk, name)).IntN(10) < defers {
				w.log.add(entry{Said: saidDecide, Name: name, Inline: true, Verdict: "defer"})
				return toolset.Defer(), nil
			}
			return w.decide(name, r.Args, r.Approval.Basis, true), nil
		},
		OnAnswer: func(_ context.Context, q toolset.Question) (toolset.Reply, error) {
			w.log.add(entry{Said: saidQuestion, Name: q.Message})
			think()
			reply := toolset.Reply{Action: toolset.ActionDecline}
			if w.random("reply", q.Message).IntN(3) > 0 {
				reply = toolset.Reply{Action: toolset.ActionAccept, Content: fmt.Appendf(nil, `{"to":%q}`, q.Message)}
			}
			w.log.add(entry{Said: saidReply, Name: q.Message, Text: string(reply.Content)})
			return reply, nil
		},
	}
}

// think gives others the time to ask as well, which they must not.
func think() {
	for range 50 {
		runtime.Gosched()
	}
}

func nameOf(args []byte) string {
	var in struct{ Name, Prompt string }
	_ = json.Unmarshal(args, &in)
	if in.Prompt != "" {
		return taskOf(in.Prompt)
	}
	return in.Name
}

// decide is what a person says about a call. Now and then they change its arguments, and not always to valid ones.
func (w *tree) decide(name string, args []byte, basis string, inline bool) toolset.Decision {
	n := w.log.count(saidAsk, name)
	var in treeArgs
	_ = json.Unmarshal(args, &in)
	d := toolset.Decision{Verdict: toolset.VerdictAllow, By: "ada"}
	change := func(path string, n int) {
		d.Args = fmt.Appendf(nil, `{"name":%q,"path":%q,"n":%d}`, name, path, n)
		args = d.Args
	}
	switch rnd := w.random("decide", name, n).IntN(7); {
	case rnd == 0:
		d = toolset.Decision{Verdict: toolset.VerdictDeny, Reason: "no", By: "bob"}
	case rnd == 1 && n < 4:
		change(in.Path, 50+n)
	case rnd == 2 && n < 4:
		change("nowhere", 1)
	case rnd == 3 && n < 4:
		change(map[string]string{"a": "b", "b": "a"}[in.Path], 70+n)
	}
	w.log.add(entry{Said: saidDecide, Name: name, Inline: inline, Verdict: string(d.Verdict), Args: canonical(args), Basis: basis})
	return d
}

// answer answers the calls that a leg has left pending, or writes a prompt instead.
func (c *conversation) answer(t *testing.T, l *leg) {
	w := c.w
	rnd := w.random("answer", l.N)
	l.Results = &agent.DeferredResults{}
	instead := rnd.IntN(6) == 0
	if instead {
		l.Prompt = fmt.Sprint("instead ", l.N)
		c.counts["a prompt in place of answers"]++
	}
	var denied []string // calls around others, which need no answer then
	for _, p := range agent.PendingCalls(l.History) {
		name := nameOf(p.Args)
		require.False(t, settled(w.log.all(), name), "seed %d %s: call %s is pending and has ended", w.seed, c.way, name)
		c.counts[fmt.Sprint("pending at depth ", max(1, len(p.Path)))]++
		drop := func(why string) {
			w.log.add(entry{Said: saidDropped, Name: name})
			c.counts[why]++
		}
		switch {
		case len(p.Path) > 1 && slices.Contains(denied, p.Path[0]):
			drop("denied with the call around it")
		case instead && rnd.IntN(2) == 0:
			drop("not answered")
		case len(p.Path) > 1 && !instead && !answered(l.Results, "/"+p.Path[0]) && rnd.IntN(10) == 0:
			denied = append(denied, p.Path[0])
			l.Results.Decide(p.Path[0], toolset.Deny("enough"))
			drop("denied with the call around it")
		case p.Approval == nil:
			l.Results.Supply(p.Key(), toolset.Result{Text: "from elsewhere " + name})
			w.log.add(entry{Said: saidSupplied, Name: name})
		default:
			w.log.add(entry{Said: saidAsk, Name: name, Args: canonical(p.Args), Basis: p.Approval.Basis})
			l.Results.Decide(p.Key(), w.decide(name, p.Args, p.Approval.Basis, false))
		}
	}
	for _, s := range l.History[len(l.History)-1].SuspendedCalls {
		if slices.Contains(denied, s.ID) {
			w.log.add(entry{Said: saidDropped, Name: nameOf(s.Args)})
		}
	}
	if instead {
		c.drop(t, l.History, l.Results, "")
	}
}

// drop says which other calls a prompt in place of answers denies: those that have not started, and agents of whose calls none is
// answered.
func (c *conversation) drop(t *testing.T, history []*model.Message, results *agent.DeferredResults, outer string) {
	last := history[len(history)-1]
	listed := map[string]bool{}
	for i := range last.Parts {
		listed[last.Parts[i].CallID] = true
	}
	for _, p := range last.PendingCalls {
		listed[p.ID] = listed[p.ID] || len(p.Path) == 0
	}
	for _, s := range last.SuspendedCalls {
		listed[s.ID] = true
	}
	if n := len(history); n > 1 {
		for _, p := range history[n-2].Parts {
			if p.Kind == model.PartToolCall && !listed[p.CallID] {
				c.w.log.add(entry{Said: saidDropped, Name: nameOf(p.Args)})
			}
		}
	}
	for _, s := range last.SuspendedCalls {
		switch path := outer + "/" + s.ID; {
		case !c.w.nodes().find(s.Tool).handsOver() && !answered(results, path):
			c.w.log.add(entry{Said: saidDropped, Name: nameOf(s.Args)})
		case c.w.nodes().find(s.Tool).handsOver(): // its agent gets the prompt
			var state struct{ Messages []*model.Message }
			require.NoError(t, json.Unmarshal(s.State, &state))
			c.drop(t, state.Messages, results, path)
		}
	}
}

// answered reports whether a call inside another one has been answered.
func answered(r *agent.DeferredResults, outer string) bool {
	inside := func(key string) bool { return strings.HasPrefix(key, outer+"/") }
	for key := range r.Decisions {
		if inside(key) {
			return true
		}
	}
	for key := range r.Results {
		if inside(key) {
			return true
		}
	}
	return false
}
