// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acp/unstable"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
)

// opened notes which MCP servers sessions have.
type openedServers struct {
	mu  sync.Mutex
	all map[acp.SessionID]int
}

func (o *openedServers) Capabilities() acp.MCPCapabilities   { return acp.MCPCapabilities{} }
func (o *openedServers) News(acp.SessionID) (lines []string) { return nil }
func (o *openedServers) Close(acp.SessionID)                 {}
func (o *openedServers) Open(s *deps.Session, servers []acp.MCPServer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = map[acp.SessionID]int{}
	}
	o.all[s.ID] = len(servers)
}

func unstableConfig(t *testing.T, store session.Store, m model.Model, tools ...*toolset.Tool[bare]) acpbridge.Config[bare, string] {
	c := stored(t, store, m, tools...)
	c.Unstable = true
	c.Host.Modes = host.Modes()
	return c
}

// about calls a method that takes a session.
func (e *editor) about(method string, id acp.SessionID, more string) wireLine {
	e.t.Helper()
	return e.call(method, fmt.Sprintf(`{"sessionId":%q%s}`, id, more))
}

// list returns the ids of the sessions of the first page.
func (e *editor) list(params string) (ids []acp.SessionID, archived []bool) {
	e.t.Helper()
	var page struct {
		Sessions []struct {
			SessionID acp.SessionID
			Archived  bool
		}
	}
	answer := e.call(acp.MethodListSessions, params)
	require.Nil(e.t, answer.Error)
	require.NoError(e.t, json.Unmarshal(answer.Result, &page))
	for _, s := range page.Sessions {
		ids, archived = append(ids, s.SessionID), append(archived, s.Archived)
	}
	return ids, archived
}

func TestForkHasWhatTheSessionHas(t *testing.T) {
	store, servers := newStore(), &openedServers{}
	m := modeltest.Script(modeltest.Say(model.ToolCall("1", "look", "{}")), modeltest.SayText("one"), modeltest.Say(model.ToolCall("1", "look", "{}")), modeltest.SayText("two"), modeltest.SayText("three"))
	c := unstableConfig(t, store, m, guarded())
	c.MCP = servers
	dirs := map[acp.SessionID][]string{}
	var mu sync.Mutex
	c.Deps = func(_ context.Context, d deps.ACPDeps) (bare, error) {
		mu.Lock()
		defer mu.Unlock()
		dirs[d.Session.ID] = append([]string{d.Session.Cwd}, d.Session.AdditionalDirectories...)
		return d, nil
	}
	e, id := start(t, c)
	turn := e.sendPrompt(id, "first")
	e.allowing(0, "allow_always")
	requireStop(t, acp.StopReasonEndTurn, e.answer(turn))
	require.Nil(t, e.about(acp.MethodSetSessionMode, id, `,"modeId":"code"`).Error)

	answer := e.about(unstable.MethodForkSession, id, `,"cwd":"/other","additionalDirectories":["/lib"],"mcpServers":[{"name":"m","command":"m","args":[],"env":[]}]`)
	require.Nil(t, answer.Error)
	var forked unstable.ForkSessionResponse
	require.NoError(t, json.Unmarshal(answer.Result, &forked))
	require.NotEqual(t, id, forked.SessionID)
	require.Equal(t, acp.SessionModeID("code"), forked.Modes.CurrentModeID, "settings are copied")
	require.NotEmpty(t, forked.ConfigOptions)
	require.Equal(t, []string{"/other", "/lib"}, dirs[forked.SessionID])
	require.Equal(t, 1, servers.all[forked.SessionID], "the servers of the request are connected")

	turn = e.sendPrompt(forked.SessionID, "second")
	require.Equal(t, 2, e.allowing(1, "allow_once"), "what was allowed was allowed for the other session")
	requireStop(t, acp.StopReasonEndTurn, e.answer(turn))
	require.Len(t, m.Requests()[2].Messages, 5, "the model knows the conversation")
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "third"))
	require.Len(t, m.Requests()[4].Messages, 5, "and the other session nothing of the fork")
	ids, _ := e.list(`{"cwd":"/other"}`)
	require.Equal(t, []acp.SessionID{forked.SessionID}, ids)

	require.Nil(t, e.about(unstable.MethodForkSession, forked.SessionID, `,"cwd":"/other"`).Error)
	var page acp.ListSessionsResponse
	require.NoError(t, json.Unmarshal(e.call(acp.MethodListSessions, `{"cwd":"/other"}`).Result, &page))
	require.Empty(t, page.Sessions[0].AdditionalDirectories, "a fork has the directories that are asked for")
	require.Equal(t, "first", *page.Sessions[0].Title)

	requireError(t, acp.CodeResourceNotFound, acpbridge.KindSession, e.about(unstable.MethodForkSession, "unknown", `,"cwd":"/repo"`))
	requireError(t, acp.CodeInvalidParams, acpbridge.KindSession, e.about(unstable.MethodForkSession, id, `,"cwd":"repo"`))
	requireError(t, acp.CodeInvalidParams, acpbridge.KindSession, e.about(unstable.MethodForkSession, id, `,"cwd":"/repo","systemPrompt":{"mode":"append","content":[]}`))
}

