// SPDX-License-Identifier: Apache-2.0

package acphttp_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/acpbridge/acphttp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
)

const socketToken = "0123456789abcdef-token"

func serveSocketAgent(ctx context.Context, in io.Reader, out io.Writer) error {
	a, err := agent.New(agent.Config[deps.ACPDeps, string]{Model: modeltest.Script(modeltest.SayText("hello"), modeltest.SayText("again"))})
	if err != nil {
		return err
	}
	return acpbridge.Serve(ctx, acpbridge.Config[deps.ACPDeps, string]{Host: host.Config[deps.ACPDeps, string]{Agent: a, Logger: slog.New(slog.DiscardHandler)}, Options: acpbridge.Options{In: in, Out: out}})
}

// server returns the address of an agent that is served over WebSocket, through the handler for HTTP.
func server(t *testing.T, change func(*acphttp.Config)) string {
	t.Helper()
	config := acphttp.Config{Guard: acphttp.Guard{Token: socketToken, Origins: []string{"https://editor.example"}}, Serve: serveSocketAgent, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&config)
	}
	ws, err := acphttp.NewWebSocket(config)
	require.NoError(t, err)
	config.WebSocket = ws
	h, err := acphttp.New(config)
	require.NoError(t, err)
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		require.NoError(t, ws.Close())
		require.NoError(t, h.Close())
		s.Close()
	})
	return "ws" + strings.TrimPrefix(s.URL, "http")
}

func TestOurOwnClientOverWebSocket(t *testing.T) {
	url := server(t, nil)
	rw, err := acphttp.DialWebSocket(t.Context(), url, socketToken)
	require.NoError(t, err)
	c, err := acpclient.Connect(t.Context(), rw, rw, acpclient.Config{})
	require.NoError(t, err)
	s, err := c.NewSession(t.Context(), acpclient.SessionConfig{Cwd: "/repo"})
	require.NoError(t, err)
	for _, want := range []string{"hello", "again"} {
		turn, err := s.Say(t.Context(), "hi")
		require.NoError(t, err)
		require.Equal(t, want, turn.Text())
	}
	require.Empty(t, c.Problems())
	require.NoError(t, c.Close())
}

func TestWebSocketIsGuarded(t *testing.T) {
	url := server(t, nil)
	dial := func(o *websocket.DialOptions) int {
		conn, resp, err := websocket.Dial(t.Context(), url, o)
		if err == nil {
			_ = conn.CloseNow()
		}
		require.NotNil(t, resp, err)
		return resp.StatusCode
	}
	header := func(more ...string) http.Header {
		h := http.Header{"Authorization": {"Bearer " + socketToken}}
		for i := 0; i < len(more); i += 2 {
			h.Set(more[i], more[i+1])
		}
		return h
	}
	require.Equal(t, http.StatusSwitchingProtocols, dial(&websocket.DialOptions{HTTPHeader: header()}))
	require.Equal(t, http.StatusSwitchingProtocols, dial(&websocket.DialOptions{HTTPHeader: header("Origin", "https://editor.example")}))
	require.Equal(t, http.StatusSwitchingProtocols, dial(&websocket.DialOptions{Subprotocols: []string{"acp", "bearer." + socketToken}}))
	require.Equal(t, http.StatusUnauthorized, dial(&websocket.DialOptions{Subprotocols: []string{"acp", "bearer.wrong"}}))
	require.Equal(t, http.StatusUnauthorized, dial(&websocket.DialOptions{}))
	require.Equal(t, http.StatusForbidden, dial(&websocket.DialOptions{HTTPHeader: header("Origin", "https://evil.example")}))
	require.Equal(t, http.StatusForbidden, dial(&websocket.DialOptions{HTTPHeader: header("Origin", url)}))
	require.Equal(t, http.StatusMisdirectedRequest, dial(&websocket.DialOptions{HTTPHeader: header(), Host: "evil.example"}))
	_, err := acphttp.DialWebSocket(t.Context(), url, "wrong")
	require.ErrorContains(t, err, "acphttp: ")
}

func TestWebSocketMessagesMayHaveLineBreaks(t *testing.T) {
	url := server(t, func(c *acphttp.Config) { c.MaxMessage = 1000 })
	conn, _, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + socketToken}}})
	require.NoError(t, err)
	defer conn.CloseNow()
	ask := func(text string) string {
		require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(text)))
		_, data, err := conn.Read(t.Context())
		require.NoError(t, err)
		return string(data)
	}
	require.Contains(t, ask("{\"jsonrpc\":\"2.0\",\n\"id\":1,\n\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}"), `"id":1,"result"`)
	require.Contains(t, ask("{\n\nno json"), "-32700")
	require.NoError(t, conn.Write(t.Context(), websocket.MessageBinary, []byte(`{"jsonrpc":"2.0","id":2,"method":"x"}`)))
	require.Contains(t, ask(`{"jsonrpc":"2.0","id":3,"method":"x"}`), `"id":3`, "binary messages are ignored")
	require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(strings.Repeat("x", 1001))))
	_, _, err = conn.Read(t.Context())
	require.Equal(t, websocket.StatusMessageTooBig, websocket.CloseStatus(err))
}

