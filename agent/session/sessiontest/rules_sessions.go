// SPDX-License-Identifier: Apache-2.0

package sessiontest

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/ponte-go/ponte/agent/session"
)

func values(pairs ...string) map[string]json.RawMessage {
	made := map[string]json.RawMessage{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			made[pairs[i]] = nil
		} else {
			made[pairs[i]] = json.RawMessage(pairs[i+1])
		}
	}
	return made
}

// sessionRules are about sessions as a whole.
func sessionRules() []rule {
	return []rule{
		{"a new session is described as it was made", func(p *probe) {
			n := session.New{
				ID: "ä b/c", Title: "Über", Dir: "/repo",
				Values: values("mode", `{"a": 1}`, "model", `"x"`), Created: date(1),
			}
			want := session.Info{ID: n.ID, Title: n.Title, Dir: n.Dir, Values: n.Values, Created: n.Created}
			want.Updated = n.Created
			p.described(p.create(n), want, "Create")
			p.described(p.get(n.ID), want, "Get")
			other, err := p.another().Get(p.ctx, n.ID)
			p.ok(err, "Get in another process")
			p.described(other, want, "Get in another process")
			bare := p.create(session.New{ID: "bare"})
			if age := time.Since(bare.Created); age < -time.Minute || age > time.Hour || bare.Created.Location() != time.UTC {
				p.report("a session that is made now was created %v", bare.Created)
			}
			want = session.Info{ID: "bare", Created: bare.Created, Updated: bare.Created}
			p.described(bare, want, "a session with an id only")
			p.holds("bare")
		}},
		{"a session without an id gets one of its own", func(p *probe) {
			seen := map[string]bool{"": true}
			for range 50 {
				id := p.create(session.New{}).ID
				if seen[id] {
					p.stop("the id %q was given before, or is empty", id)
				}
				seen[id] = true
				equal(p, p.get(id).ID, id, "Get")
			}
		}},
		{"an id is used once", func(p *probe) {
			p.create(session.New{ID: "a", Title: "first"})
			_, err := p.Create(p.ctx, session.New{ID: "a", Title: "second"})
			e := p.is(err, session.ErrExists, "Create of a session that exists")
			equal(p, e.Session, "a", "the session of the error")
			p.create(session.New{ID: "A"})
			_, err = p.Fork(p.ctx, "a", 0, session.New{ID: "A"})
			p.is(err, session.ErrExists, "Fork with the id of a session that exists")
			equal(p, p.get("a").Title, "first", "the title of the first session")
		}},
		{"what does not exist is not found", func(p *probe) {
			p.create(session.New{ID: "there"})
			for _, id := range []string{"a", "", "\xff", "a\x00b", strings.Repeat("x", 3000)} {
				_, err := p.Get(p.ctx, id)
				equal(p, p.is(err, session.ErrNotFound, "Get").Session, id, "the session of the error")
				_, err = p.Update(p.ctx, id, session.Change{})
				p.is(err, session.ErrNotFound, "Update")
				_, err = p.Fork(p.ctx, id, 0, session.New{})
				p.is(err, session.ErrNotFound, "Fork")
				p.is(p.Delete(p.ctx, id), session.ErrNotFound, "Delete")
				_, err = p.Acquire(p.ctx, id, session.Claim{})
				p.is(err, session.ErrNotFound, "Acquire")
				p.is(firstError(p.Load(p.ctx, id, 0)), session.ErrNotFound, "Load")
				_, err = p.Append(p.ctx, session.Lease{Session: id, Token: 1}, 0, batch(text("x")))
				p.is(err, session.ErrNotFound, "Append")
				p.is(p.Release(p.ctx, session.Lease{Session: id, Token: 1}), session.ErrNotFound, "Release")
			}
			for _, q := range []session.Query{{Dir: "\xff"}, {Parent: "\xff"}, {Dir: "a\x00b"}, {Parent: "a\x00b"}} {
				found, _ := p.list(q, nil)
				equal(p, len(found), 0, "how many sessions List(%s) has", asked(q))
			}
		}},
		{"invalid arguments are refused", func(p *probe) {
			for _, n := range []session.New{
				{ID: strings.Repeat("x", 257)}, {ID: "a\nb"}, {ID: "a\x00"}, {ID: "\xff"},
				{Title: "\xff"}, {Dir: "\xff"},
				{Values: values("a", `{`)}, {Values: values("", `1`)}, {Created: time.Unix(0, -1)},
			} {
				_, err := p.Create(p.ctx, n)
				p.is(err, session.ErrInvalid, "Create(%.80q)", n.ID)
			}
			p.create(session.New{ID: "a"})
			bad := "\xff"
			for _, c := range []session.Change{{Title: &bad}, {Values: values("a", `nonsense`)}, {Values: values("a", "\"\xff\"")}} {
				_, err := p.Update(p.ctx, "a", c)
				p.is(err, session.ErrInvalid, "Update")
			}
			l := p.acquire("a", "me")
			head := p.append(l, text("x"), text("y"))
			for _, e := range []session.Entry{
				{}, {Kind: "view", Data: json.RawMessage(`{"a"`)}, {Kind: "view", Run: "\xff"},
				{Kind: "view", Key: "\xff"}, {Kind: "view", Seq: head},
				{Kind: "view", Time: time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)},
				{Kind: "view", Time: time.Unix(0, -1)},
			} {
				_, err := p.Append(p.ctx, l, head, batch(e))
				p.is(err, session.ErrInvalid, "Append(%s)", entry(e))
			}
			for _, at := range []int64{-1, head + 1} {
				_, err := p.Fork(p.ctx, "a", at, session.New{})
				p.is(err, session.ErrInvalid, "Fork at %d", at)
			}
			for _, q := range []session.Query{{Limit: -1}, {Order: "size"}, {Cursor: "nonsense"}, {Cursor: "e30"}} {
				_, err := p.List(p.ctx, q)
				p.is(err, session.ErrInvalid, "List(%s)", asked(q))
			}
			p.holds("a", "x", "y")
		}},
		{"titles and values are changed", func(p *probe) {
			made := p.create(session.New{
				ID: "a", Title: "old", Dir: "/repo", Values: values("one", `1`, "two", `2`),
				Created: date(1),
			})
			title := "new"
			got, err := p.Update(p.ctx, "a", session.Change{
				Title: &title, Values: values("two", "", "three", `{"x": [3]}`, "four", ""),
			})
			p.ok(err, "Update")
			if !got.Updated.After(made.Updated) {
				p.report("Updated is %v, and was %v before the update", got.Updated, made.Updated)
			}
			left := values("one", `1`, "three", `{"x": [3]}`)
			want := session.Info{ID: "a", Title: "new", Dir: "/repo", Values: left, Created: date(1)}
			want.Updated = got.Updated
			p.described(got, want, "Update")
			p.described(p.get("a"), want, "Get")
			got, err = p.Update(p.ctx, "a", session.Change{})
			p.ok(err, "Update of nothing")
			equal(p, got.Title, "new", "the title after an update of nothing")
			empty := ""
			got, err = p.Update(p.ctx, "a", session.Change{Title: &empty})
			p.ok(err, "Update to an empty title")
			equal(p, got.Title, "", "a title that was removed")
		}},
		{"a session that is deleted is gone", func(p *probe) {
			p.create(session.New{ID: "a", Title: "old"})
			p.create(session.New{ID: "b"})
			l := p.acquire("a", "me")
			p.append(l, text("x"), session.Entry{Kind: session.KindStep, Run: "r"})
			p.ok(p.Release(p.ctx, l), "Release")
			p.ok(p.Delete(p.ctx, "a"), "Delete")
			p.is(p.Delete(p.ctx, "a"), session.ErrNotFound, "a second Delete")
			p.is(firstError(p.Load(p.ctx, "a", 0)), session.ErrNotFound, "Load when it is gone")
			page, err := p.List(p.ctx, session.Query{})
			p.ok(err, "List")
			equal(p, len(page.Sessions), 1, "how many sessions are listed")
			p.create(session.New{ID: "a"})
			p.holds("a")
			_, err = p.Append(p.ctx, l, 0, batch(text("y")))
			p.is(err, session.ErrLeaseLost, "Append with a lease of the deleted session")
			p.acquire("a", "somebody else")
			_, err = p.Append(p.ctx, l, 0, batch(text("y")))
			p.is(err, session.ErrLeaseLost, "Append with a lease of the deleted session when the new one is held")
			p.holds("a")
		}},
		{"a context that has ended does nothing", func(p *probe) {
			p.create(session.New{ID: "a", Title: "old"})
			l := p.acquire("a", "me")
			p.append(l, text("x"))
			ctx, cancel := context.WithCancel(p.ctx)
			cancel()
			title := "new"
			_, err := p.Create(ctx, session.New{ID: "b"})
			p.is(err, context.Canceled, "Create")
			_, err = p.Get(ctx, "a")
			p.is(err, context.Canceled, "Get")
			_, err = p.List(ctx, session.Query{})
			p.is(err, context.Canceled, "List")
			_, err = p.Update(ctx, "a", session.Change{Title: &title})
			p.is(err, context.Canceled, "Update")
			_, err = p.Fork(ctx, "a", 1, session.New{ID: "c"})
			p.is(err, context.Canceled, "Fork")
			p.is(p.Delete(ctx, "a"), context.Canceled, "Delete")
			_, err = p.Acquire(ctx, "a", session.Claim{Force: true})
			p.is(err, context.Canceled, "Acquire")
			p.is(p.Release(ctx, l), context.Canceled, "Release")
			_, err = p.Append(ctx, l, 1, batch(text("y")))
			p.is(err, context.Canceled, "Append")
			p.is(firstError(p.Load(ctx, "a", 0)), context.Canceled, "Load")
			p.append(l, text("z"))
			p.holds("a", "x", "z")
			equal(p, p.get("a").Title, "old", "the title")
			page, err := p.List(p.ctx, session.Query{})
			p.ok(err, "List")
			equal(p, len(page.Sessions), 1, "how many sessions are listed")
		}},
	}
}
