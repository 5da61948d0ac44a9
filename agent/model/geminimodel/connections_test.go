// SPDX-License-Identifier: Apache-2.0

package geminimodel_test

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
	"github.com/ponte-go/ponte/agent/model/geminimodel"
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
	for name, a := range map[string]answer{
		"a stream":                   {Body: events(chunk("", `{"text":"a"}`), chunk("STOP"))},
		"an unstreamed answer":       {Body: chunk("STOP", `{"text":"a"}`)},
		"an error":                   {Status: 400, Body: `{"error":"` + strings.Repeat("no ", 1000) + `"}`},
		"an error with a large body": {Status: 400, Body: strings.Repeat("no ", 30_000)},
	} {
		t.Run(name, func(t *testing.T) {
			url, connections := counted(t, func(w http.ResponseWriter, _ *http.Request) { a.WriteTo(w) })
			m := newModel(t, url)
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
		fmt.Fprint(w, events(chunk("", `{"text":"a"}`)))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	m := newModel(t, url, func(c *geminimodel.Config) {
		c.HTTPClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	})
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
	m := newModel(t, serve(t, answer{Body: events(chunk("", `{"text":"Hello, "}`), chunk("STOP", `{"text":"wörld"}`))}).URL)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
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

func TestRedirectsAreReported(t *testing.T) {
	target := serve(t, answer{Body: chunk("STOP", `{"text":"ok"}`)})
	for _, status := range []int{http.StatusTemporaryRedirect, http.StatusPermanentRedirect, http.StatusMovedPermanently} {
		url, _ := counted(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, target.URL+r.URL.Path, status)
		})
		_, err := newModel(t, url).Generate(context.Background(), hello(), nil)
		e := apiError(t, err)
		require.Equal(t, status, e.Status)
		require.Contains(t, e.Message, target.URL)
	}
}
