// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/leaktest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

func TestMain(m *testing.M) {
	leaktest.Main(m)
}

const token = "a token for the tests"

type none struct{}

// options are those of a server of the tests.
type options struct {
	model model.Model
	tools []*toolset.Tool[none]
	host  host.Config[none, string]
	webbridge.Options
}

// server is a handler behind a real listener.
type server struct {
	*httptest.Server
	handler *webbridge.Handler
	t       testing.TB
	token   string
	header  http.Header
}

// echo answers with the last prompt.
func echo() model.Model {
	return modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		last := ""
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				if p.Kind == model.PartUser {
					last = p.Text
				}
			}
		}
		return model.Response(model.Text("You said " + last)), nil
	})
}

func newHandler(t testing.TB, o options) *webbridge.Handler {
	t.Helper()
	if o.model == nil {
		o.model = echo()
	}
	if o.host.Agent == nil {
		o.host.Agent = agent.Must(agent.New(agent.Config[none, string]{Model: o.model, Tools: o.tools}))
	}
	if o.Token == "" && o.User == nil {
		o.Token = token
	}
	h, err := webbridge.New(webbridge.Config[none, string]{Host: o.host, Options: o.Options})
	require.NoError(t, err)
	return h
}

func serve(t testing.TB, o options) *server {
	t.Helper()
	h := newHandler(t, o)
	s := &server{httptest.NewServer(h), h, t, token, http.Header{}}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = h.Shutdown(ctx) // turns that still go on are cancelled
		s.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

// as returns the server for another user, who is named by a header.
func (s *server) as(user string) *server {
	other := *s
	other.header = http.Header{"X-User": {user}}
	return &other
}

// request makes a request without sending it.
func (s *server) request(method, path string, body any) *http.Request {
	s.t.Helper()
	var sent io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		require.NoError(s.t, err)
		if raw, ok := body.(string); ok {
			data = []byte(raw)
		}
		sent = bytes.NewReader(data)
	}
	r, err := http.NewRequestWithContext(context.Background(), method, s.URL+path, sent)
	require.NoError(s.t, err)
	if method != http.MethodGet {
		r.Header.Set("Content-Type", "application/json")
	}
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	for k, v := range s.header {
		r.Header[k] = v
	}
	return r
}

// send sends a request and returns the status and the body, which have to be as the document says.
func (s *server) send(r *http.Request) (int, string) {
	s.t.Helper()
	res, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	if op := operationOf(s.t, r.Method, r.URL.EscapedPath()); op != nil {
		described, ok := op.Responses[strconv.Itoa(res.StatusCode)]
		if !ok {
			described = op.Responses["default"]
			require.GreaterOrEqual(s.t, res.StatusCode, 400, "%s %s: the status %d is not documented", r.Method, r.URL.Path, res.StatusCode)
		}
		if body, ok := described.Content["application/json"]; ok {
			require.Equal(s.t, "application/json", res.Header.Get("Content-Type"))
			requireFits(s.t, body.Schema, data)
		} else {
			require.Empty(s.t, data)
		}
	}
	return res.StatusCode, string(data)
}

// do sends a request that has to be answered with a status, and returns the JSON of the answer.
func (s *server) do(method, path string, body any, status int) map[string]any {
	s.t.Helper()
	got, text := s.send(s.request(method, path, body))
	require.Equal(s.t, status, got, "%s %s: %s", method, path, text)
	if op := operationOf(s.t, method, path); op != nil && op.RequestBody != nil && status < 300 && body != nil {
		data, err := json.Marshal(body)
		require.NoError(s.t, err)
		requireFits(s.t, op.RequestBody.Content["application/json"].Schema, data)
	}
	var v map[string]any
	if text != "" {
		require.NoError(s.t, json.Unmarshal([]byte(text), &v), text)
	}
	return v
}

