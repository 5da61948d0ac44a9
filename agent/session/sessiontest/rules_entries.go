// SPDX-License-Identifier: Apache-2.0

package sessiontest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/session"
)

// documents are data that must come back as they were.
var documents = []string{
	`{"a":1}`, `{}`, `"text"`, `null`, `[]`, `{"a":1}`, `{"nl":"\n","nul":"\u0000","html":"<&>\u2028"}`, ` {"spaces": [ 1 , 2 ] } `, "{\"lines\":\n1}",
	`{"ü":"日本語"}`, `12345678901234567890.10`, `{"big":"` + strings.Repeat("x", 1<<18) + `","after":"` + strings.Repeat("é", 1<<16) + `"}`,
	`"` + strings.Repeat(`\"`, 1<<16) + `"`, `["` + strings.Repeat("A", 1<<17) + `"]`, `{"again":"` + strings.Repeat("x", 1<<18) + `"}`,
}

// entryRules are about the entries of a session.
func entryRules() []rule {
	return []rule{
		{"entries come back as they were, in order", func(p *probe) {
			p.create(session.New{ID: "a"})
			p.create(session.New{ID: "b"})
			l, m := p.acquire("a", "me"), p.acquire("b", "me")
			var want []session.Entry
			size := 0
			for i, d := range documents {
				kind := session.Kind([]string{"message", "step", "view", "decision", "value", "new kind"}[i%6])
				run := fmt.Sprint("run/", i%2)
				e := session.Entry{Time: date(i), Kind: kind, Run: run, Data: json.RawMessage(d)}
				if i%3 == 0 {
					e.Key = fmt.Sprint("Schlüssel ", i)
				}
				equal(p, p.append(l, e), int64(i+1), "the number of the entry")
				p.append(m, text("other"))
				e.Seq = int64(i + 1)
				want = append(want, e)
				size += len(d)
			}
			p.append(l, session.Entry{Kind: "view", Time: date(99)})
			want = append(want, session.Entry{Seq: int64(len(want) + 1), Kind: "view", Time: date(99)})
			for n, s := range []session.Store{p.Store, p.another()} {
				got := p.load(s, "a", 0)
				if len(got) != len(want) {
					p.stop("there are %d entries, want %d", len(got), len(want))
				}
				for i := range got {
					p.same(got[i], want[i], "process %d, entry %d", n, i+1)
				}
			}
			info := p.get("a")
			equal(p, info.Head, int64(len(want)), "the head")
			p.size(info, int64(size))
		}},
		{"entries are loaded after a position", func(p *probe) {
			p.create(session.New{ID: "a"})
			l := p.acquire("a", "me")
			p.append(l, text("1"), text("2"), text("3"))
			for after, want := range []int{3, 2, 1, 0, 0} {
				got := p.load(p.Store, "a", int64(after))
				equal(p, len(got), want, "how many entries come after %d", after)
				if len(got) > 0 {
					equal(p, got[0].Seq, int64(after+1), "the first entry after %d", after)
				}
			}
		}},
		{"entries get numbers and times", func(p *probe) {
			made := p.create(session.New{ID: "a", Created: date(1)})
			l := p.acquire("a", "me")
			equal(p, p.get("a").Updated, made.Updated, "Updated after Acquire")
			before := time.Now().Add(-time.Minute)
			zone := time.FixedZone("x", 3600)
			there := session.Entry{Seq: 7, Time: date(2).In(zone), Kind: "view"}
			head, err := p.Append(p.ctx, l, 0, batch(text("1"), there, text("8")))
			p.ok(err, "Append")
			equal(p, head, int64(8), "the head")
			got := p.load(p.Store, "a", 0)
			if len(got) != 3 {
				p.stop("there are %d entries, want 3", len(got))
			}
			for i, seq := range []int64{1, 7, 8} {
				equal(p, got[i].Seq, seq, "the number of an entry")
			}
			if got[0].Time.Before(before) || got[0].Time.After(time.Now().Add(time.Minute)) || got[0].Time.Location() != time.UTC {
				p.report("an entry that is appended now has the time %v", got[0].Time)
			}
			equal(p, got[1].Time, date(2), "the time that was given")
			latest := slices.MaxFunc([]time.Time{got[0].Time, got[2].Time}, time.Time.Compare)
			equal(p, p.get("a").Updated, latest, "Updated")
			head, err = p.Append(p.ctx, l, 8, batch())
			p.ok(err, "Append of nothing")
			equal(p, head, int64(8), "the head after an append of nothing")
		}},
		{"an append is made as a whole or not at all", func(p *probe) {
			p.create(session.New{ID: "a"})
			l := p.acquire("a", "me")
			p.append(l, text("1"))
			bad := session.Entry{Kind: "view", Data: json.RawMessage(`{`)}
			_, err := p.Append(p.ctx, l, 1, batch(text("2"), text("3"), bad))
			p.is(err, session.ErrInvalid, "Append of two entries and an invalid one")
			p.holds("a", "1")
			equal(p, p.get("a").Head, int64(1), "the head")
		}},
		{"memory is not shared with the caller", func(p *probe) {
			vals := values("v", `"x"`)
			p.create(session.New{ID: "a", Values: vals})
			copy(vals["v"], `"y"`)
			vals["w"] = json.RawMessage(`1`)
			l := p.acquire("a", "me")
			e := text("old")
			p.append(l, e)
			copy(e.Data, `"new"`)
			p.holds("a", "old")
			for e := range p.Load(p.ctx, "a", 0) {
				copy(e.Data, `"new"`)
			}
			p.holds("a", "old")
			for range 2 {
				info := p.get("a")
				equal(p, len(info.Values), 1, "how many values there are")
				equal(p, string(info.Values["v"]), `"x"`, "the value")
				if info.Values == nil {
					return
				}
				copy(info.Values["v"], `"z"`)
				info.Values["w"] = json.RawMessage(`1`)
			}
		}},
		{"a message takes the place of what has its run and key", func(p *probe) {
			p.create(session.New{ID: "a"})
			l := p.acquire("a", "me")
			entry := func(kind session.Kind, run, key, s string) session.Entry {
				e := text(s)
				e.Kind, e.Run, e.Key = kind, run, key
				return e
			}
			p.append(l, entry("view", "r", "k", "gone"), entry("message", "r", "k", "gone"),
				entry("view", "r", "other", "key"), entry("view", "r2", "k", "run"),
				entry("step", "r", "k", "step"), entry("decision", "r", "k", "decision"),
				entry("value", "r", "k", "value"), entry("view", "r", "", "no key"),
				entry("message", "r", "", "no key"))
			p.append(l, entry("view", "r", "k", "gone"))
			head := p.append(l, entry("view", "r", "k", "gone"), entry("message", "r", "k", "message"))
			p.holds("a", "key", "run", "step", "decision", "value", "no key", "no key", "message")
			p.append(l, entry("message", "r", "", "no key"))
			p.holds("a", "key", "run", "step", "decision", "value", "no key", "no key", "message", "no key")
			got := p.load(p.Store, "a", 0)
			if len(got) != 9 {
				p.stop("there are %d entries, want 9", len(got))
			}
			equal(p, got[0].Seq, int64(3), "the number of the first entry that is left")
			equal(p, got[7].Seq, head, "the number of the message")
			size := int64(0)
			for _, e := range got {
				size += int64(len(e.Data))
			}
			p.size(p.get("a"), size)
		}},
		{"the end of a run takes the place of its steps", func(p *probe) {
			p.create(session.New{ID: "a"})
			l := p.acquire("a", "me")
			entry := func(kind session.Kind, run, s string) session.Entry {
				e := text(s)
				e.Kind, e.Run, e.Key = kind, run, s
				return e
			}
			p.append(l, entry("message", "r", "message"), entry("step", "r", "gone"),
				entry("step", "r/1/c1", "inner"), entry("step", "r0", "r0"),
				entry("step", "r%", "r%"), entry("step", "R", "R"), entry("step", "", "none"), entry("view", "r", "view"), entry("decision", "r", "decision"))
			p.append(l, entry("end", "r", "end"))
			p.holds("a", "message", "r0", "r%", "R", "none", "view", "decision", "end")
			p.append(l, entry("step", "r", "later"))
			p.holds("a", "message", "r0", "r%", "R", "none", "view", "decision", "end", "later")
		}},
		{"many can append to many sessions at once", func(p *probe) {
			const sessions, each = 16, 20
			stores := []session.Store{p.Store, p.another()}
			var all sync.WaitGroup
			for n := range sessions {
				id := fmt.Sprint("s", n)
				p.create(session.New{ID: id})
				l := p.acquireIn(stores[n%2], id)
				all.Go(func() {
					head := int64(0)
					for i := range each {
						var err error
						if head, err = stores[n%2].Append(p.ctx, l, head, batch(text(fmt.Sprint(n, ".", i)))); err != nil {
							p.report("Append to %s: %v", id, err)
							return
						}
					}
				})
			}
			all.Wait()
			for n := range sessions {
				var want []string
				for i := range each {
					want = append(want, fmt.Sprint(n, ".", i))
				}
				p.holds(fmt.Sprint("s", n), want...)
			}
		}},
		{"a store can be used while entries are loaded", func(p *probe) {
			p.create(session.New{ID: "a"})
			l := p.acquire("a", "me")
			p.append(l, text("1"), text("2"))
			var nested func(depth int)
			nested = func(depth int) {
				for _, err := range p.Load(p.ctx, "a", 0) {
					p.ok(err, "Load inside of %d others", depth)
					if depth < 10 {
						nested(depth + 1)
					} else {
						p.append(l, text("more"))
						p.get("a")
					}
					break
				}
			}
			nested(0)
			p.holds("a", "1", "2", "more")
		}},
	}
}
