// SPDX-License-Identifier: Apache-2.0

package sessiontest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ponte-go/ponte/agent/session"
)

// watched collects what a watch yields, until the channel is closed.
type watched struct {
	entry session.Entry
	err   error
}

// watch watches a session in a goroutine that ends with ctx. What comes then need not be read.
func watch(ctx context.Context, w session.Watcher, id string, after int64) <-chan watched {
	seen := make(chan watched, 1)
	go func() {
		defer close(seen)
		for e, err := range w.Watch(ctx, id, after) {
			select {
			case seen <- watched{e, err}:
			case <-ctx.Done():
				select {
				case seen <- watched{e, err}:
				default:
				}
			}
		}
	}()
	return seen
}

// next returns the next entry that a watch yields.
func (p *probe) next(seen <-chan watched) watched {
	select {
	case w := <-seen:
		return w
	case <-p.ctx.Done():
		p.stop("the watch yields nothing: %v", context.Cause(p.ctx))
		return watched{}
	}
}

// listen listens in a goroutine that ends with ctx.
func listen(ctx context.Context, w session.Watcher) <-chan string {
	told := make(chan string)
	go func() {
		for id, err := range w.Listen(ctx) {
			if err != nil {
				return
			}
			select {
			case told <- id:
			case <-ctx.Done():
			}
		}
	}()
	return told
}

// told returns the next session that is told.
func (p *probe) told(told <-chan string) string {
	select {
	case id := <-told:
		return id
	case <-p.ctx.Done():
		p.stop("no change is told: %v", context.Cause(p.ctx))
		return ""
	}
}

// quiet waits until nothing more is told: a change may be told twice.
func (p *probe) quiet(told <-chan string) {
	for {
		select {
		case <-told:
		case <-time.After(calm):
			return
		}
	}
}

// watchRules are about stores that can be watched.
func watchRules() []rule {
	return []rule{
		{"a watch yields what is there and what comes", func(p *probe) {
			other := p.another()
			w, ok := p.Store.(session.Watcher)
			if !ok {
				return
			}
			p.create(session.New{ID: "a"})
			l := p.acquire("a", "me")
			p.append(l, text("1"), text("2"))
			ctx, cancel := context.WithCancel(p.ctx)
			defer cancel()
			seen := watch(ctx, w, "a", 1)
			equal(p, textOf(p.next(seen).entry), "2", "the first entry after the position")
			head := int64(2)
			for i, s := range []session.Store{p.Store, other, p.Store} {
				var err error
				head, err = s.Append(p.ctx, l, head, batch(text(fmt.Sprint(i))))
				p.ok(err, "Append")
				got := p.next(seen)
				p.ok(got.err, "Watch")
				equal(p, textOf(got.entry), fmt.Sprint(i), "an entry that was appended while the session was watched")
				equal(p, got.entry.Seq, head, "its number")
			}
			cancel()
			for got := range seen {
				if !errors.Is(got.err, context.Canceled) {
					p.report("a watch that has ended yields %s, %v", entry(got.entry), got.err)
				}
			}
		}},
		{"changes of every session are told", func(p *probe) {
			other := p.another()
			w, ok := p.Store.(session.Watcher)
			if !ok {
				return
			}
			p.create(session.New{ID: "a"})
			ctx, cancel := context.WithCancel(p.ctx)
			defer cancel()
			told := listen(ctx, w)
			equal(p, p.told(told), "", "the first id")
			var l session.Lease
			var head int64
			item, before := session.Ref{ID: "1", Version: 1}, ""
			for _, s := range []session.Store{p.Store, other} {
				steps := []struct {
					what, id string
					do       func() error
				}{
					{"Acquire", "a", func() (err error) {
						l, err = s.Acquire(p.ctx, "a", session.Claim{Holder: "me"})
						return err
					}},
					{"Append", "a", func() (err error) {
						head, err = s.Append(p.ctx, l, head, batch(text("1")))
						return err
					}},
					{"Put", "a", func() error { _, err := s.Put(p.ctx, "a", prompt(item.ID)); return err }},
					{"Change", "a", func() error {
						_, err := s.Change(p.ctx, "a", item.ID, 1, json.RawMessage(`1`))
						item.Version = 2
						return err
					}},
					{"consumption", "a", func() (err error) { head, err = p.takes(s, l, head, item); return err }},
					{"Release", "a", func() error { return s.Release(p.ctx, l) }},
					{"Update", "a", func() error {
						_, err := s.Update(p.ctx, "a", session.Change{Title: &item.ID})
						return err
					}},
					{"Create", "b", func() error { _, err := s.Create(p.ctx, session.New{ID: "b"}); return err }},
					{"Fork", "c", func() error { _, err := s.Fork(p.ctx, "a", 0, session.New{ID: "c"}); return err }},
					{"Delete", "b", func() error { return s.Delete(p.ctx, "b") }},
					{"another Delete", "c", func() error { return s.Delete(p.ctx, "c") }},
				}
				for _, step := range steps {
					p.quiet(told)
					p.ok(step.do(), "%s", step.what)
					got := p.told(told)
					for got == before && got != "" && got != step.id { // again, and late
						got = p.told(told)
					}
					before = step.id
					if got != step.id && got != "" {
						p.report("after %s the session %q is told, want %q", step.what, got, step.id)
					}
				}
				item = session.Ref{ID: "2", Version: 1}
			}
		}},
		{"sessions with work that nobody holds are named", func(p *probe) {
			w, ok := p.Store.(session.Watcher)
			if !ok {
				return
			}
			work := func(want ...string) {
				var got []string
				for id, err := range w.Work(p.ctx) {
					p.ok(err, "Work")
					got = append(got, id)
				}
				slices.Sort(got)
				if !slices.Equal(got, want) {
					p.report("the sessions with work are %q, want %q", got, want)
				}
			}
			for _, id := range []string{"a", "b", "c"} {
				p.create(session.New{ID: id})
			}
			work()
			one, two := p.put(p.Store, "a", prompt("1")), p.put(p.another(), "b", prompt("1"))
			p.put(p.Store, "c", session.Item{Kind: session.ItemNote})
			work("a", "b")
			l := p.acquire("a", "me")
			work("b")
			_, err := p.takes(p.Store, l, 0, one.Ref())
			p.ok(err, "consumption")
			p.ok(p.Release(p.ctx, l), "Release")
			work("b")
			_, err = p.Change(p.ctx, "b", two.ID, 1, nil)
			p.ok(err, "removal")
			work()
		}},
		{"a watch ends when the session is deleted", func(p *probe) {
			w, ok := p.Store.(session.Watcher)
			if !ok {
				return
			}
			p.is(firstError(w.Watch(p.ctx, "a", 0)), session.ErrNotFound, "Watch of a session that does not exist")
			p.create(session.New{ID: "a"})
			ctx, cancel := context.WithCancel(p.ctx)
			defer cancel()
			seen := watch(ctx, w, "a", 0)
			p.ok(p.Delete(p.ctx, "a"), "Delete")
			p.is(p.next(seen).err, session.ErrNotFound, "Watch of a session that was deleted")
		}},
	}
}

func firstError(seq func(func(session.Entry, error) bool)) (found error) {
	seq(func(_ session.Entry, err error) bool {
		found = err
		return err == nil
	})
	return found
}
