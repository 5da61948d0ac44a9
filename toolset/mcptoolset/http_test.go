// SPDX-License-Identifier: Apache-2.0

package mcptoolset_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

// listen serves a fake over HTTP.
func listen(t testing.TB, f *fake, options *mcp.StreamableHTTPOptions) *httptest.Server {
	t.Helper()
	return web(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return f.Server }, options))
}

func web(t testing.TB, h http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return s
}

func over(transport mcptoolset.Transport) func(*mcptoolset.Config) {
	return func(c *mcptoolset.Config) { c.Transport = transport }
}

func TestHTTPTransports(t *testing.T) {
	for _, c := range []struct {
		name string
		open func(t *testing.T, f *fake) mcptoolset.Transport
	}{
		{"streamable", func(t *testing.T, f *fake) mcptoolset.Transport {
			return mcptoolset.HTTP{URL: listen(t, f, nil).URL + "/mcp"}
		}},
		{"stateless", func(t *testing.T, f *fake) mcptoolset.Transport {
			return mcptoolset.HTTP{URL: listen(t, f, &mcp.StreamableHTTPOptions{Stateless: true}).URL}
		}},
		{"JSON", func(t *testing.T, f *fake) mcptoolset.Transport {
			return mcptoolset.HTTP{URL: listen(t, f, &mcp.StreamableHTTPOptions{JSONResponse: true}).URL}
		}},
		{"SSE", func(t *testing.T, f *fake) mcptoolset.Transport {
			return mcptoolset.SSE{URL: web(t, mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return f.Server }, nil)).URL}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(nil)
			f.tool("echo", echo)
			s := serve(t, f, over(c.open(t, f)))
			toolsettest.Conformance(t, func() toolset.Toolset[none] { return mcptoolset.Tools(s, mcptoolset.Options[none]{}) }, none{},
				toolsettest.Case{Tool: "s_echo", Args: `{"a":1}`})
			require.NoError(t, s.Status().Err)
		})
	}
}

func TestHTTPElicitationAndProgress(t *testing.T) {
	eachVersion(t, func(t *testing.T, change func(*mcptoolset.Config)) {
		f := inquiring(form)
		s := serve(t, f, change, over(mcptoolset.HTTP{URL: listen(t, f, nil).URL}))
		p := &person{reply: toolset.Reply{Action: toolset.ActionAccept, Content: jsonOf(`{"n":3}`)}}
		res, err := call(t, s, &toolsettest.Host{Asker: p}, "r", "s_ask", `{}`)
		require.NoError(t, err)
		require.Contains(t, res.Text, `"n":3`)
	})
}

func TestHTTPReconnectsWhenTheNetworkComesBack(t *testing.T) {
	f := newFake(nil)
	f.tool("echo", echo)
	var mu sync.Mutex
	down := false
	set := func(v bool) { mu.Lock(); down = v; mu.Unlock() }
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return f.Server }, nil)
	server := web(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		gone := down
		mu.Unlock()
		if gone {
			panic(http.ErrAbortHandler)
		}
		handler.ServeHTTP(w, r)
	}))
	s := serve(t, f, legacy, over(mcptoolset.HTTP{URL: server.URL}))
	_, err := call(t, s, nil, "r", "s_echo", `{}`)
	require.NoError(t, err)
	set(true)
	server.CloseClientConnections()
	res, err := call(t, s, nil, "r", "s_echo", `{}`)
	failed(t, res, err)
	set(false)
	require.Eventually(t, func() bool {
		res, err := call(t, s, nil, "r", "s_echo", `{}`)
		return err == nil && res.Text == "{}"
	}, patience, tick)
}

func TestHTTPSessionThatTheServerForgotIsMadeAgain(t *testing.T) {
	f := newFake(nil)
	f.tool("echo", echo)
	first := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return f.Server }, nil)
	second := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return f.Server }, nil)
	var mu sync.Mutex
	current := first
	server := web(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		h := current
		mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	s := serve(t, f, legacy, over(mcptoolset.HTTP{URL: server.URL}))
	_, err := call(t, s, nil, "r", "s_echo", `{}`)
	require.NoError(t, err)
	mu.Lock()
	current = second // the server has been restarted
	mu.Unlock()
	require.Eventually(t, func() bool {
		res, err := call(t, s, nil, "r", "s_echo", `{}`)
		return err == nil && res.Text == "{}"
	}, patience, tick)
}

func TestHeadersGoToTheServerAndNowhereElse(t *testing.T) {
	var mu sync.Mutex
	var stolen []string
	thief := web(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		stolen = append(stolen, r.Header.Get("Authorization"))
	}))
	f := newFake(nil)
	f.tool("echo", echo)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return f.Server }, nil)
	seen := map[string]bool{}
	server := web(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.Header.Get("Authorization")] = true
		mu.Unlock()
		if r.URL.Path == "/away" {
			http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	headers := map[string]string{"Authorization": "Bearer sk-secret-123"}
	var log logBuffer
	logged := func(c *mcptoolset.Config) { c.Logger = slog.New(slog.NewJSONHandler(&log, nil)) }
	s := serve(t, f, logged, over(mcptoolset.HTTP{URL: server.URL, Headers: headers}))
	_, err := call(t, s, nil, "r", "s_echo", `{}`)
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"Bearer sk-secret-123": true}, seen)

	away := mcptoolset.HTTP{URL: server.URL + "/away?key=sk-query-456", Headers: headers}
	s = serve(t, f, logged, over(away))
	require.Empty(t, list(t, s, mcptoolset.Options[none]{}))
	require.ErrorContains(t, s.Status().Err, "refers to another host")
	require.Empty(t, stolen)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("config", "transport", away)
	text := log.String() + s.Status().Err.Error() + fmt.Sprintf("%v %+v %#v %s", away, away, away, away) + fmt.Sprintf("%v %+v", mcptoolset.Config{Transport: away}, &mcptoolset.Config{Transport: away})
	require.NotContains(t, text, "sk-secret-123")
	require.NotContains(t, text, "sk-query-456")
}

func TestHTTPAnswerIsBounded(t *testing.T) {
	f := newFake(nil)
	f.tool("huge", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return say(strings.Repeat("x", 4<<20)), nil
	})
	for _, options := range []*mcp.StreamableHTTPOptions{{JSONResponse: true}, {}} {
		s := serve(t, f, func(c *mcptoolset.Config) { c.Limits.Message = 1 << 20 }, over(mcptoolset.HTTP{URL: listen(t, f, options).URL}))
		res, err := call(t, s, nil, "r", "s_huge", `{}`)
		failed(t, res, err)
	}
}

func TestHTTPAddressIsChecked(t *testing.T) {
	for _, url := range []string{"", "ftp://x", "https://user:secret@host/", "http://"} {
		_, err := mcptoolset.New(mcptoolset.Config{Name: "s", Transport: mcptoolset.HTTP{URL: url}})
		require.Error(t, err)
		require.NotContains(t, err.Error(), "secret")
		_, err = mcptoolset.New(mcptoolset.Config{Name: "s", Transport: mcptoolset.SSE{URL: url}})
		require.Error(t, err)
	}
}
