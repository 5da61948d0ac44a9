// SPDX-License-Identifier: Apache-2.0

package anthropicdialect_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/anthropicdialect"
	"github.com/ponte-go/ponte/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const testKey = "sk-ant-test-0123456789"

// endpoint is a fake server that records requests.
type endpoint struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
}

func serve(t testing.TB, answer func(w http.ResponseWriter, r *http.Request, body string)) *endpoint {
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e.mu.Lock()
		e.bodies = append(e.bodies, string(body))
		e.mu.Unlock()
		answer(w, r, string(body))
	}))
	t.Cleanup(e.Close)
	return e
}

// say returns a response of a fake server: an object or a stream.
func say(status int, body string, header ...string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", "text/event-stream")
		if strings.HasPrefix(body, "{") {
			w.Header().Set("Content-Type", "application/json")
		}
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// sent returns the bodies with the instructions moved to the front. The API has them at the end.
func (e *endpoint) sent() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var b strings.Builder
	for _, body := range e.bodies {
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(body), &members); err != nil {
			return "no JSON: " + body
		}
		fmt.Fprintf(&b, "%s\n", members["system"])
		delete(members, "system")
		rest, _ := json.Marshal(members)
		b.Write(append(rest, '\n'))
	}
	return b.String()
}

func (e *endpoint) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.bodies)
}

func newModel(t testing.TB, e *endpoint) *genkitmodel.Model {
	t.Helper()
	m, err := anthropicdialect.New(anthropicdialect.Config{Name: "claude-test", APIKey: testKey, BaseURL: e.URL})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func hello() *model.Request {
	return &model.Request{Messages: []*model.Message{model.UserText("hello")}}
}

// events returns a stream of events, named by their types.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		d = strings.Join(strings.Fields(d), " ")
		var event struct{ Type string }
		_ = json.Unmarshal([]byte(d), &event)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", event.Type, d)
	}
	return b.String()
}

func (e *endpoint) lastBody() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.bodies) == 0 {
		return ""
	}
	return e.bodies[len(e.bodies)-1]
}
