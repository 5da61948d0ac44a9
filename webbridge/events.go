// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/plainjson"
)

const (
	// keepAlive is the interval of comments in a stream without events. They keep proxies from
	// closing it and reveal dead clients.
	keepAlive = 15 * time.Second
	// frame is the time between two updates of a stream. What changes meanwhile becomes one update.
	frame = 15 * time.Millisecond
	// maxEvent is the size at which an update is split into several events, in bytes.
	maxEvent = 64 << 10
)

func (h *Handler) getEvents(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet { // HEAD would hold a stream that nobody reads
		return refuse(KindInvalid, "use GET")
	}
	if h.isClosing() {
		return errClosing
	}
	s, done, err := h.use(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	defer done()
	followed, err := h.following(s)
	if err != nil {
		return err
	}
	defer followed()
	from := r.Header.Get("Last-Event-ID")
	if from == "" {
		from = r.URL.Query().Get("from")
	}
	f, err := s.Session.Follow(r.Context(), from)
	if err != nil {
		return err
	}
	defer f.Close()
	h.follow(r.Context(), s, h.stream(w), f, from)
	return nil
}

// follow writes the events of a stream until it ends. at is the position of the client.
func (h *Handler) follow(ctx context.Context, s *openSession, out *eventStream, f *host.Follower, at string) {
	p := newPace()
	defer p.stop()
	var news []view.Delta
	show := func() {
		if news = taken(f.Cursor, news[:0]); len(news) > 0 {
			at = out.update(news, f.Reset, at, f.Position())
			f.Reset = false
			p.shown()
		}
	}
	ending := h.ending
	running, flipped := s.Working()
	out.state(running)
	show()
	for out.err == nil {
		select {
		case <-ctx.Done():
			return
		case <-ending:
			ending = nil
			if !h.own { // the host goes on. The sessions of one of ours are closed, which ends the stream
				show()
				out.end(errClosing)
				return
			}
		case <-p.pause.C:
			p.ready = true
		case <-flipped:
			was := running
			if running, flipped = s.Working(); running != was {
				out.state(running)
			}
		case <-p.idle.C:
			out.comment()
			p.idle.Reset(keepAlive)
		case <-p.changed(f, true):
			if show(); len(news) > 0 {
				continue
			}
			again, err := f.Again(ctx, f.Ended())
			switch {
			case again || err == nil:
			case h.isClosing():
				out.end(errClosing)
				return
			default:
				out.end(h.explain(err))
				return
			}
		}
	}
}

// eventStream writes server-sent events to a client. A client that takes too long is disconnected. It is for one goroutine.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	counts  *counts
	err     error
}

// stream begins a stream of server-sent events.
func (h *Handler) stream(w http.ResponseWriter) *eventStream {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // for nginx, which would hold events back
	w.WriteHeader(http.StatusOK)
	return &eventStream{w: w, control: http.NewResponseController(w), timeout: h.o.Limits.WriteTime, counts: &h.counts}
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// Write sends the bytes that fill appends to a buffer. Err returns the error, if any.
func (s *eventStream) Write(fill func(b []byte) []byte) {
	if s.err != nil {
		return
	}
	buffer := buffers.Get().(*[]byte)
	defer func() {
		if cap(*buffer) <= 4*maxEvent {
			buffers.Put(buffer)
		}
	}()
	*buffer = fill((*buffer)[:0])
	if s.timeout > 0 {
		_ = s.control.SetWriteDeadline(time.Now().Add(s.timeout)) // not supported by recorders of tests
	}
	if _, s.err = s.w.Write(*buffer); s.err == nil {
		s.err = s.control.Flush()
	}
	s.counts.sent.Add(int64(len(*buffer)))
}

// data sends a value as JSON, if it has a JSON form.
func (s *eventStream) data(v any) {
	data, err := json.Marshal(v)
	if err != nil {
		return
	}
	s.Write(func(b []byte) []byte { return append(append(append(b, "data: "...), data...), "\n\n"...) })
}

// Err returns the error that ended the stream, if any.
func (s *eventStream) Err() error { return s.err }

func (s *eventStream) comment() { s.Write(func(b []byte) []byte { return append(b, ":\n\n"...) }) }

func (s *eventStream) state(running bool) {
	s.Write(func(b []byte) []byte {
		if running {
			return append(b, "event: state\ndata: {\"running\":true}\n\n"...)
		}
		return append(b, "event: state\ndata: {\"running\":false}\n\n"...)
	})
}

func (s *eventStream) end(err *Error) {
	s.Write(func(b []byte) []byte {
		return append(appendError(append(b, "event: end\ndata: "...), err), "\n\n"...)
	})
}

func appendError(b []byte, err *Error) []byte {
	data, _ := json.Marshal(map[string]any{"error": err}) // it is made of strings
	return append(b, data...)
}

// update writes an update, which leads from one position to another, and returns the latter. One that is large is several
// events: all but the last have the position before the update, and no id. A client that loses the connection between them
// gets the update again.
func (s *eventStream) update(news []view.Delta, reset bool, from, to string) string {
	for more := true; more && s.err == nil; reset = false {
		s.Write(func(b []byte) []byte {
			begin, at := len(b), from
			b = append(b, "event: update\ndata: {\"changes\":["...)
			for first := true; len(news) > 0 && (first || len(b)-begin < maxEvent); news = news[1:] {
				if !first {
					b = append(b, ',')
				}
				first = false
				b = appendDelta(b, &news[0])
			}
			if more = len(news) > 0; !more {
				at = to
			}
			b = append(b, "],\"position\":"...)
			b = plainjson.AppendString(b, at)
			b = strconv.AppendBool(append(b, ",\"reset\":"...), reset)
			b = append(b, "}\n"...)
			if !more {
				b = append(append(append(b, "id: "...), at...), '\n')
			}
			return append(b, '\n')
		})
	}
	return to
}

// appendDelta appends a delta as a [view.Change] in JSON. One that appends has what is new, and not the whole entity.
func appendDelta(b []byte, d *view.Delta) []byte {
	begin := len(b)
	b = append(append(append(b, `{"op":"`...), d.Op...), `","id":`...)
	b = plainjson.AppendString(b, d.ID)
	member := func(name string, v any) {
		data, err := json.Marshal(v)
		if err != nil { // raw JSON of a tool or a client that is none
			b = append(b[:begin], `{"op":"append","id":"invalid"`...)
			return
		}
		b = append(append(b, name...), data...)
	}
	switch d.Op {
	case view.Upsert:
		member(`,"entity":`, d.Entity)
	case view.Append:
		if d.Text != "" {
			b = plainjson.AppendString(append(b, `,"text":`...), d.Text)
		}
		if len(d.Content) > 0 {
			member(`,"content":`, d.Content)
		}
	}
	return append(b, '}')
}
