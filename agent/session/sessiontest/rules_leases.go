// SPDX-License-Identifier: Apache-2.0

package sessiontest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ponte-go/ponte/agent/session"
)

func (p *probe) acquireIn(s session.Store, id string) session.Lease {
	l, err := s.Acquire(p.ctx, id, session.Claim{Holder: "me"})
	p.ok(err, "Acquire(%q)", id)
	return l
}

// leaseRules are about who may append.
func leaseRules() []rule {
	return []rule{
		{"of two writers one is told who has the session", func(p *probe) {
			p.create(session.New{ID: "a"})
			first := p.acquire("a", "the editor")
			equal(p, first.Session, "a", "the session of the lease")
			equal(p, first.Holder, "the editor", "the holder of the lease")
			for n, s := range []session.Store{p.Store, p.another()} {
				_, err := s.Acquire(p.ctx, "a", session.Claim{Holder: "a browser"})
				e := p.is(err, session.ErrHeld, "Acquire in process %d", n)
				equal(p, e.Holder, "the editor", "the holder that the error names")
				if age := time.Since(e.Since); age < -time.Minute || age > time.Hour {
					p.report("the error says that the session is held since %v", e.Since)
				}
			}
			equal(p, p.get("a").Holder, "the editor", "the holder that Get names")
			p.append(first, text("1"))
			p.ok(p.Release(p.ctx, first), "Release")
			equal(p, p.get("a").Holder, "", "the holder after Release")
			const odd = "\x00\xff \ue0002ff\ue000"
			l := p.acquire("a", odd)
			equal(p, p.get("a").Holder, odd, "a holder whose name is not UTF-8")
			p.ok(p.Release(p.ctx, l), "Release")
			other := p.another()
			second, err := other.Acquire(p.ctx, "a", session.Claim{Holder: "a browser"})
			p.ok(err, "Acquire in another process after Release")
			equal(p, second.Head, int64(1), "the head that the lease says")
			if second.Token <= first.Token {
				p.report("the second lease has the token %d, the first had %d", second.Token, first.Token)
			}
			_, err = other.Append(p.ctx, second, 1, batch(text("2")))
			p.ok(err, "Append with the second lease")
			p.holds("a", "1", "2")
		}},
		{"an update leaves the session to who has it", func(p *probe) {
			p.create(session.New{ID: "a"})
			update := func(when, holder string) {
				title := when
				i, err := p.Update(p.ctx, "a", session.Change{Title: &title})
				p.ok(err, "Update %s", when)
				equal(p, i.Holder, holder, "the holder that Update names %s", when)
				equal(p, p.get("a").Holder, holder, "the holder after Update %s", when)
			}
			for _, holder := range []string{"me", ""} {
				l := p.acquire("a", holder)
				update(fmt.Sprintf("while %q holds it", holder), holder)
				p.append(l, text(holder))
				p.ok(p.Release(p.ctx, l), "Release")
				update(fmt.Sprintf("after %q has released it", holder), "")
			}
			p.acquire("a", "another")
			p.holds("a", "me", "")
		}},
		{"a lease that has ended never appends", func(p *probe) {
			p.create(session.New{ID: "a"})
			other := p.another()
			var ended []session.Lease
			head := int64(0)
			for n := range 4 {
				s := []session.Store{p.Store, other}[n%2]
				l, err := s.Acquire(p.ctx, "a", session.Claim{Holder: fmt.Sprint("writer ", n), Force: n%3 != 0})
				p.ok(err, "Acquire by force")
				for _, old := range ended {
					for _, s := range []session.Store{p.Store, other} {
						_, err := s.Append(p.ctx, old, head, batch(text("old")))
						e := p.is(err, session.ErrLeaseLost, "Append with an old lease")
						equal(p, e.Holder, l.Holder, "the holder that the error names")
						p.is(s.Release(p.ctx, old), session.ErrLeaseLost, "Release of an old lease")
					}
				}
				head, err = s.Append(p.ctx, l, head, batch(text(fmt.Sprint(n))))
				p.ok(err, "Append with the latest lease")
				ended = append(ended, l)
				if n == 2 {
					p.ok(s.Release(p.ctx, l), "Release")
					_, err := s.Append(p.ctx, l, head, batch(text("old")))
					p.is(err, session.ErrLeaseLost, "Append after Release")
					p.is(s.Release(p.ctx, l), session.ErrLeaseLost, "a second Release")
				}
			}
			p.holds("a", "0", "1", "2", "3")
		}},
		{"an append that expects another head is refused", func(p *probe) {
			p.create(session.New{ID: "a"})
			l := p.acquire("a", "me")
			p.append(l, text("1"), text("2"))
			for _, head := range []int64{0, 1, 3, -1} {
				_, err := p.Append(p.ctx, l, head, batch(text("x")))
				e := p.is(err, session.ErrHeadMoved, "Append at head %d", head)
				equal(p, e.Head, int64(2), "the head that the error says")
			}
			p.holds("a", "1", "2")
		}},
		{"of many appends at one head one is made", func(p *probe) {
			p.create(session.New{ID: "a"})
			l := p.acquire("a", "me")
			stores := []session.Store{p.Store, p.another()}
			const rounds, writers = 5, 8
			for round := range rounds {
				var all sync.WaitGroup
				var made atomic.Int64
				for n := range writers {
					all.Go(func() {
						_, err := stores[n%2].Append(p.ctx, l, int64(round), batch(text(fmt.Sprint(round))))
						switch {
						case err == nil:
							made.Add(1)
						case !errors.Is(err, session.ErrHeadMoved):
							p.report("Append: %v", err)
						}
					})
				}
				all.Wait()
				equal(p, made.Load(), 1, "how many of %d appends at one head were made", writers)
			}
			p.holds("a", "0", "1", "2", "3", "4")
		}},
		{"of many that acquire a session one gets it", func(p *probe) {
			p.create(session.New{ID: "a"})
			stores := []session.Store{p.Store, p.another()}
			var all sync.WaitGroup
			var got atomic.Int64
			for n := range 8 {
				all.Go(func() {
					_, err := stores[n%2].Acquire(p.ctx, "a", session.Claim{Holder: fmt.Sprint(n)})
					switch {
					case err == nil:
						got.Add(1)
					case !errors.Is(err, session.ErrHeld):
						p.report("Acquire: %v", err)
					}
				})
			}
			all.Wait()
			equal(p, got.Load(), 1, "how many have got the session")
		}},
		{"a session that is held is not deleted", func(p *probe) {
			p.create(session.New{ID: "a"})
			l := p.acquire("a", "the editor")
			p.append(l, text("1"))
			for _, s := range []session.Store{p.Store, p.another()} {
				e := p.is(s.Delete(p.ctx, "a"), session.ErrHeld, "Delete")
				equal(p, e.Holder, "the editor", "the holder that the error names")
			}
			p.holds("a", "1")
			p.append(l, text("2"))
			p.ok(p.Release(p.ctx, l), "Release")
			p.ok(p.Delete(p.ctx, "a"), "Delete after Release")
		}},
	}
}