func TestForkNeedsAQuietSession(t *testing.T) {
	called := make(chan struct{})
	e, id := start(t, unstableConfig(t, newStore(), modeltest.Script(modeltest.Say(model.ToolCall("1", "wait", "{}"))), waits("wait", called)))
	turn := e.sendPrompt(id, "go")
	<-called
	requireError(t, acp.CodeInvalidRequest, acpbridge.KindBusy, e.about(unstable.MethodForkSession, id, `,"cwd":"/repo"`))
	e.write(cancelLine(id))
	requireStop(t, acp.StopReasonCancelled, e.answer(turn))
}

func TestForkThatCannotBeOpenedIsNotLeft(t *testing.T) {
	store, n := newStore(), 0
	c := unstableConfig(t, store, modeltest.Script(modeltest.SayText("one")))
	c.Deps = func(_ context.Context, d deps.ACPDeps) (bare, error) {
		if n++; n == 2 {
			return d, fmt.Errorf("no room")
		}
		return d, nil
	}
	e, id := start(t, c)
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "first"))
	answer := e.about(unstable.MethodForkSession, id, `,"cwd":"/repo"`)
	requireError(t, acp.CodeInternal, acpbridge.KindSession, answer)
	require.Equal(t, "the session cannot be forked: no room", answer.Error.Message)
	ids, _ := e.list(`{}`)
	require.Equal(t, []acp.SessionID{id}, ids)
}

func TestArchivedSessionsAreLeftOut(t *testing.T) {
	called := make(chan struct{})
	store := newStore()
	c := unstableConfig(t, store, modeltest.Script(modeltest.Say(model.ToolCall("1", "wait", "{}"))), waits("wait", called))
	e, id := start(t, c)
	turn := e.sendPrompt(id, "go")
	<-called
	empty := e.newSession()
	require.JSONEq(t, `{}`, string(e.about(unstable.MethodArchiveSession, id, "").Result))
	requireStop(t, acp.StopReasonCancelled, e.answer(turn))
	require.JSONEq(t, `{}`, string(e.about(unstable.MethodArchiveSession, empty, "").Result), "without a prompt it is kept too")
	require.JSONEq(t, `{}`, string(e.about(unstable.MethodArchiveSession, id, "").Result), "it is archived already")
	requireError(t, acp.CodeResourceNotFound, acpbridge.KindSession, e.prompt(id, "more"))

	ids, _ := e.list(`{}`)
	require.Empty(t, ids)
	ids, archived := e.list(`{"archived":"only"}`)
	require.ElementsMatch(t, []acp.SessionID{id, empty}, ids)
	require.Equal(t, []bool{true, true}, archived)
	require.JSONEq(t, `{}`, string(e.about(unstable.MethodUnarchiveSession, id, "").Result))
	require.JSONEq(t, `{}`, string(e.about(unstable.MethodUnarchiveSession, id, "").Result), "it is not archived")
	ids, _ = e.list(`{"archived":"exclude"}`)
	require.Equal(t, []acp.SessionID{id}, ids)
	ids, archived = e.list(`{"archived":"include"}`)
	require.Len(t, ids, 2)
	require.ElementsMatch(t, []bool{true, false}, archived)
	require.Nil(t, e.load(acp.MethodLoadSession, id).Error)

	requireError(t, acp.CodeInvalidParams, acpbridge.KindSession, e.call(acp.MethodListSessions, `{"archived":"some"}`))
	for _, method := range []string{unstable.MethodArchiveSession, unstable.MethodUnarchiveSession} {
		requireError(t, acp.CodeResourceNotFound, acpbridge.KindSession, e.about(method, "unknown", ""))
	}
	other := serve(t, unstableConfig(t, store, modeltest.Script()))
	other.initialize(`{}`)
	lease, err := store.Acquire(t.Context(), string(id), session.Claim{Holder: "process 7"})
	require.NoError(t, err)
	requireError(t, acp.CodeInvalidRequest, acpbridge.KindHeld, other.about(unstable.MethodArchiveSession, id, ""))
	require.NoError(t, store.Release(t.Context(), lease))
}

func TestFarSessionsAreFoundBehindArchivedOnes(t *testing.T) {
	store := newStore()
	for n := range 130 {
		s := session.New{ID: fmt.Sprint("s", n), Dir: "/repo", Values: map[string]json.RawMessage{"archived": json.RawMessage("true")}}
		if n == 0 {
			s.Values = nil
		}
		_, err := store.Create(t.Context(), s)
		require.NoError(t, err)
	}
	e := serve(t, unstableConfig(t, store, modeltest.Script()))
	e.initialize(`{}`)
	ids, _ := e.list(`{}`)
	require.Equal(t, []acp.SessionID{"s0"}, ids)
}

