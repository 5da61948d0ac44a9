// SPDX-License-Identifier: Apache-2.0

package sessiontest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ponte-go/ponte/agent/session"
)

func (p *probe) put(s session.Store, id string, i session.Item) session.Item {
	got, err := s.Put(p.ctx, id, i)
	p.ok(err, "Put(%q, %.40q)", id, i.ID)
	return got
}

// items returns the items of an inbox after a change.
func (p *probe) items(s session.Store, id string, after int64, kinds ...session.ItemKind) []session.Item {
	var all []session.Item
	for i, err := range s.Items(p.ctx, id, after, kinds...) {
		p.ok(err, "Items(%q, %d)", id, after)
		all = append(all, i)
	}
	return all
}

// inboxHas reports if the items that wait, and the notes, have not these ids, in the order of their
// last changes.
func (p *probe) inboxHas(s session.Store, id string, want ...string) {
	var got []string
	for _, i := range p.items(s, id, 0) {
		got = append(got, i.ID)
	}
	if !slices.Equal(got, want) {
		p.report("the inbox has the items %q, want %q", got, want)
	}
}

func (p *probe) sameItem(got, want session.Item, format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	if got.Time.Location() != time.UTC {
		p.report("%s: the time is in %v, want UTC", what, got.Time.Location())
	}
	got.Time = got.Time.UTC()
	if a, b := item(got), item(want); a != b || (got.Data == nil) != (want.Data == nil) {
		p.report("%s: the item is %s, want %s", what, a, b)
	}
}

// item shows an item, for people.
func item(i session.Item) string {
	data := i.Data
	i.Data = nil
	return fmt.Sprintf("%+v with the data %q", i, data)
}

// prompt returns a prompt.
func prompt(id string) session.Item {
	return session.Item{ID: id, Kind: session.ItemPrompt, Data: json.RawMessage(`"` + id + `"`)}
}

// takes consumes an item with an entry that has its name.
func (p *probe) takes(s session.Store, l session.Lease, head int64, refs ...session.Ref) (int64, error) {
	b := session.Batch{Consumed: refs}
	for _, r := range refs {
		b.Entries = append(b.Entries, text(r.ID))
	}
	return s.Append(p.ctx, l, head, b)
}

