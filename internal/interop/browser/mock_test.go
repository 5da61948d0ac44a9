// SPDX-License-Identifier: Apache-2.0

//go:build unix

package browser_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/webbridge"
)

// mock is a server of the API that the page talks to. What a prompt does follows from its text: see mockTurns. A turn waits where its
// script says so, until the test releases it.
type mock struct {
	mu       sync.Mutex
	epoch    string
	sessions map[string]*mockSession
	log      []string
	release  chan struct{}
	count    int
}

type mockSession struct {
	m       *mock
	id      string
	title   string
	dir     string
	updated time.Time
	fold    view.Fold
	n       int

	running   bool
	changed   chan struct{} // closed when running changes
	cancel    context.CancelFunc
	questions map[string]chan json.RawMessage
	scores    []webbridge.Score
	queue     []*mockWaiting
}

// mockMain serves on an address until it is killed.
func mockMain(args []string) int {
	m := &mock{epoch: strconv.Itoa(os.Getpid()), sessions: map[string]*mockSession{}, release: make(chan struct{}, 100)}
	m.seed()
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Printf("http://%s/\n", l.Addr())
	fmt.Fprintln(os.Stderr, http.Serve(l, m.handler()))
	return 1
}

func (m *mock) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", webbridge.Page())
	if dist := os.Getenv("PONTE_DIST"); dist != "" { // a page that a test has built
		mux.Handle("GET /{$}", http.FileServer(http.Dir(dist)))
		mux.Handle("GET /assets/", http.FileServer(http.Dir(dist)))
	}
	mux.HandleFunc("GET /api/config", func(w http.ResponseWriter, r *http.Request) {
		reply(w, 200, map[string]any{"title": "Ponte", "accepts": []string{"image/png", "image/jpeg", "text/*"}, "store": true, "files": false, "scores": true})
	})
	mux.HandleFunc("GET /api/sessions", m.list)
	mux.HandleFunc("GET /api/events", m.feed)
	mux.HandleFunc("POST /api/sessions", func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		m.count++
		id := fmt.Sprintf("new-%s-%d", m.epoch, m.count)
		m.mu.Unlock()
		reply(w, 201, m.add(id, "").info())
	})
	session := func(pattern string, f func(*mockSession, http.ResponseWriter, *http.Request)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			m.mu.Lock()
			s := m.sessions[r.PathValue("id")]
			m.mu.Unlock()
			if s == nil {
				reply(w, 404, map[string]any{"error": map[string]string{"kind": "not_found", "message": "There is no session " + r.PathValue("id") + "."}})
				return
			}
			f(s, w, r)
		})
	}
	session("GET /api/sessions/{id}", func(s *mockSession, w http.ResponseWriter, r *http.Request) { reply(w, 200, s.info()) })
	session("PATCH /api/sessions/{id}", (*mockSession).rename)
	session("DELETE /api/sessions/{id}", func(s *mockSession, w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		delete(m.sessions, s.id)
		m.mu.Unlock()
		w.WriteHeader(204)
	})
	session("POST /api/sessions/{id}/prompts", (*mockSession).prompt)
	session("POST /api/sessions/{id}/cancel", func(s *mockSession, w http.ResponseWriter, r *http.Request) {
		m.note("cancel")
		m.mu.Lock()
		defer m.mu.Unlock()
		if s.cancel != nil {
			s.cancel()
		}
		w.WriteHeader(204)
	})
	session("PUT /api/sessions/{id}/waiting/{prompt}", (*mockSession).change)
	session("DELETE /api/sessions/{id}/waiting/{prompt}", (*mockSession).change)
	session("POST /api/sessions/{id}/questions/{question}", (*mockSession).answer)
	session("POST /api/sessions/{id}/rewind", (*mockSession).rewind)
	session("POST /api/sessions/{id}/fork", func(s *mockSession, w http.ResponseWriter, r *http.Request) {
		f := m.add(s.id+"-fork", s.title+" (fork)")
		before := body(r)["before"]
		for e := range s.fold.Snapshot().All() {
			if e.ID == before {
				break
			}
			if e.Kind != view.Session {
				f.put(*e)
			}
		}
		reply(w, 201, f.info())
	})
	session("PUT /api/sessions/{id}/settings/{setting}", func(s *mockSession, w http.ResponseWriter, r *http.Request) {
		value := fmt.Sprint(body(r)["value"])
		m.note("set %s %s", r.PathValue("setting"), value)
		e := *s.fold.Get("options")
		e.Settings = slices.Clone(e.Settings)
		for i := range e.Settings {
			if e.Settings[i].ID == r.PathValue("setting") {
				e.Settings[i].Value = value
			}
		}
		s.put(e)
		w.WriteHeader(204)
	})
	session("GET /api/sessions/{id}/scores", (*mockSession).getScores)
	session("PUT /api/sessions/{id}/scores/{prompt}", (*mockSession).mark)
	mux.HandleFunc("POST /mock/release", func(w http.ResponseWriter, r *http.Request) { m.release <- struct{}{} })
	mux.HandleFunc("GET /mock/log", func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		defer m.mu.Unlock()
		reply(w, 200, m.log)
	})
	return mux
}

