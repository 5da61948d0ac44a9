// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
)

// counts are what a handler counts.
type counts struct {
	running, tokens, sent atomic.Int64

	mu       sync.Mutex
	requests [6]int64 // by the first digit of the status
	turns    map[string]int64
}

func (c *counts) request(status int) {
	if status == 0 {
		status = http.StatusOK
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests[min(max(status/100, 0), 5)]++
}

func (c *counts) turn(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turns == nil {
		c.turns = map[string]int64{}
	}
	c.turns[reason]++
}

// recorder notes the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Metrics serves the handler's metrics in the text format of Prometheus. It requires no token: mount it where the
// public cannot reach it.
func (h *Handler) Metrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		metric := func(name, kind, help string) {
			_, _ = fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
		}
		h.mu.Lock()
		streams := h.streams
		h.mu.Unlock()
		c := &h.counts
		c.mu.Lock()
		defer c.mu.Unlock()
		metric("ponte_web_requests_total", "counter", "Requests that were answered, by class of status.")
		for class := 2; class < len(c.requests); class++ {
			_, _ = fmt.Fprintf(w, "ponte_web_requests_total{code=\"%dxx\"} %d\n", class, c.requests[class])
		}
		metric("ponte_web_turns_total", "counter", "Turns that have ended, by how.")
		var reasons []string
		for reason := range c.turns {
			reasons = append(reasons, reason)
		}
		slices.Sort(reasons)
		for _, reason := range reasons {
			_, _ = fmt.Fprintf(w, "ponte_web_turns_total{reason=%q} %d\n", reason, c.turns[reason])
		}
		for _, m := range []struct {
			name, kind, help string
			value            int64
		}{
			{"ponte_web_turns_running", "gauge", "Turns that are running or wait to.", c.running.Load()},
			{"ponte_web_streams", "gauge", "Streams of events that are open.", int64(streams)},
			{"ponte_web_sessions_open", "gauge", "Sessions that are open.", int64(len(h.host.Sessions()) + len(h.host.Ephemeral().Sessions()))},
			{"ponte_web_sent_bytes_total", "counter", "Bytes of events that were sent.", c.sent.Load()},
			{"ponte_web_tokens_total", "counter", "Tokens that runs have used.", c.tokens.Load()},
		} {
			metric(m.name, m.kind, m.help)
			_, _ = fmt.Fprintf(w, "%s %d\n", m.name, m.value)
		}
	})
}

// Health answers load balancers: 200 while the handler accepts prompts, and 503 when it is shut down. It requires no
// token.
func (h *Handler) Health() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if h.isClosing() {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprintln(w, "shutting down")
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	})
}
