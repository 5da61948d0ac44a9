// SPDX-License-Identifier: Apache-2.0

package sessiontest

import (
	"encoding/json"
	"fmt"

	"github.com/ponte-go/ponte/agent/session"
)

// fork makes a session from another one.
func (p *probe) fork(id string, at int64, n session.New) session.Info {
	info, err := p.Fork(p.ctx, id, at, n)
	p.ok(err, "Fork(%q, %d)", id, at)
	return info
}

// forkRules are about forks.
func forkRules() []rule {
	return []rule{
		{"a fork has what its parent had, and goes its own way", func(p *probe) {
			p.create(session.New{ID: "a", Title: "title", Dir: "/repo", Values: values("v", `1`, "w", `2`)})
			l := p.acquire("a", "me")
			p.append(l, text("1"), text("2"), text("3"))
			b := p.fork("a", 2, session.New{ID: "b", Created: date(1), Values: values("w", `3`)})
			p.described(b, session.Info{
				ID: "b", Title: "title", Dir: "/repo", Values: values("v", `1`, "w", `3`),
				Created: date(1), Updated: date(1), Head: 2, Parent: "a", ForkedAt: 2,
			}, "a fork")
			p.described(p.get("b"), b, "Get of a fork")
			named := p.fork("a", 3, session.New{ID: "named", Title: "other", Dir: "/other"})
			less := p.fork("a", 3, session.New{ID: "less", Values: map[string]json.RawMessage{"v": nil, "x": nil}})
			p.described(p.get("less"), less, "Get of a fork without a value")
			if len(less.Values) != 1 || less.Values["w"] == nil {
				p.report("a fork for which the value \"v\" is nil has the values %v, want only \"w\"", less.Values)
			}
			equal(p, named.Title+named.Dir, "other/other", "title and directory of a fork that has its own")
			m := p.acquire("b", "somebody else")
			equal(p, m.Head, int64(2), "the head that the lease of a fork says")
			equal(p, p.append(m, text("b3")), int64(3), "the number of the first entry of a fork")
			p.append(l, text("4"))
			p.holds("a", "1", "2", "3", "4")
			p.holds("b", "1", "2", "b3")
			p.fork("a", 0, session.New{ID: "empty"})
			p.holds("empty")
			title := "changed"
			_, err := p.Update(p.ctx, "a", session.Change{Title: &title, Values: values("v", "")})
			p.ok(err, "Update of the parent")
			equal(p, p.get("b").Title, "title", "the title of the fork")
			equal(p, len(p.get("b").Values), 2, "how many values the fork has")
			listed, _ := p.list(session.Query{Parent: "a", Limit: 2}, nil)
			equal(p, len(listed), 4, "how many forks are listed")
		}},
		{"a fork can be forked", func(p *probe) {
			p.create(session.New{ID: "a"})
			l := p.acquire("a", "me")
			p.append(l, text("a1"), text("a2"), text("a3"))
			p.fork("a", 2, session.New{ID: "b"})
			m := p.acquire("b", "me")
			p.append(m, text("b3"), text("b4"))
			p.fork("b", 3, session.New{ID: "c"})
			p.fork("b", 1, session.New{ID: "d"})
			p.holds("c", "a1", "a2", "b3")
			p.holds("d", "a1")
			n := p.acquire("c", "me")
			p.append(n, text("c4"))
			p.fork("c", 4, session.New{ID: "e"})
			p.holds("e", "a1", "a2", "b3", "c4")
			for after, want := range []int{4, 3, 2, 1, 0} {
				got := p.load(p.another(), "e", int64(after))
				equal(p, len(got), want, "how many entries of a fork come after %d", after)
			}
		}},
		{"forks outlive their parents", func(p *probe) {
			p.create(session.New{ID: "s0"})
			for i := range 4 {
				id := fmt.Sprint("s", i)
				l := p.acquire(id, "me")
				p.append(l, text(fmt.Sprint(i, "a")), text(fmt.Sprint(i, "b")))
				p.ok(p.Release(p.ctx, l), "Release")
				p.fork(id, int64(i+1), session.New{ID: fmt.Sprint("s", i+1)})
			}
			for i := range 4 {
				p.ok(p.Delete(p.ctx, fmt.Sprint("s", i)), "Delete")
			}
			p.create(session.New{ID: "s3"})
			p.holds("s3")
			p.holds("s4", "0a", "1a", "2a", "3a")
			equal(p, p.get("s4").Parent, "s3", "the parent of a fork whose parent was deleted")
			l := p.acquire("s4", "me")
			p.append(l, text("4a"))
			p.holds("s4", "0a", "1a", "2a", "3a", "4a")
			p.ok(p.Release(p.ctx, l), "Release")
			p.ok(p.Delete(p.ctx, "s4"), "Delete of the last fork")
		}},
		{"a fork keeps what its parent supersedes later", func(p *probe) {
			p.create(session.New{ID: "a"})
			l := p.acquire("a", "me")
			view, step, message := text("view"), text("step"), text("message")
			view.Kind, view.Run, view.Key = session.KindView, "r", "k"
			step.Kind, step.Run = session.KindStep, "r"
			message.Run, message.Key = "r", "k"
			p.append(l, view, step)
			p.fork("a", 2, session.New{ID: "b"})
			p.fork("b", 1, session.New{ID: "c"})
			p.append(l, view, message, session.Entry{Kind: session.KindEnd, Run: "r", Data: []byte(`"end"`)})
			p.holds("b", "view", "step")
			p.holds("c", "view")
			m := p.acquire("b", "me")
			p.append(m, message)
			p.holds("c", "view")
			got := p.load(p.Store, "a", 2)
			equal(p, len(got), 2, "how many entries the parent has after the fork")
		}},
	}
}