func TestWebSocketConnectionsAreBounded(t *testing.T) {
	url := server(t, func(c *acphttp.Config) { c.MaxConnections = 1 })
	one, err := acphttp.DialWebSocket(t.Context(), url, socketToken)
	require.NoError(t, err)
	defer one.Close()
	_, err = acphttp.DialWebSocket(t.Context(), url, socketToken)
	require.ErrorContains(t, err, "503")
}

// An agent that fails is logged, without what it says: that is the client's. One that ends, or is ended, is not.
func TestFailedAgentsAreLogged(t *testing.T) {
	for name, c := range map[string]struct {
		serve func(ctx context.Context, in io.Reader, out io.Writer) error
		close bool
		want  string
	}{
		"fails":    {serve: func(context.Context, io.Reader, io.Writer) error { return errors.New("s3cret") }, want: "acphttp: the agent ended with an error"},
		"ends":     {serve: func(context.Context, io.Reader, io.Writer) error { return nil }},
		"is ended": {serve: func(ctx context.Context, _ io.Reader, _ io.Writer) error { <-ctx.Done(); return ctx.Err() }, close: true},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			ws, err := acphttp.NewWebSocket(acphttp.Config{Guard: acphttp.Guard{Token: socketToken}, Serve: c.serve, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			require.NoError(t, err)
			s := httptest.NewServer(ws)
			defer s.Close()
			rw, err := acphttp.DialWebSocket(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http"), socketToken)
			require.NoError(t, err)
			var reading sync.WaitGroup
			reading.Go(func() { // a client that does not read does not say goodbye
				_, err := rw.Read(make([]byte, 1))
				assert.ErrorIs(t, err, io.EOF)
			})
			if !c.close {
				reading.Wait()
			}
			require.NoError(t, ws.Close())
			reading.Wait()
			_ = rw.Close()
			require.NotContains(t, log.String(), "s3cret")
			if c.want == "" {
				require.Empty(t, log.String())
			} else {
				require.Equal(t, 1, strings.Count(log.String(), c.want), log.String())
			}
		})
	}
}

// A message has as many bytes as MaxMessage allows, however many chunks it is written in, and arrives whole.
func TestLongWebSocketMessagesArriveWhole(t *testing.T) {
	for _, size := range []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 3*64<<10 + 7} {
		line := `"` + strings.Repeat("x", size) + `"`
		echo := func(_ context.Context, in io.Reader, out io.Writer) error {
			r := bufio.NewReader(in)
			for {
				got, err := r.ReadString('\n')
				if err != nil {
					return nil //nolint:nilerr // the client has gone
				}
				half := len(got) / 2
				for _, part := range []string{got[:half], got[half:]} { // lines are written in parts
					if _, err := io.WriteString(out, part); err != nil {
						return err
					}
				}
			}
		}
		url := server(t, func(c *acphttp.Config) { c.Serve, c.MaxMessage = echo, size+2 })
		rw, err := acphttp.DialWebSocket(t.Context(), url, socketToken)
		require.NoError(t, err)
		for range 2 {
			_, err = io.WriteString(rw, line+"\n")
			require.NoError(t, err)
			got := make([]byte, len(line)+1)
			_, err = io.ReadFull(rw, got)
			require.NoError(t, err)
			require.Equal(t, line+"\n", string(got))
		}
		require.NoError(t, rw.Close())
	}
}

// TestClosedWebSocketsMakeRoom: by default there are 16 at the same time, and each that ends makes room for another one.
func TestClosedWebSocketsMakeRoom(t *testing.T) {
	url := server(t, nil)
	var open []io.Closer
	for range 16 {
		one, err := acphttp.DialWebSocket(t.Context(), url, socketToken)
		require.NoError(t, err)
		open = append(open, one)
	}
	for range 3 {
		_, err := acphttp.DialWebSocket(t.Context(), url, socketToken)
		require.ErrorContains(t, err, "503")
		require.NoError(t, open[0].Close())
		open = open[1:]
		require.EventuallyWithT(t, func(t *assert.CollectT) {
			one, err := acphttp.DialWebSocket(context.Background(), url, socketToken)
			if assert.NoError(t, err) {
				open = append(open, one)
			}
		}, time.Minute, time.Millisecond)
	}
	for _, one := range open {
		require.NoError(t, one.Close())
	}
}
