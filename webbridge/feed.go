// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/plainjson"
)

// maxFollowed is how many sessions one stream follows. Their ids and positions fit into an address.
const maxFollowed = 100

// getFeed is one stream for all that a browser shows: several sessions, and the list. It keeps
// nothing for the client, which names
// the sessions and its positions each time, so any server goes on with it.
func (h *Handler) getFeed(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet { // HEAD would hold a stream that nobody reads
		return refuse(KindInvalid, "use GET")
	}
	if h.isClosing() {
		return errClosing
	}
	query := r.URL.Query()
	ids, from := query["follow"], query["from"]
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		from = strings.Split(last, ",")
	}
	if len(ids) > maxFollowed {
		return refuse(KindInvalid, "follow is there %d times: a stream follows at most %d sessions", len(ids), maxFollowed)
	}
	if len(from) > 0 && len(from) != len(ids) {
		return refuse(KindInvalid, "there are %d positions for %d sessions: use from once for each follow, or not at all", len(from), len(ids))
	}
	listed, err := strconv.ParseBool(query.Get("list"))
	if err != nil && query.Has("list") {
		return refuse(KindInvalid, "list is %q: use true or false", query.Get("list"))
	}
	done, err := h.streaming(User(r.Context()))
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithCancel(r.Context())
	f := &feed{h: h, out: h.stream(w), ready: make(chan *followed, len(ids)), at: make([]string, len(ids))}
	copy(f.at, from)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for place, id := range ids {
		one := &followed{feed: f, place: place, id: id, taken: make(chan struct{}, 1)}
		f.open++
		all.Go(func() { one.run(ctx) })
	}
	var list *listener
	if listed {
		list = h.listen(User(r.Context()))
		defer h.unlisten(list)
	}
	f.write(ctx, list)
	return nil
}

// feed is a stream that follows several sessions.
type feed struct {
	h     *Handler
	out   *eventStream
	ready chan *followed // that have something to show
	at    []string       // the positions of the client
	open  int            // sessions that are still followed
}

// followed is a session that a feed follows. It belongs to its goroutine, and to that of the
// feed from ready to taken.
type followed struct {
	*feed
	place int // in the query
	id    string
	s     *openSession
	f     *host.Follower
	taken chan struct{}

	running, shown bool
	took           bool // there was something to show
	end            *Error
}

// run follows the session until it ends.
func (f *followed) run(ctx context.Context) {
	err := f.follow(ctx)
	if ctx.Err() != nil {
		return
	}
	if f.end = f.h.explain(err); f.h.isClosing() {
		f.end = errClosing
	}
	f.give(ctx)
}

// give has the feed show the session. It reports false if the feed has ended.
func (f *followed) give(ctx context.Context) bool {
	f.ready <- f // which has room for all
	select {
	case <-f.taken:
		return true
	case <-ctx.Done():
		return false
	}
}

func (f *followed) follow(ctx context.Context) error {
	s, done, err := f.h.use(ctx, f.id)
	if err != nil {
		return err
	}
	defer done()
	ended, err := f.h.following(s)
	if err != nil {
		return err
	}
	defer ended()
	f.s = s
	if f.f, err = s.Session.Follow(ctx, f.at[f.place]); err != nil {
		return err
	}
	defer func() { f.f.Close() }()
	f.f.Reset = f.f.Reset || f.at[f.place] == ""
	for {
		running, moved := f.s.Working()
		flips := f.running != running || !f.shown
		f.running, f.shown = running, true
		if !f.give(ctx) {
			return context.Cause(ctx)
		}
		if !f.took && !flips {
			again, err := f.f.Again(ctx, f.f.Ended())
			if err != nil {
				return err
			}
			if again {
				continue
			}
		}
		select {
		case <-moved:
		case <-f.f.Changed():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// write writes the stream until it ends.
func (f *feed) write(ctx context.Context, list *listener) {
	p := newPace()
	defer p.stop()
	f.out.comment() // the headers are sent, although nothing may change for long
	var waiting []*followed
	ending, changed := f.h.ending, list.news()
	for f.out.err == nil {
		if p.ready && len(waiting) > 0 {
			f.show(waiting)
			waiting = waiting[:0]
			p.shown()
		}
		if ending == nil && (f.open == 0 || !f.h.own) {
			f.show(waiting)
			f.out.end(errClosing)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ending:
			ending = nil // the sessions of a host of ours are closed, which ends them
		case <-p.pause.C:
			p.ready = true
		case <-p.idle.C:
			f.out.comment()
			p.idle.Reset(keepAlive)
		case one := <-f.ready:
			waiting = append(waiting, one)
		case <-changed:
			f.out.list(list.take())
			p.idle.Reset(keepAlive)
		}
	}
}

// show writes what is new in sessions. An event is about several of them. A session whose news are
// many is in several events: all of them but the last say that there is more.
func (f *feed) show(all []*followed) {
	for len(all) > 0 && f.out.err == nil {
		f.out.Write(func(b []byte) []byte {
			begin := len(b)
			b = append(b, "event: sessions\ndata: {\"sessions\":["...)
			for first := true; len(all) > 0 && (first || len(b)-begin < maxEvent); first = false {
				if !first {
					b = append(b, ',')
				}
				var whole bool
				if b, whole = all[0].append(b, begin+maxEvent); whole {
					all[0].taken <- struct{}{}
					all = all[1:]
				}
			}
			return append(append(append(b, "]}\nid: "...), strings.Join(f.at, ",")...), "\n\n"...)
		})
	}
}

// append appends what is new in the session, up to a length. It reports whether that is all.
func (f *followed) append(b []byte, end int) (_ []byte, whole bool) {
	b = strconv.AppendInt(append(b, `{"follow":`...), int64(f.place), 10)
	if f.end != nil {
		f.open--
		f.at[f.place] = ""
		data := appendError(append(b, `,"end":`...), f.end)
		return append(data, '}'), true
	}
	if f.f.Reset {
		b = append(b, `,"reset":true`...)
	}
	b = append(b, `,"changes":[`...)
	f.took, whole = false, true
	for d := (view.Delta{}); f.f.Take(&d); {
		if f.took {
			b = append(b, ',')
		}
		f.took = true
		b = appendDelta(b, &d)
		if len(b) > end {
			whole = !f.f.Behind()
			break
		}
	}
	f.took, f.f.Reset = f.took || f.f.Reset, false
	b = append(b, ']')
	if !whole {
		return append(b, `,"more":true}`...), false
	}
	f.at[f.place] = f.f.Position()
	b = plainjson.AppendString(append(b, `,"position":`...), f.at[f.place])
	b = strconv.AppendBool(append(b, `,"running":`...), f.running)
	return append(b, '}'), true
}