// inboxRules are about what is sent to sessions.
func inboxRules() []rule {
	return append([]rule{
		{"items come back as they were put", func(p *probe) {
			p.create(session.New{ID: "a"})
			want := session.Item{
				ID: "ü " + strings.Repeat("x", 253), Kind: "my own", Time: date(3).In(time.FixedZone("x", 3600)), By: "\ue0000 Zoë", Digest: "sha256:1",
				Data: json.RawMessage(" {\"b\" : [1.0, 1e400, \"\\u0000\ue000\"]}"),
				Pos:  77, Version: 5, Rev: 99, State: session.ItemConsumed, // which the store sets
			}
			got := p.put(p.Store, "a", want)
			want.Pos, want.Version, want.Rev, want.State, want.Time = 1, 1, 1, session.ItemWaiting, date(3)
			p.sameItem(got, want, "Put")
			for _, s := range []session.Store{p.Store, p.another()} {
				if all := p.items(s, "a", 0); len(all) != 1 {
					p.report("there are %d items, want 1", len(all))
				} else {
					p.sameItem(all[0], want, "Items")
				}
			}
			before := time.Now().Add(-time.Minute)
			bare := p.put(p.Store, "a", session.Item{Kind: session.ItemCancel})
			if bare.ID == "" || bare.Data != nil || bare.Time.Before(before) || bare.Time.After(time.Now().Add(time.Minute)) {
				p.report("an item with a kind only is %s", item(bare))
			}
			equal(p, p.get("a").Waiting, int64(2), "how many items wait")
			equal(p, p.get("a").Head, int64(0), "the head after items were put")
			data := json.RawMessage(`"mine"`)
			mine := p.put(p.Store, "a", session.Item{ID: "mine", Kind: session.ItemPrompt, Data: data})
			copy(data, `"x`)
			copy(mine.Data, `"y`)
			for _, i := range p.items(p.Store, "a", 0) {
				if i.ID == "mine" {
					equal(p, string(i.Data), `"mine"`, "data whose memory the caller has changed")
				}
			}
		}},
		{"an item that is put again has no effect", func(p *probe) {
			p.create(session.New{ID: "a"})
			first := p.put(p.Store, "a", prompt("1"))
			p.put(p.Store, "a", prompt("2"))
			other := p.another()
			again := prompt("1")
			again.Data = json.RawMessage(`"other"`)
			p.sameItem(p.put(other, "a", again), first, "Put of the same id")
			p.inboxHas(p.Store, "a", "1", "2")
			l := p.acquire("a", "me")
			head, err := p.takes(p.Store, l, 0, first.Ref())
			p.ok(err, "Append that consumes an item")
			gone := p.put(other, "a", prompt("1"))
			equal(p, gone.State, session.ItemConsumed, "the state of an item that is put again after it was consumed")
			p.inboxHas(p.Store, "a", "2")
			equal(p, p.get("a").Waiting, int64(1), "how many items wait")
			_, err = p.takes(p.Store, l, head, first.Ref())
			p.is(err, session.ErrConsumed, "a second consumption")
		}},
		{"any process puts items, whoever has the session", func(p *probe) {
			p.create(session.New{ID: "a"})
			l := p.acquire("a", "the editor")
			other := p.another()
			for n := range 3 {
				p.put([]session.Store{other, p.Store}[n%2], "a", prompt(fmt.Sprint(n)))
			}
			p.inboxHas(p.Store, "a", "0", "1", "2")
			p.inboxHas(other, "a", "0", "1", "2")
			_, err := p.Append(p.ctx, l, 0, batch(text("x")))
			p.ok(err, "Append after others have put items")
			_, err = other.Put(p.ctx, "b", prompt("1"))
			p.is(err, session.ErrNotFound, "Put to a session that does not exist")
			_, err = other.Change(p.ctx, "b", "1", 1, nil)
			p.is(err, session.ErrNotFound, "Change in a session that does not exist")
			for _, err := range other.Items(p.ctx, "b", 0) {
				p.is(err, session.ErrNotFound, "Items of a session that does not exist")
			}
		}},
		{"an item is changed in the version that was seen, and removed", func(p *probe) {
			p.create(session.New{ID: "a"})
			other := p.another()
			i := p.put(p.Store, "a", prompt("1"))
			p.put(p.Store, "a", prompt("2"))
			changed, err := other.Change(p.ctx, "a", "1", 1, json.RawMessage(` "new"`))
			p.ok(err, "Change")
			want := i
			want.Version, want.Rev, want.Data = 2, 3, json.RawMessage(` "new"`)
			p.sameItem(changed, want, "Change")
			p.inboxHas(p.Store, "a", "2", "1")
			now, err := p.Store.Change(p.ctx, "a", "1", 1, json.RawMessage(`"newer"`))
			equal(p, p.is(err, session.ErrChanged, "Change of an old version").Item, "1", "the item that the error names")
			p.sameItem(now, want, "the item that an old version is refused with")
			l := p.acquire("a", "me")
			_, err = p.takes(p.Store, l, 0, i.Ref())
			equal(p, p.is(err, session.ErrChanged, "consumption of an old version").Item, "1", "the item that the error names")
			_, err = p.Change(p.ctx, "a", "3", 1, nil)
			p.is(err, session.ErrNoItem, "Change of an item that was never there")
			removed, err := p.Change(p.ctx, "a", "1", 2, nil)
			p.ok(err, "Change that removes")
			want.State, want.Data, want.Rev = session.ItemRemoved, nil, 4
			p.sameItem(removed, want, "Change that removes")
			for _, data := range []json.RawMessage{nil, json.RawMessage(`1`)} {
				now, err := other.Change(p.ctx, "a", "1", 2, data)
				p.is(err, session.ErrConsumed, "Change of an item that was removed")
				equal(p, now.State, session.ItemRemoved, "the state of the item that it is refused with")
			}
			p.inboxHas(p.Store, "a", "2")
			equal(p, p.get("a").Waiting, int64(1), "how many items wait")
			equal(p, p.put(p.Store, "a", prompt("1")).State, session.ItemRemoved, "the state of a removed item that is put again")
		}},
		{"items are consumed with the entries that they cause, or not at all", func(p *probe) {
			p.create(session.New{ID: "a"})
			l := p.acquire("a", "me")
			one, two := p.put(p.Store, "a", prompt("1")), p.put(p.Store, "a", prompt("2"))
			bad := []struct {
				what string
				err  error
				refs []session.Ref
			}{
				{"an item that was never there", session.ErrNoItem, []session.Ref{one.Ref(), {ID: "3", Version: 1}}},
				{"another version", session.ErrChanged, []session.Ref{one.Ref(), {ID: "2", Version: 2}}},
				{"an item twice", session.ErrInvalid, []session.Ref{one.Ref(), one.Ref()}},
				{"an item without an id", session.ErrInvalid, []session.Ref{{Version: 1}}},
			}
			for _, b := range bad {
				_, err := p.takes(p.Store, l, 0, b.refs...)
				p.is(err, b.err, "consumption of %s", b.what)
			}
			_, err := p.takes(p.Store, l, 7, one.Ref())
			p.is(err, session.ErrHeadMoved, "consumption with another head")
			_, err = p.takes(p.Store, session.Lease{Session: "a", Token: l.Token - 1}, 0, one.Ref())
			p.is(err, session.ErrLeaseLost, "consumption with another lease")
			invalid := session.Batch{Consumed: []session.Ref{one.Ref()}, Entries: []session.Entry{{Kind: "x", Data: json.RawMessage(`{`)}}}
			_, err = p.Append(p.ctx, l, 0, invalid)
			p.is(err, session.ErrInvalid, "consumption with an invalid entry")
			p.holds("a")
			p.inboxHas(p.Store, "a", "1", "2")
			equal(p, p.get("a").Waiting, int64(2), "how many items wait after batches that failed")
			head, err := p.takes(p.Store, l, 0, two.Ref(), one.Ref())
			p.ok(err, "Append that consumes two items")
			equal(p, head, int64(2), "the head")
			p.holds("a", "2", "1")
			p.inboxHas(p.another(), "a")
			three := p.put(p.Store, "a", prompt("3"))
			head, err = p.Append(p.ctx, l, 2, session.Batch{Consumed: []session.Ref{three.Ref()}})
			p.ok(err, "Append that only consumes")
			equal(p, head, int64(2), "the head after it")
			p.inboxHas(p.Store, "a")
			equal(p, p.get("a").Waiting, int64(0), "how many items wait")
		}},
		{"notes wait for nobody", func(p *probe) {
			p.create(session.New{ID: "a"})
			note := p.put(p.Store, "a", session.Item{ID: "score", Kind: session.ItemNote, Data: json.RawMessage(`{"score":1}`)})
			p.put(p.Store, "a", prompt("1"))
			equal(p, p.get("a").Waiting, int64(1), "how many items wait beside a note")
			l := p.acquire("a", "me")
			_, err := p.takes(p.Store, l, 0, note.Ref())
			p.is(err, session.ErrInvalid, "consumption of a note")
			waiting, err := session.Waiting(p.ctx, p.Store, "a")
			p.ok(err, "Waiting")
			if len(waiting) != 1 || waiting[0].ID != "1" {
				p.report("%d items wait, want the prompt only", len(waiting))
			}
			_, err = p.Change(p.ctx, "a", "score", 1, json.RawMessage(`{"score":2}`))
			p.ok(err, "Change of a note")
			if notes := p.items(p.another(), "a", 0, session.ItemNote, "other"); len(notes) != 1 || string(notes[0].Data) != `{"score":2}` {
				p.report("there are %d notes, want one with the score 2", len(notes))
			}
			_, err = p.Change(p.ctx, "a", "score", 2, nil)
			p.ok(err, "Change that removes a note")
			equal(p, p.get("a").Waiting, int64(1), "how many items wait")
			p.inboxHas(p.Store, "a", "1")
		}},
		{"an inbox can be followed", func(p *probe) {
			p.create(session.New{ID: "a"})
			l := p.acquire("a", "me")
			const many = 700 // more than a page
			for n := range many {
				p.put(p.Store, "a", prompt(fmt.Sprint(n)))
			}
			all := p.items(p.Store, "a", 0)
			if len(all) != many || !slices.IsSortedFunc(all, func(a, b session.Item) int { return cmp.Compare(a.Rev, b.Rev) }) {
				p.stop("Items yields %d items, want %d in order", len(all), many)
			}
			last := all[many-1].Rev
			_, err := p.takes(p.Store, l, 0, all[1].Ref())
			p.ok(err, "Append that consumes")
			_, err = p.Change(p.ctx, "a", "2", 1, nil)
			p.ok(err, "Change that removes")
			_, err = p.Change(p.ctx, "a", "0", 1, json.RawMessage(`"new"`))
			p.ok(err, "Change")
			p.put(p.Store, "a", prompt("new"))
			var got []string
			for _, i := range p.items(p.another(), "a", last) {
				got = append(got, i.ID+" "+string(i.State))
				if i.Rev <= last {
					p.report("the item %s has the Rev %d, want more than %d", i.ID, i.Rev, last)
				}
				last = i.Rev
			}
			if want := []string{"1 consumed", "2 removed", "0 ", "new "}; !slices.Equal(got, want) {
				p.report("the changes are %q, want %q", got, want)
			}
			if again := p.items(p.Store, "a", last); len(again) != 0 {
				p.report("there are %d changes after the last one", len(again))
			}
			equal(p, len(p.items(p.Store, "a", 0)), many-1, "the items that are left")
			equal(p, len(p.items(p.Store, "a", -1)), many+1, "all items")
		}},
		{"inboxes end with their sessions, and forks have their own", func(p *probe) {
			p.create(session.New{ID: "a"})
			p.put(p.Store, "a", prompt("1"))
			p.fork("a", 0, session.New{ID: "b"})
			p.inboxHas(p.Store, "b")
			equal(p, p.get("b").Waiting, int64(0), "how many items wait in the fork")
			equal(p, p.put(p.Store, "b", prompt("1")).Pos, int64(1), "the place of the first item of a fork")
			p.ok(p.Delete(p.ctx, "a"), "Delete")
			p.create(session.New{ID: "a"})
			p.inboxHas(p.Store, "a")
			equal(p, p.put(p.Store, "a", prompt("1")).State, session.ItemWaiting, "the state of an item with an id that a session of the same name had")
			p.inboxHas(p.Store, "b", "1")
		}},
	}, inboxRaces()...)
}

