// SPDX-License-Identifier: Apache-2.0

package deps

import (
	"context"
	"slices"
	"time"

	"github.com/ponte-go/ponte/agent/view"
)

// stream is the streamed text of a call. The tracker's mu guards it.
type stream struct {
	base  []view.Content // what the call shows before it
	text  tail
	sent  time.Time
	timer *time.Timer // sends what is left; nil if it is not set
	armed int         // counts timers
}

// content returns what the call shows with the text.
func (s *stream) content() []view.Content {
	return append(slices.Clip(s.base), view.Content{Kind: view.Text, Text: s.text.String()})
}

// take returns the content to send.
func (s *stream) take() []view.Content {
	s.text.fresh, s.sent = false, time.Now()
	s.stop()
	return s.content()
}

func (s *stream) stop() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

// drop forgets the streamed text of a call. mu is held.
func (t *Tracker) drop(id string) {
	if s := t.streams[id]; s != nil {
		s.stop()
		delete(t.streams, id)
	}
}

// append adds streamed text. It reports whether there is something to show now. If not, a timer is
// set.
func (t *Tracker) append(ctx context.Context, id, text string) (due bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known, _ := t.calls.Call(id)
	switch {
	case known == nil:
		return false, ErrUnknownToolCall
	case known.Status.Ended(): // its end may not have been sent yet
		return true, nil
	}
	s := t.streams[id]
	if s == nil {
		s = &stream{base: known.Content}
		t.streams[id] = s
	}
	s.text.write(text, t.opts.TextLimit)
	if wait := t.opts.TextInterval - time.Since(s.sent); wait > 0 {
		t.later(ctx, id, s, wait)
		return false, nil
	}
	return true, t.calls.Report(&view.Entity{ID: id, Content: s.take()}, false)
}

// later shows text after a while, unless ctx is done by then. mu is held.
func (t *Tracker) later(ctx context.Context, id string, s *stream, wait time.Duration) {
	if s.timer != nil {
		return
	}
	s.armed++
	armed := s.armed
	s.timer = time.AfterFunc(wait, func() {
		if t.due(ctx, id, s, armed) {
			_ = t.calls.Show(ctx) // on failure it goes out with the next report
		}
	})
}

// due reports the text that a timer was set for.
func (t *Tracker) due(ctx context.Context, id string, s *stream, armed int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.timer == nil || s.armed != armed {
		return false
	}
	s.timer = nil
	if ctx.Err() != nil {
		return false
	}
	return t.calls.Report(&view.Entity{ID: id, Content: s.take()}, false) == nil
}
