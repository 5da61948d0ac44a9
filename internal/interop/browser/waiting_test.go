// SPDX-License-Identifier: Apache-2.0

//go:build unix

package browser_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/ponte-go/ponte/agent/view"
)

// mockWaiting is a prompt that waits for its turn.
type mockWaiting struct {
	id      string
	version int
	text    string
	content []view.Content
}

func (w *mockWaiting) entity() view.Entity {
	return view.Entity{
		ID: "waiting:" + w.id, Kind: view.Waiting, Role: view.User, Content: w.content, Digest: strconv.Itoa(w.version),
	}
}

func (s *mockSession) enqueue(text string, content []view.Content) {
	s.m.mu.Lock()
	s.n++
	w := &mockWaiting{fmt.Sprint("w", s.n), 1, text, content}
	s.queue = append(s.queue, w)
	s.m.mu.Unlock()
	s.put(w.entity())
}

// runNext runs the first prompt that waits.
func (s *mockSession) runNext() {
	s.m.mu.Lock()
	if len(s.queue) == 0 {
		s.m.mu.Unlock()
		return
	}
	w := s.queue[0]
	s.queue = s.queue[1:]
	s.m.mu.Unlock()
	_ = s.fold.Apply(view.Change{Op: view.Remove, ID: w.entity().ID})
	s.begin(w.text, w.content)
}

// change edits or removes a prompt that waits.
func (s *mockSession) change(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Version int `json:"version"`
		Parts   []struct {
			Text string `json:"text"`
		} `json:"parts"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	s.m.mu.Lock()
	at := slices.IndexFunc(s.queue, func(w *mockWaiting) bool { return w.id == r.PathValue("prompt") })
	if at < 0 || s.queue[at].version != in.Version {
		s.m.mu.Unlock()
		e := map[string]string{"kind": "changed", "message": "The prompt was changed."}
		reply(w, 409, map[string]any{"error": e})
		return
	}
	one := s.queue[at]
	if r.Method == http.MethodDelete {
		s.queue = slices.Delete(s.queue, at, at+1)
	} else {
		one.version, one.text, one.content = one.version+1, in.Parts[0].Text, text(in.Parts[0].Text)
	}
	s.m.mu.Unlock()
	if r.Method == http.MethodDelete {
		_ = s.fold.Apply(view.Change{Op: view.Remove, ID: one.entity().ID})
	} else {
		s.put(one.entity())
	}
	w.WriteHeader(204)
}