// inboxRaces are the rules about inboxes that many use.
func inboxRaces() []rule {
	return []rule{
		{"of many that consume an item one does", func(p *probe) {
			p.create(session.New{ID: "a"})
			l := p.acquire("a", "me")
			i := p.put(p.Store, "a", prompt("1"))
			stores := []session.Store{p.Store, p.another()}
			var all sync.WaitGroup
			var made atomic.Int64
			for n := range 8 {
				all.Go(func() {
					var err error
					if n < 4 {
						_, err = stores[n%2].Append(p.ctx, l, 0, session.Batch{Consumed: []session.Ref{i.Ref()}})
					} else {
						_, err = stores[n%2].Change(p.ctx, "a", "1", 1, nil)
					}
					switch {
					case err == nil:
						made.Add(1)
					case !errors.Is(err, session.ErrConsumed):
						p.report("consumption: %v", err)
					}
				})
			}
			all.Wait()
			equal(p, made.Load(), 1, "how many have consumed or removed the item")
		}},
		{"many can put items at once", func(p *probe) {
			p.create(session.New{ID: "a"})
			stores := []session.Store{p.Store, p.another()}
			const senders, each = 8, 12
			var all sync.WaitGroup
			for n := range senders {
				all.Go(func() {
					last := int64(0)
					for i := range each {
						got, err := stores[n%2].Put(p.ctx, "a", prompt(fmt.Sprint(n, ".", i)))
						if err != nil || got.Pos <= last {
							p.report("Put: %v, place %d after %d", err, got.Pos, last)
							return
						}
						last = got.Pos
					}
				})
			}
			all.Wait()
			waiting, err := session.Waiting(p.ctx, p.Store, "a")
			p.ok(err, "Waiting")
			equal(p, len(waiting), senders*each, "how many items wait")
			next := map[string]int{}
			for _, i := range waiting {
				from, nth, _ := strings.Cut(i.ID, ".")
				equal(p, nth, fmt.Sprint(next[from]), "the next item of sender %s", from)
				next[from]++
			}
			for n, i := range waiting {
				equal(p, i.Pos, int64(n+1), "the place of an item")
			}
		}},
		{"invalid items are refused", func(p *probe) {
			p.create(session.New{ID: "a"})
			for _, i := range []session.Item{
				{ID: "1"},
				{ID: strings.Repeat("x", 257), Kind: session.ItemPrompt},
				{ID: "a\nb", Kind: session.ItemPrompt},
				{ID: "\xff", Kind: session.ItemPrompt},
				{ID: "1", Kind: session.ItemPrompt, By: "\xff"},
				{ID: "1", Kind: session.ItemPrompt, Data: json.RawMessage(`{`)},
				{ID: "1", Kind: session.ItemPrompt, Time: time.Unix(0, -1)},
			} {
				_, err := p.Put(p.ctx, "a", i)
				p.is(err, session.ErrInvalid, "Put of %.60q", fmt.Sprintf("%+v", i))
			}
			p.put(p.Store, "a", prompt("1"))
			_, err := p.Change(p.ctx, "a", "1", 1, json.RawMessage(`{`))
			p.is(err, session.ErrInvalid, "Change to what is no JSON")
			ended, cancel := context.WithCancel(p.ctx)
			cancel()
			_, err = p.Put(ended, "a", prompt("2"))
			p.is(err, context.Canceled, "Put with a context that has ended")
			_, err = p.Change(ended, "a", "1", 1, nil)
			p.is(err, context.Canceled, "Change with a context that has ended")
			for _, err := range p.Items(ended, "a", 0) {
				p.is(err, context.Canceled, "Items with a context that has ended")
			}
			p.inboxHas(p.Store, "a", "1")
		}},
	}
}
