// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acphttp"
)

const transportToken = "a-token-of-the-interop-tests"

// The TypeScript SDK has experimental transports. The agent is in this process.

func TestHTTPOfTypeScriptSDK(t *testing.T)      { runTransport(t, "http") }
func TestWebSocketOfTypeScriptSDK(t *testing.T) { runTransport(t, "ws") }

func runTransport(t *testing.T, scheme string) {
	e, lines := openEditorOver(t, scheme)
	s := e.newSession()
	turn := s.prompt("form")
	turn.mustEnd("end_turn")
	turn.mustSay(`accept {"city":"Bergen","days":3}`)
	other := e.newSession()
	for range 3 { // on both sessions, one after another
		s.prompt("show this").mustSay("show this")
		other.prompt("show that").mustSay("show that")
	}
	large := strings.Repeat("x", 300_000)
	s.prompt("show " + large).mustSay(large)
	wait := other.start("form")
	e.await("the form is shown", func() bool { return len(e.calls) == 2 })
	wait().mustEnd("end_turn")
	e.call("session/close", object{"sessionId": other.id}, new(object))
	wantError(t, other.prompt("show").err, -32002)
	if problems, err := e.peer.close(); err != nil || len(problems) > 0 {
		t.Errorf("the SDK ends with %v and complains: %s", err, problems)
	}
	wire := lines()
	wire.check(t)
	if schemas, err := loadSchema(); err == nil {
		wire.checkSchema(t, schemas)
	}
}

// openEditorOver serves the agent of features over HTTP, and connects an editor made with the TypeScript SDK. It returns what has gone over
// the wire.
func openEditorOver(t *testing.T, scheme string) (*editor, func() wireLines) {
	t.Helper()
	ranTest(t)
	var mu sync.Mutex
	var wire wireLines
	config := acphttp.Config{Guard: acphttp.Guard{Token: transportToken}, Logger: slog.New(slog.DiscardHandler)}
	config.Serve = func(ctx context.Context, in io.Reader, out io.Writer) error {
		c := featuresConfig()
		c.In, c.Out = in, out
		c.Conn.Tap = func(dir acp.Direction, line []byte) {
			mu.Lock()
			defer mu.Unlock()
			wire = append(wire, wireLine{byAgent: dir == acp.Sent, raw: append(bytes.Clone(line), '\n')})
		}
		return acpbridge.Serve(ctx, c)
	}
	ws, err := acphttp.NewWebSocket(config)
	if err != nil {
		t.Fatal(err)
	}
	config.WebSocket = ws
	h, err := acphttp.New(config)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		_ = ws.Close()
		_ = h.Close()
		server.Close()
	})
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e := &editor{t: t, dir: dir, user: nobody(t), changed: make(chan struct{}), terminals: map[string]*terminal{}}
	e.elicit = func(*elicitation) any {
		return object{"action": "accept", "content": object{"city": "Bergen", "days": 3}}
	}
	cmd := exec.Command("node", "--experimental-websocket", "--input-type=module", "--eval", typeScriptDriver)
	cmd.Dir = node(t)
	cmd.Env = cleanEnv("HOME="+t.TempDir(), "ACP_URL="+scheme+strings.TrimPrefix(server.URL, "http"), "ACP_TOKEN="+transportToken)
	e.peer = startDriver(t, cmd, e)
	e.call("initialize", object{"protocolVersion": 1, "clientCapabilities": elicits}, new(object))
	return e, func() wireLines {
		mu.Lock()
		defer mu.Unlock()
		return wire
	}
}