// refused sends a request that has to be refused, and returns the kind of the error.
func (s *server) refused(method, path string, body any, status int) string {
	s.t.Helper()
	v := s.do(method, path, body, status)
	return v["error"].(map[string]any)["kind"].(string)
}

// create makes a session and returns the path of it.
func (s *server) create() string {
	s.t.Helper()
	v := s.do("POST", "/api/sessions", object{}, 201)
	return "/api/sessions/" + url.PathEscape(v["id"].(string))
}

type object = map[string]any

// say is the body of a prompt.
func say(text string) object { return object{"parts": []object{{"text": text}}} }

// stream is a stream of events.
type stream struct {
	t        testing.TB
	res      *http.Response
	lines    *bufio.Reader
	fold     *view.Fold
	position string
	running  bool
	events   int
	ended    string // the data of the event that ended it
}

// follow begins to follow a session.
func (s *server) follow(path, from string) *stream {
	s.t.Helper()
	r := s.request("GET", path+"/events", nil)
	if from != "" {
		r.Header.Set("Last-Event-ID", from)
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = res.Body.Close() })
	require.Equal(s.t, 200, res.StatusCode)
	require.Equal(s.t, "text/event-stream", res.Header.Get("Content-Type"))
	return &stream{t: s.t, res: res, lines: bufio.NewReader(res.Body), fold: new(view.Fold)}
}

// next reads an event. It returns false at the end.
func (s *stream) next() bool {
	s.t.Helper()
	kind, data, id := "", "", ""
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return false
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" && kind != "" {
			break
		}
		switch name, value, _ := strings.Cut(line, ": "); name {
		case "event":
			kind = value
		case "data":
			data = value
		case "id":
			id = value
		}
	}
	s.events++
	switch kind {
	case "state":
		requireIs(s.t, "State", []byte(data))
		s.running = data == `{"running":true}`
	case "end":
		requireIs(s.t, "Error", []byte(data))
		s.ended = data
	case "update":
		if len(data) < 1<<20 {
			requireIs(s.t, "Update", []byte(data))
		}
		var u struct {
			Changes  []view.Change `json:"changes"`
			Position string        `json:"position"`
			Reset    bool          `json:"reset"`
		}
		require.NoError(s.t, json.Unmarshal([]byte(data), &u))
		if u.Reset {
			s.fold = new(view.Fold)
		}
		for _, c := range u.Changes {
			require.NoError(s.t, s.fold.Apply(c))
		}
		if id != "" {
			require.Equal(s.t, id, u.Position)
			s.position = id
		}
	default:
		s.t.Fatalf("event %q", kind)
	}
	return true
}

// until reads events until a condition holds.
func (s *stream) until(ok func() bool) {
	s.t.Helper()
	for !ok() {
		require.True(s.t, s.next(), "the stream has ended: %s", s.text())
	}
}

// text returns what is shown, an entity a line.
func (s *stream) text() string {
	var b strings.Builder
	for e := range s.fold.Snapshot().All() {
		if e.Kind == view.Session || e.Kind == view.Usage {
			continue
		}
		b.WriteString(string(e.Kind) + " " + string(e.Role) + " " + string(e.Status) + ": " + e.Title + e.Text() + "\n")
	}
	return b.String()
}

func (s *stream) has(text string) func() bool {
	return func() bool { return strings.Contains(s.text(), text) }
}

// question returns the question that waits for an answer, nil if there is none.
func (s *stream) question() *view.Entity {
	for e := range s.fold.Snapshot().Of(view.Question) {
		if e.Status == view.Pending {
			return e
		}
	}
	return nil
}

// answering is an answer to a question as it was shown.
func answering(q *view.Entity, a object) object {
	a["digest"] = q.Digest
	return a
}

// durable is a store in memory that hosts take for one that lasts.
type durable struct{ session.Store }

// bubble runs a part of a test in a bubble, as a subtest: a test of its own for those who note which
// tests run.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Run("bubble", func(t *testing.T) { synctest.Test(t, f) })
}
