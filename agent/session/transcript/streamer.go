// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
)

// interval is how long text is collected before it is written.
const interval = 250 * time.Millisecond

// streamer writes the text of responses that are being streamed, in pieces, and the views of the
// turn. It writes on a separate goroutine, to keep a slow disk from blocking the run. Failed writes
// are dropped: the response will be recorded anyway.
type streamer struct {
	w   *session.Writer
	run string
	// views returns what was shown and has not been recorded.
	views func(run string) []session.Entry

	mu     sync.Mutex
	pieces []*growing
	step   int // of the pieces
	last   int // step with a recorded response
	timer  *time.Timer
	ended  bool
	// writing has an element while pieces are written.
	writing chan struct{}
}

// growing is a piece that is being collected.
type growing struct {
	part int
	kind model.PartKind
	text []byte
}

func (s *streamer) init(w *session.Writer, run string, views func(run string) []session.Entry) {
	s.w, s.run, s.views, s.writing = w, run, views, make(chan struct{}, 1)
}

func (s *streamer) observe(ev *agent.Event) {
	if ev.Kind != agent.EventPartDelta || ev.PartKind != model.PartText && ev.PartKind != model.PartThinking {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ev.Step <= s.last || s.ended {
		return
	}
	if ev.Step != s.step {
		s.step, s.pieces = ev.Step, nil
	}
	n := len(s.pieces)
	if n == 0 || s.pieces[n-1].part != ev.Part {
		s.pieces = append(s.pieces, &growing{part: ev.Part, kind: ev.PartKind})
		n++
	}
	s.pieces[n-1].text = append(s.pieces[n-1].text, ev.Text...)
	s.arm()
}

// arm sets the timer. mu is held.
func (s *streamer) arm() {
	if s.timer == nil && !s.ended {
		s.timer = time.AfterFunc(interval, s.write)
	}
}

// changed notes that there are views to write.
func (s *streamer) changed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arm()
}

// append appends entries behind the views that have not been written. It returns the number of the
// first entry.
func (s *streamer) append(ctx context.Context, entries ...session.Entry) (int64, error) {
	shown := 0
	first, err := s.w.Write(ctx, session.Batch{Entries: entries, Before: func() []session.Entry {
		views := s.views(s.run)
		shown = len(views)
		return views
	}})
	return first + int64(shown), err
}

// write writes the text that has been collected.
func (s *streamer) write() {
	s.writing <- struct{}{}
	defer func() { <-s.writing }()
	s.mu.Lock()
	s.timer = nil // what changes from here on sets it again
	var entries []session.Entry
	for _, p := range s.pieces {
		if data, err := json.Marshal(piece{p.part, p.kind, string(p.text)}); err == nil {
			entries = append(entries, session.Entry{
				Kind: session.KindView, Run: s.run, Key: responseKey(s.step), Data: data,
			})
		}
	}
	s.pieces = nil
	s.mu.Unlock()
	_, _ = s.append(context.Background(), entries...)
}

// answered reports that the response of a step is about to be recorded. When it returns, the
// response's text is no longer being written.
func (s *streamer) answered(step int) {
	s.mu.Lock()
	s.last = max(s.last, step)
	if s.step <= step {
		s.pieces = nil
	}
	s.mu.Unlock()
	s.writing <- struct{}{}
	<-s.writing
}

// unanswered returns the step whose text was streamed and whose response was not recorded, or 0.
func (s *streamer) unanswered() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.step > s.last {
		return s.step
	}
	return 0
}

// stop waits for what is being written, and leaves the rest.
func (s *streamer) stop() {
	s.mu.Lock()
	s.ended, s.pieces = true, nil
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	s.mu.Unlock()
	s.writing <- struct{}{}
	<-s.writing
}
