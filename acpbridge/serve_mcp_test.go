// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acp/unstable"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/deps"
)

// servers writes down what is asked of it, and has news when a test says.
type servers struct {
	mu    sync.Mutex
	calls []string
	news  [][]string // of the next calls
}

func (s *servers) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, fmt.Sprintf(format, args...))
}

func (s *servers) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := strings.Join(s.calls, ", ")
	s.calls = nil
	return all
}

func (s *servers) Capabilities() acp.MCPCapabilities { return acp.MCPCapabilities{HTTP: true} }

func (s *servers) Open(of *deps.Session, all []acp.MCPServer) { s.note("open %s", serverNames(all)) }

func (s *servers) News(acp.SessionID) []string {
	s.note("news")
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.news) == 0 {
		return nil
	}
	now := s.news[0]
	s.news = s.news[1:]
	return now
}

func (s *servers) Close(acp.SessionID) { s.note("close") }

func serverNames(all []acp.MCPServer) string {
	var names []string
	for _, one := range all {
		switch {
		case one.Stdio != nil:
			names = append(names, one.Stdio.Name)
		case one.HTTP != nil:
			names = append(names, one.HTTP.Name)
		case one.SSE != nil:
			names = append(names, one.SSE.Name)
		default:
			names = append(names, "?")
		}
	}
	return fmt.Sprint(names)
}

// hosting also takes servers that clients host.
type hosting struct {
	servers
	heard chan struct{}
}

func (h *hosting) OpenHosted(client unstable.Peer, of *deps.Session, all []acp.MCPServer) {
	h.note("open hosted %s %v", serverNames(all), client != nil)
}

func (h *hosting) Message(_ context.Context, client unstable.Peer, n *unstable.MessageMCPNotification) {
	h.note("message %s %v", n.Method, client != nil)
	h.heard <- struct{}{}
}

const stdioServer = `{"name":"one","command":"/bin/one","args":[],"env":[]}`

// The servers that a client names are opened with the session, and again if it names others for a session that is open. What is new of them
// is told at the beginning and at the end of each turn.
func TestServersThatAClientNamesAreUsed(t *testing.T) {
	for _, notices := range []bool{false, true} {
		s := &servers{}
		c := stored(t, newStore(), echo())
		c.MCP = s
		e := serve(t, c)
		can := `{}`
		if notices {
			can = `{"session":{"notices":{}}}`
		}
		require.Contains(t, e.initialize(can).Text, `"mcpCapabilities":{"http":true`)
		made := e.call(acp.MethodNewSession, `{"cwd":"/repo","mcpServers":[`+stdioServer+`]}`)
		require.Nil(t, made.Error)
		require.Equal(t, "open [one]", s.take())
		id := acp.SessionID(strings.Split(strings.Split(made.Text, `"sessionId":"`)[1], `"`)[0])
		s.news = [][]string{{"one cannot\nbe used", "and more"}, {"it is gone"}}
		requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "a"))
		require.Equal(t, "news, news", s.take())
		var told []string
		for _, u := range e.updates(id) {
			switch {
			case u.Notice != nil:
				told = append(told, fmt.Sprint(u.Notice.Severity, ": ", u.Notice.Title))
			case u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text.Text != "":
				told = append(told, u.AgentMessageChunk.Content.Text.Text)
			}
		}
		if notices {
			require.Equal(t, []string{"warning: one cannot be used", "warning: and more", "(a)", "warning: it is gone"}, told)
		} else {
			require.Equal(t, []string{"one cannot\nbe used\n\nand more", "(a)", "it is gone"}, told)
		}
		load := func(servers string) {
			t.Helper()
			answer := e.call(acp.MethodResumeSession, fmt.Sprintf(`{"sessionId":%q,"cwd":"/repo","mcpServers":[%s]}`, id, servers))
			require.Nil(t, answer.Error, answer.Text)
		}
		load(stdioServer)
		require.Empty(t, s.take(), "they are the same")
		load(strings.ReplaceAll(stdioServer, "one", "two"))
		require.Equal(t, "close, open [two]", s.take())
		load("")
		require.Equal(t, "close, open []", s.take())
		load("")
		require.Empty(t, s.take())
		require.Nil(t, e.about(acp.MethodCloseSession, id, "").Error)
		require.Equal(t, "close", s.take())
		load(`{"type":"http","name":"web","url":"https://a.example","headers":[]}`)
		require.Equal(t, "open [web]", s.take())
		require.NoError(t, e.stop())
		require.Equal(t, "close", s.take())
	}
}

