// SPDX-License-Identifier: Apache-2.0

package adaptertest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Answer is a response of a scripted endpoint. A body that begins with a brace is JSON, any other a
// stream of events, unless Header says another type.
type Answer struct {
	Status int // 200 if 0
	Header map[string]string
	Body   string
	// Cut closes the connection after the body, in the middle of the answer.
	Cut bool
}

// WriteTo answers a request.
func (a Answer) WriteTo(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	if strings.HasPrefix(a.Body, "{") {
		w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	}
	for k, v := range a.Header {
		w.Header().Set(k, v)
	}
	if a.Status != 0 {
		w.WriteHeader(a.Status)
	}
	_, _ = io.WriteString(w, a.Body)
	if a.Cut {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// Endpoint is a scripted endpoint: it gives its answers in order, and the last one from then on.
type Endpoint struct {
	*httptest.Server
	mu      sync.Mutex
	answers []Answer
	// Requests and Bodies are what came. They are read when no request is on its way.
	Requests []*http.Request
	Bodies   []string
}

// Serve returns an endpoint that is closed when the test ends.
func Serve(t testing.TB, answers ...Answer) *Endpoint {
	e := &Endpoint{answers: answers}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e.mu.Lock()
		e.Requests = append(e.Requests, r)
		e.Bodies = append(e.Bodies, string(body))
		a := e.answers[0]
		if len(e.answers) > 1 {
			e.answers = e.answers[1:]
		}
		e.mu.Unlock()
		a.WriteTo(w)
	}))
	t.Cleanup(e.Close)
	return e
}

// Count returns how many requests came.
func (e *Endpoint) Count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.Requests)
}

// Last returns the request that came last, and its body.
func (e *Endpoint) Last() (*http.Request, string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.Requests[len(e.Requests)-1], e.Bodies[len(e.Bodies)-1]
}
