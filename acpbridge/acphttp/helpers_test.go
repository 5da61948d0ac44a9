// SPDX-License-Identifier: Apache-2.0

package acphttp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acphttp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
)

const token = "0123456789abcdef-token"

// serveAgent serves an agent that answers each prompt with "hello".
func serveAgent(ctx context.Context, in io.Reader, out io.Writer) error {
	a, err := agent.New(agent.Config[deps.ACPDeps, string]{Model: modeltest.Script(modeltest.SayText("hello"), modeltest.SayText("again"))})
	if err != nil {
		return err
	}
	return acpbridge.Serve(ctx, acpbridge.Config[deps.ACPDeps, string]{Host: host.Config[deps.ACPDeps, string]{Agent: a, Logger: slog.New(slog.DiscardHandler)}, Options: acpbridge.Options{In: in, Out: out}})
}

func newHandler(t *testing.T, change func(*acphttp.Config)) (*acphttp.Handler, string) {
	t.Helper()
	config := acphttp.Config{Guard: acphttp.Guard{Token: token}, Serve: serveAgent, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&config)
	}
	h, err := acphttp.New(config)
	require.NoError(t, err)
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		require.NoError(t, h.Close())
		server.Close()
	})
	return h, server.URL
}

// do sends a request with the token and more headers, each as "Name: value".
func do(t *testing.T, method, url, body string, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
		if value == "" {
			req.Header.Del(name)
		}
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`

// begin initializes a connection and returns its header.
func begin(t *testing.T, url string) string {
	t.Helper()
	resp := do(t, "POST", url, initialize)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Contains(t, string(data), `"id":1,"result":{"protocolVersion":1`)
	return acphttp.HeaderConnection + ": " + resp.Header.Get(acphttp.HeaderConnection)
}

// events opens a stream and returns a function that reads the next message.
func events(t *testing.T, url string, headers ...string) func() map[string]any {
	t.Helper()
	resp := do(t, "GET", url, "", append(headers, "Accept: text/event-stream")...)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	lines := bufio.NewReader(resp.Body)
	return func() map[string]any {
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return nil
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				var m map[string]any
				require.NoError(t, json.Unmarshal([]byte(data), &m))
				return m
			}
		}
	}
}
