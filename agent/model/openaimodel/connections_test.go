// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

// counted serves handler and counts connections.
func counted(t *testing.T, handler http.HandlerFunc) (url string, connections *atomic.Int32) {
	connections = &atomic.Int32{}
	s := httptest.NewUnstartedServer(handler)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL, connections
}

func TestConnectionsAreReused(t *testing.T) {
	d := dialects[0]
	for name, a := range map[string]answer{
		"a stream":                    {Body: d.text.stream},
		"a stream with more after it": {Body: d.text.stream + strings.Repeat(": more\n\n", 100)},
		"a stream without its mark":   {Body: strings.TrimSuffix(d.text.stream, "data: [DONE]\n\n")},
		"an unstreamed answer":        {Body: d.text.plain},
		"an error":                    {Status: 400, Body: `{"error":"` + strings.Repeat("no ", 1000) + `"}`},
		"an error with a large body":  {Status: 400, Body: strings.Repeat("no ", 30_000)},
	} {
		t.Run(name, func(t *testing.T) {
			url, connections := counted(t, func(w http.ResponseWriter, _ *http.Request) { a.WriteTo(w) })
			m := newModel(t, url, "openai")
			for range 10 {
				_, _ = stream(t, m, hello())
			}
			require.EqualValues(t, 1, connections.Load())
		})
	}
}

func TestNoGoroutineOutlivesGenerate(t *testing.T) {
	release := make(chan struct{})
	url, _ := counted(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server would not notice that the client has left
		fmt.Fprint(w, openEvents(delta(`{"content":"a"}`)))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	tr := &http.Transport{DisableKeepAlives: true}
	m := newModel(t, url, "", func(c *openaimodel.Config) { c.HTTPClient = &http.Client{Transport: tr} })
	before := runtime.NumGoroutine()
	for range 20 {
		ctx, cancel := context.WithCancel(context.Background())
		_, err := m.Generate(ctx, hello(), func(model.Delta) error { cancel(); return nil })
		require.ErrorIs(t, err, context.Canceled)
		_, err = m.Generate(context.Background(), hello(), func(model.Delta) error { return io.EOF })
		require.Equal(t, io.EOF, err)
		cancel()
	}
	// The transport and the server close their connections a moment later.
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }, time.Minute, 5*time.Millisecond)
}

func TestModelIsSafeForConcurrentUse(t *testing.T) {
	d := dialects[0]
	m := newModel(t, serve(t, answer{Body: d.text.stream}).URL, "openai")
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 20 {
				rec := &recorder{T: t}
				msg, err := m.Generate(context.Background(), fullRequest(), rec.Sink)
				if err != nil || msg.Text() != "Hello, wörld" {
					t.Errorf("%v, %v", msg, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestRedirectWithoutBodyIsAnError(t *testing.T) {
	url, _ := counted(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://elsewhere.test"+r.URL.Path, http.StatusMovedPermanently)
	})
	_, err := newModel(t, url, "").Generate(context.Background(), hello(), nil)
	e := apiError(t, err)
	require.Equal(t, http.StatusMovedPermanently, e.Status)
	require.Contains(t, e.Message, "https://elsewhere.test/v1/chat/completions")
}
