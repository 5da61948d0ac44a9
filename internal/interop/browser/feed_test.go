// SPDX-License-Identifier: Apache-2.0

//go:build unix

package browser_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/view"
)

// mockFeed is a stream of several sessions.
type mockFeed struct {
	mu sync.Mutex
	w  http.ResponseWriter
	at []string
}

func (f *mockFeed) event(kind, id string, data any) {
	text, _ := json.Marshal(data)
	fmt.Fprintf(f.w, "event: %s\ndata: %s\n%s\n", kind, text, id)
	_ = http.NewResponseController(f.w).Flush()
}

func (m *mock) feed(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	query := r.URL.Query()
	ids, from := query["follow"], query["from"]
	f := &mockFeed{w: w, at: make([]string, len(ids))}
	copy(f.at, from)
	m.note("events from %q", strings.Join(f.at, ","))
	defer m.note("end of events")
	fmt.Fprint(w, ":\n\n")
	_ = http.NewResponseController(w).Flush()
	var all sync.WaitGroup
	defer all.Wait()
	for place, id := range ids {
		m.mu.Lock()
		s := m.sessions[id]
		m.mu.Unlock()
		if s == nil {
			e := map[string]string{"kind": "not_found", "message": "There is no session."}
			f.mu.Lock()
			f.event("sessions", "", map[string]any{"sessions": []any{map[string]any{"follow": place, "end": map[string]any{"error": e}}}})
			f.mu.Unlock()
			continue
		}
		all.Go(func() { s.follow(r, f, place) })
	}
	all.Go(func() { m.listFor(r, f) })
}

// follow writes what is new in a session.
func (s *mockSession) follow(r *http.Request, f *mockFeed, place int) {
	from := f.at[place]
	epoch, at, _ := strings.Cut(from, ".")
	pos, _ := strconv.ParseUint(at, 10, 64)
	reset := from == "" || epoch != s.m.epoch
	cursor := s.fold.Cursor(nil)
	if !reset {
		cursor = s.fold.CursorAt(pos)
	}
	running := false
	for first := true; ; first = false {
		now, changed := s.isRunning()
		if !first && now == running {
			select {
			case <-cursor.Changed():
			case <-changed:
			case <-r.Context().Done():
				return
			}
			now, _ = s.isRunning()
		}
		running = now
		changes := []view.Change{}
		for d := (view.Delta{}); cursor.Take(&d); {
			changes = append(changes, view.Change{Op: d.Op, ID: d.ID, Entity: d.Entity, Text: d.Text, Content: d.Content})
		}
		f.mu.Lock()
		f.at[place] = s.m.epoch + "." + strconv.FormatUint(cursor.Pos(), 10)
		f.event("sessions", "id: "+strings.Join(f.at, ",")+"\n", map[string]any{"sessions": []any{map[string]any{
			"follow": place, "reset": reset, "changes": changes, "position": f.at[place], "running": running,
		}}})
		f.mu.Unlock()
		reset = false
		time.Sleep(5 * time.Millisecond)
	}
}

// isRunning reports whether a turn is running, and returns what is closed when that changes.
func (s *mockSession) isRunning() (bool, <-chan struct{}) {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	return s.running, s.changed
}

// listFor tells when the list has changed.
func (m *mock) listFor(r *http.Request, f *mockFeed) {
	for known := ""; r.Context().Err() == nil; time.Sleep(50 * time.Millisecond) {
		m.mu.Lock()
		infos, _ := json.Marshal(m.infos(""))
		m.mu.Unlock()
		if string(infos) != known {
			known = string(infos)
			f.mu.Lock()
			f.event("list", "", map[string]any{"all": true})
			f.mu.Unlock()
		}
	}
}