func TestTitleThatAPersonSetStays(t *testing.T) {
	store := newStore()
	e, id := start(t, unstableConfig(t, store, modeltest.Script(modeltest.SayText("one"))))
	answer := e.about(unstable.MethodSetSessionTitle, id, `,"title":"  My\n\u0007 title "`)
	require.JSONEq(t, `{"title":"My ⟨BEL⟩ title"}`, string(answer.Result))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "first"))
	require.Equal(t, acp.Replace("My ⟨BEL⟩ title"), infoOf(e.updates(id)).Title, "the client is told")
	require.NoError(t, e.stop())

	again := serve(t, unstableConfig(t, store, modeltest.Script()))
	again.initialize(`{}`)
	require.Nil(t, again.about(unstable.MethodSetSessionTitle, id, fmt.Sprintf(`,"title":%q`, strings.Repeat("x", 300))).Error, "it need not be open")
	info, err := store.Get(t.Context(), string(id))
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("x", 199)+"…", info.Title)
	requireError(t, acp.CodeInvalidParams, acpbridge.KindSession, again.about(unstable.MethodSetSessionTitle, id, `,"title":" \n"`))
	requireError(t, acp.CodeResourceNotFound, acpbridge.KindSession, again.about(unstable.MethodSetSessionTitle, "unknown", `,"title":"x"`))
	require.Equal(t, acp.CodeInvalidParams, again.about(unstable.MethodSetSessionTitle, id, "").Error.Code)
}

func TestStatusOfSessions(t *testing.T) {
	store := newStore()
	e, id := start(t, unstableConfig(t, store, modeltest.Script(modeltest.SayText("one"))))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "first"))
	require.JSONEq(t, `{"status":"open"}`, string(e.about(unstable.MethodSessionStatus, id, "").Result))
	other := serve(t, unstableConfig(t, store, modeltest.Script()))
	other.initialize(`{}`)
	require.JSONEq(t, `{"status":"saved"}`, string(other.about(unstable.MethodSessionStatus, id, "").Result), "no process runs a turn of it")
	require.Nil(t, e.about(acp.MethodCloseSession, id, "").Error)
	require.JSONEq(t, `{"status":"saved"}`, string(e.about(unstable.MethodSessionStatus, id, "").Result))
	unknown := e.about(unstable.MethodSessionStatus, "unknown", "")
	requireError(t, acp.CodeResourceNotFound, acpbridge.KindSession, unknown)
	require.Equal(t, "unknown", unknown.Error.Data["sessionId"])
}

// TestUnstableMethodsAreListed finds handlers that are not in unstableMethods: they would be answered as unknown methods.
func TestUnstableMethodsAreListed(t *testing.T) {
	var listed, handlers []string
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil && types.ExprString(n.Recv.List[0].Type) == "*unstableAgent" && n.Type.Results.NumFields() == 2 { // a request
					handlers = append(handlers, "unstable.Method"+n.Name.Name)
				}
			case *ast.ValueSpec:
				if n.Names[0].Name == "unstableMethods" {
					for _, element := range n.Values[0].(*ast.CompositeLit).Elts {
						listed = append(listed, types.ExprString(element))
					}
				}
			}
			return true
		})
	}
	require.ElementsMatch(t, handlers, listed, "unstableMethods in unstable.go")
}

func TestUnstableIsOptIn(t *testing.T) {
	for _, on := range []bool{false, true} {
		c := stored(t, newStore(), modeltest.Script(modeltest.SayText("one")))
		c.Unstable = on
		e := serve(t, c)
		hello := string(e.initialize(`{"plan":{},"subagents":{}}`).Result)
		id := e.newSession()
		turn := e.prompt(id, "go")
		require.Equal(t, on, strings.Contains(hello, `"fork":{}`), hello)
		require.Equal(t, on, strings.Contains(hello, `"archive":{}`) && strings.Contains(hello, `"status":{}`) && strings.Contains(hello, `"title":{}`))
		require.Equal(t, on, strings.Contains(string(turn.Result), `"usage":{"totalTokens":15,"inputTokens":10,"outputTokens":5}`), turn.Text)
		if !on {
			require.Equal(t, acp.CodeMethodNotFound, e.about(unstable.MethodForkSession, id, `,"cwd":"/repo"`).Error.Code)
		}
		require.Equal(t, acp.CodeMethodNotFound, e.call(unstable.MethodListProviders, `{}`).Error.Code, "what nobody serves")
	}
	c := config(t, modeltest.Script())
	c.Unstable = true
	c.Conn.ExtMethod = func(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`"own"`), nil
	}
	e := serve(t, c)
	require.NotContains(t, string(e.initialize(`{}`).Result), "fork", "without a store there is nothing to fork")
	require.JSONEq(t, `"own"`, string(e.call(unstable.MethodListProviders, `{}`).Result), "the program's own handlers stay")
}