func body(r *http.Request) map[string]any {
	var v map[string]any
	_ = json.NewDecoder(r.Body).Decode(&v)
	return v
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (m *mock) note(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log = append(m.log, fmt.Sprintf(format, args...))
}

func (m *mock) add(id, title string) *mockSession {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &mockSession{m: m, id: id, title: title, dir: "/repo", updated: time.Now(), changed: make(chan struct{}), questions: map[string]chan json.RawMessage{}}
	m.sessions[id] = s
	s.put(view.Entity{ID: "session", Kind: view.Session, Title: title})
	s.put(view.Entity{ID: "options", Kind: view.Options, Settings: []view.Setting{
		{ID: "mode", Title: "Mode", Category: "mode", Value: "ask", Choices: []view.Choice{{ID: "ask", Title: "Ask first"}, {ID: "auto", Title: "Edit freely"}}},
		{ID: "model", Title: "Model", Category: "model", Value: "small", Choices: []view.Choice{{ID: "small", Title: "Small"}, {ID: "large", Title: "Large"}}},
	}})
	s.put(view.Entity{ID: "commands", Kind: view.Commands, Slash: []view.SlashCommand{
		{Name: "review", Description: "Review the changes of the work tree", Hint: "what to look at"}, {Name: "compact", Description: "Summarise the conversation"}}})
	return s
}

func (m *mock) list(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.infos(r.FormValue("q"))
	scores := map[string]string{}
	for _, s := range m.sessions {
		if len(s.scores) > 0 {
			scores[s.id] = fmt.Sprintf("people %d", len(s.scores))
		}
	}
	reply(w, 200, map[string]any{"sessions": all, "scores": scores})
}

// infos describes the sessions with words in their titles. The caller has mu.
func (m *mock) infos(words string) []map[string]any {
	all := []map[string]any{}
	for _, s := range m.sessions {
		if strings.Contains(strings.ToLower(s.title), strings.ToLower(words)) {
			all = append(all, s.info())
		}
	}
	slices.SortFunc(all, func(a, b map[string]any) int {
		return cmp.Or(b["updated"].(time.Time).Compare(a["updated"].(time.Time)), strings.Compare(a["id"].(string), b["id"].(string)))
	})
	return all
}

func (s *mockSession) info() map[string]any {
	return map[string]any{"id": s.id, "title": s.title, "dir": s.dir, "created": s.updated, "updated": s.updated}
}

func (s *mockSession) put(e view.Entity) {
	_ = s.fold.Apply(view.Change{Op: view.Upsert, ID: e.ID, Entity: &e})
}

func (s *mockSession) append(id, text string) {
	_ = s.fold.Apply(view.Change{Op: view.Append, ID: id, Text: text})
}

func (s *mockSession) appendContent(id string, content ...view.Content) {
	_ = s.fold.Apply(view.Change{Op: view.Append, ID: id, Content: content})
}

func (s *mockSession) rename(w http.ResponseWriter, r *http.Request) {
	s.m.mu.Lock()
	s.title = fmt.Sprint(body(r)["title"])
	s.m.mu.Unlock()
	s.put(view.Entity{ID: "session", Kind: view.Session, Title: s.title})
	reply(w, 200, s.info())
}

func (s *mockSession) rewind(w http.ResponseWriter, r *http.Request) {
	before, found := body(r)["before"], false
	for e := range s.fold.Snapshot().All() {
		if found = found || e.ID == before; found {
			_ = s.fold.Apply(view.Change{Op: view.Remove, ID: e.ID})
		}
	}
	w.WriteHeader(204)
}

func (s *mockSession) answer(w http.ResponseWriter, r *http.Request) {
	var answer struct {
		Digest   string          `json:"digest,omitempty"`
		Choice   string          `json:"choice,omitempty"`
		Decision json.RawMessage `json:"decision,omitempty"`
		Reply    json.RawMessage `json:"reply,omitempty"`
	}
	_ = json.NewDecoder(r.Body).Decode(&answer)
	id := r.PathValue("question")
	q := s.fold.Get(id)
	s.m.mu.Lock()
	waiting := s.questions[id]
	if waiting != nil && answer.Digest != q.Digest {
		s.m.mu.Unlock()
		s.m.note("refused %s", id)
		reply(w, 409, map[string]any{"error": map[string]any{"kind": "changed", "message": "The question has changed.", "question": q}})
		return
	}
	delete(s.questions, id)
	s.m.mu.Unlock()
	if waiting == nil {
		reply(w, 409, map[string]any{"error": map[string]string{"kind": "answered", "message": "This question has been answered."}})
		return
	}
	answer.Digest = ""
	raw, _ := json.Marshal(answer)
	s.m.note("answer %s %s", id, raw)
	waiting <- raw
	w.WriteHeader(204)
}

func (s *mockSession) prompt(w http.ResponseWriter, r *http.Request) {
	asked := body(r)
	parts, _ := asked["parts"].([]any)
	text := ""
	var content []view.Content
	for _, p := range parts {
		p := p.(map[string]any)
		if t, ok := p["text"].(string); ok {
			text += t
			content = append(content, view.Content{Kind: view.Text, Text: t})
		} else {
			content = append(content, view.Content{Kind: view.Image, MIMEType: fmt.Sprint(p["media_type"]), Data: fmt.Sprint(p["data"]), Name: fmt.Sprint(p["name"])})
		}
	}
	s.m.mu.Lock()
	if s.running && asked["busy"] == "refuse" {
		s.m.mu.Unlock()
		s.m.note("busy")
		reply(w, 409, map[string]any{"error": map[string]string{"kind": "busy", "message": "Another turn is running."}})
		return
	}
	if s.running && asked["busy"] == "wait" {
		s.m.mu.Unlock()
		s.enqueue(text, content)
		reply(w, 202, map[string]string{})
		return
	}
	s.m.mu.Unlock()
	reply(w, 202, map[string]string{"turn": s.begin(text, content)})
}

// begin begins a turn.
func (s *mockSession) begin(text string, content []view.Content) string {
	s.m.mu.Lock()
	s.n++
	turn := &mockTurn{s: s, n: s.n}
	s.running = true
	close(s.changed)
	s.changed = make(chan struct{})
	if s.title == "" {
		s.title = text
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.m.mu.Unlock()
	s.put(view.Entity{ID: "session", Kind: view.Session, Title: s.title})
	s.put(view.Entity{ID: turn.id("prompt"), Kind: view.Message, Role: view.User, Content: content})
	go func() {
		turn.ctx = ctx
		turn.run(text)
		cancel()
		s.m.mu.Lock()
		s.running = false
		close(s.changed)
		s.changed = make(chan struct{})
		s.m.mu.Unlock()
		s.runNext()
	}()
	return turn.id("")
}
