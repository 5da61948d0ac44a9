// SPDX-License-Identifier: Apache-2.0

package sessiontest

import (
	"context"
	"errors"
	"fmt"

	"github.com/ponte-go/ponte/agent/session"
)

// watched collects what a watch yields, until the channel is closed.
type watched struct {
	entry session.Entry
	err   error
}

// watch watches a session in a goroutine that ends with ctx.
func watch(ctx context.Context, w session.Watcher, id string, after int64) <-chan watched {
	seen := make(chan watched)
	go func() {
		defer close(seen)
		for e, err := range w.Watch(ctx, id, after) {
			select {
			case seen <- watched{e, err}:
			case <-ctx.Done():
				if err == nil {
					continue // the sequence ends with the context's error
				}
				seen <- watched{e, err}
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
				if got.err == nil || !errors.Is(got.err, context.Canceled) {
					p.report("a watch whose context has ended yields %+v, %v", got.entry, got.err)
				}
			}
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
