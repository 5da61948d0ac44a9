// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
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
	s, done, err := h.Use(r.Context(), r.PathValue("id"))
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
	out := h.Stream(w)
	ctx, cancel := context.WithCancel(r.Context())
	updates := make(chan *host.Update)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	var ended error
	watching.Go(func() {
		defer close(updates)
		for u, err := range s.Watch(ctx, from) {
			if err != nil {
				ended = err
				return
			}
			select {
			case updates <- u:
			case <-ctx.Done():
				return
			}
		}
	})
	h.follow(ctx, s, out, from, updates, &ended)
	return nil
}

// follow writes the events of a stream until it ends. ended is valid when updates is closed.
func (h *Handler) follow(ctx context.Context, s *Session, out *Stream, at string, updates <-chan *host.Update, ended *error) {
	idle := time.NewTimer(keepAlive)
	defer idle.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	var ready <-chan *host.Update // nil during the pause after an update
	ending, last := h.ending, ""  // what is there is sent before the stream ends; the sessions of a host of ours are closed, which ends it
	var err error
	running, flipped := h.isRunning(s.live)
	out.state(running)
	for out.err == nil {
		if ending == nil && !h.own && (err != nil || at == last) {
			out.end(errClosing)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ending:
			ending, ready = nil, updates
			if !h.own { // the host goes on
				_, last, err = s.Snapshot(ctx)
			}
		case <-pause.C:
			ready = updates
		case <-flipped:
			was := running
			if running, flipped = h.isRunning(s.live); running != was {
				out.state(running)
			}
		case <-idle.C:
			out.comment()
			idle.Reset(keepAlive)
		case u, ok := <-ready:
			if !ok {
				switch {
				case ctx.Err() != nil:
				case h.isClosing():
					out.end(errClosing)
				default:
					out.end(h.explain(*ended))
				}
				return
			}
			at = out.update(u, at)
			if ending != nil {
				ready = nil
			}
			pause.Reset(frame)
			idle.Reset(keepAlive)
		}
	}
}

// Stream writes server-sent events to a client. A client that takes too long is disconnected. It is for one goroutine.
type Stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	counts  *counts
	err     error
}

// Stream begins a stream of server-sent events.
func (h *Handler) Stream(w http.ResponseWriter) *Stream {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // for nginx, which would hold events back
	w.WriteHeader(http.StatusOK)
	return &Stream{w: w, control: http.NewResponseController(w), timeout: h.o.Limits.WriteTime, counts: &h.counts}
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// Write sends the bytes that fill appends to a buffer. Err returns the error, if any.
func (s *Stream) Write(fill func(b []byte) []byte) {
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

// Err returns the error that ended the stream, if any.
func (s *Stream) Err() error { return s.err }

func (s *Stream) comment() { s.Write(func(b []byte) []byte { return append(b, ":\n\n"...) }) }

func (s *Stream) state(running bool) {
	s.Write(func(b []byte) []byte {
		if running {
			return append(b, "event: state\ndata: {\"running\":true}\n\n"...)
		}
		return append(b, "event: state\ndata: {\"running\":false}\n\n"...)
	})
}

func (s *Stream) end(err *Error) {
	s.Write(func(b []byte) []byte {
		data, _ := json.Marshal(map[string]any{"error": err}) // it is made of strings
		return append(append(append(b, "event: end\ndata: "...), data...), "\n\n"...)
	})
}

// update writes an update, and returns the position after it. One that is large is several events: those before the last have the position
// before the update and no id, so that a client that has lost the connection between them gets the update again.
func (s *Stream) update(u *host.Update, at string) string {
	reset, more := u.Reset, true
	for i := 0; more; reset = false {
		s.Write(func(b []byte) []byte {
			begin := len(b)
			b = append(b, "event: update\ndata: {\"changes\":["...)
			for first := true; i < len(u.Changes) && (first || len(b)-begin < maxEvent); i++ {
				if !first {
					b = append(b, ',')
				}
				first = false
				b = appendChange(b, &u.Changes[i])
			}
			if more = i < len(u.Changes); !more {
				at = u.Position
			}
			b = append(b, "],\"position\":"...)
			b = appendJSON(b, at)
			b = append(b, ",\"reset\":"...)
			b = appendJSON(b, reset)
			b = append(b, "}\n"...)
			if !more {
				b = append(append(append(b, "id: "...), at...), '\n')
			}
			return append(b, '\n')
		})
	}
	return at
}

// appendChange appends a change as JSON. One that appends has what is new, and not the whole entity.
func appendChange(b []byte, c *view.Change) []byte {
	change := *c
	change.Pos = 0
	if c.Op == view.Append {
		change.Entity = nil
	}
	return appendJSON(b, change)
}

func appendJSON(b []byte, v any) []byte {
	data, err := json.Marshal(v)
	if err != nil { // raw JSON of a tool or a client that is none
		data = []byte(`{"op":"append","id":"invalid"}`)
	}
	return append(b, data...)
}