// Servers that the client hosts are used with the parts of the protocol that are not stable, and nowhere else.
func TestServersThatAClientHostsAreUsed(t *testing.T) {
	for _, unstable := range []bool{true, false} {
		h := &hosting{heard: make(chan struct{}, 1)}
		c := stored(t, newStore(), echo())
		c.MCP, c.Unstable = h, unstable
		e := serve(t, c)
		text := e.initialize(`{}`).Text
		require.Equal(t, unstable, strings.Contains(text, `"acp":true`), text)
		made := e.call(acp.MethodNewSession, `{"cwd":"/repo","mcpServers":[`+stdioServer+`]}`)
		require.Nil(t, made.Error)
		want := "open [one]"
		if unstable {
			want = "open hosted [one] true"
		}
		require.Equal(t, want, h.take())
		e.write(`{"jsonrpc":"2.0","method":"mcp/message","params":{"serverId":"c","requestId":"r","method":"notifications/x"}}` + "\n")
		if want = "close"; unstable {
			<-h.heard
			want = "message notifications/x true, close"
		}
		require.NoError(t, e.stop())
		require.Equal(t, want, h.take())
	}
	c := config(t, echo())
	c.Unstable, c.MCP = true, &servers{}
	require.NotContains(t, serve(t, c).initialize(`{}`).Text, `"acp":true`, "those of this program cannot be hosted")
}

// Without MCP servers, those that a client names are logged by their names.
func TestServersThatAreNotUsedAreNamed(t *testing.T) {
	var log logBuffer
	c := config(t, echo())
	c.Host.Logger = log.logger()
	e := serve(t, c)
	e.initialize(`{}`)
	made := e.call(acp.MethodNewSession, `{"cwd":"/repo","mcpServers":[`+stdioServer+`,{"type":"http","name":"web","url":"https://a.example","headers":[]},{"type":"sse","name":"old","url":"https://a.example","headers":[]},{"type":"odd","name":"x"}]}`)
	require.Nil(t, made.Error, made.Text)
	for _, name := range []string{"one", "web", "old", `"of an unknown kind"`} {
		require.Contains(t, log.String(), `level=WARN msg="acpbridge: an MCP server of the client is not used: Options.MCP is not set" session=`)
		require.Contains(t, log.String(), " server="+name+"\n")
	}
}

// A session without an editor has the program's servers from its first turn until its dependencies are released: whoever only looks at
// it starts none. What is new of them is told in notices.
func TestServersOfSessionsWithoutAnEditor(t *testing.T) {
	s := &servers{news: [][]string{{"one cannot\nbe used", "and more"}, {"it is gone"}}}
	a, err := agent.New(agent.Config[deps.ACPDeps, string]{Model: echo()})
	require.NoError(t, err)
	h, err := host.New(host.Config[deps.ACPDeps, string]{
		Agent: a, Logger: slog.New(slog.DiscardHandler),
		Deps: func(_ context.Context, of *host.Session) (deps.ACPDeps, error) {
			return acpbridge.DepsOf(of, acpbridge.LocalFallback{MCP: s})
		},
	})
	require.NoError(t, err)
	of, err := h.Create(t.Context(), session.New{Dir: t.TempDir()}, host.Local)
	require.NoError(t, err)
	_, err = h.Create(t.Context(), session.New{Dir: t.TempDir()}, host.Local)
	require.NoError(t, err)
	require.Empty(t, s.take())
	o, err := of.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User("a")}})
	require.NoError(t, err)
	require.NoError(t, o.Err)
	require.Equal(t, "open [], news, news", s.take())
	var shown []string
	require.NoError(t, of.View(t.Context(), func(f *view.Fold) {
		for e := range f.Snapshot().All() {
			switch e.Kind {
			case view.Notice:
				shown = append(shown, e.Class+": "+e.Title)
			case view.Message:
				shown = append(shown, e.Content[0].Text)
			}
		}
	}))
	require.Equal(t, []string{"warning: one cannot be used", "warning: and more", "a", "(a)", "warning: it is gone"}, shown)
	require.NoError(t, h.Close(t.Context()))
	require.Equal(t, "close", s.take())
}

// unhurried is a store whose entries are read when the request has been cancelled, while wait is set.
type unhurried struct {
	session.Store
	wait    *atomic.Bool
	reading chan struct{}
}

func (s unhurried) Load(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
	if s.wait.Load() {
		s.reading <- struct{}{}
		<-ctx.Done()
	}
	return s.Store.Load(context.WithoutCancel(ctx), id, after)
}

// A session whose load is cancelled closes no servers: none have been opened for it, and others may use theirs. It is left, so
// that the next load has it.
func TestServersOfSessionsThatAreNotLoadedStay(t *testing.T) {
	s, store := &servers{}, unhurried{new(session.Memory), new(atomic.Bool), make(chan struct{})}
	c := stored(t, lasting{store}, echo())
	c.MCP = s
	e, id := start(t, c)
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "a"))
	require.Nil(t, e.about(acp.MethodCloseSession, id, "").Error)
	require.Equal(t, "open [], news, news, close", s.take())
	store.wait.Store(true)
	n, line := e.request(acp.MethodLoadSession, loadParams(id, "/repo"))
	e.write(line)
	<-store.reading
	store.wait.Store(false)
	e.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%d}}`+"\n", n))
	require.NotNil(t, e.answer(n).Error)
	require.Empty(t, s.take())
	require.Nil(t, e.load(acp.MethodLoadSession, id).Error)
	require.NoError(t, e.stop())
	require.Equal(t, "open [], close", s.take())
}
