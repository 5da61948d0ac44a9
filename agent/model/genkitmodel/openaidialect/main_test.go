// SPDX-License-Identifier: Apache-2.0

package openaidialect_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/openaidialect"
	"github.com/ponte-go/ponte/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const testKey = "sk-test-0123456789abcdef"

// endpoint is a fake server that records requests.
type endpoint struct {
	*httptest.Server
	mu      sync.Mutex
	bodies  []string
	headers []http.Header
}

func serve(t testing.TB, answer func(w http.ResponseWriter, r *http.Request, body string)) *endpoint {
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e.mu.Lock()
		e.bodies = append(e.bodies, string(body))
		e.headers = append(e.headers, r.Header.Clone())
		e.mu.Unlock()
		answer(w, r, string(body))
	}))
	t.Cleanup(e.Close)
	return e
}

// say returns a response of a fake server: an object or a stream.
func say(status int, body string, header ...string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasPrefix(body, "data:") {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func (e *endpoint) sent() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var b strings.Builder
	for _, body := range e.bodies {
		b.WriteString(body + "\n")
	}
	return b.String()
}

func (e *endpoint) lastHeader() http.Header {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.headers) == 0 {
		return nil
	}
	return e.headers[len(e.headers)-1]
}

// client returns a client whose connections are closed at the end of the test.
func client(t testing.TB) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func newModel(t testing.TB, e *endpoint) *genkitmodel.Model {
	t.Helper()
	m, err := openaidialect.New(openaidialect.Config{Name: "gpt-test", APIKey: testKey, BaseURL: e.URL, HTTPClient: client(t)})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func hello() *model.Request {
	return &model.Request{Messages: []*model.Message{model.UserText("hello")}}
}

// events returns a stream of chunks with its end marker.
func events(chunks ...string) string { return openEvents(chunks...) + "data: [DONE]\n\n" }

func openEvents(chunks ...string) string {
	var b strings.Builder
	for _, chunk := range chunks {
		fmt.Fprintf(&b, "data: %s\n\n", chunk)
	}
	return b.String()
}

func delta(d string) string {
	return `{"id":"c1","model":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":` + d + `}]}`
}

func finish(reason string) string {
	return fmt.Sprintf(`{"id":"c1","model":"m","choices":[{"index":0,"delta":{},"finish_reason":%q}]}`, reason)
}

func (e *endpoint) lastBody() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.bodies) == 0 {
		return ""
	}
	return e.bodies[len(e.bodies)-1]
}
