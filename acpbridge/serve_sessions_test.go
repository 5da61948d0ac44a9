// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/session/host"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
)

// lasting is a store in memory that hosts take for one that lasts.
type lasting struct{ session.Store }

func newStore() session.Store { return lasting{new(session.Memory)} }

// stored is the configuration of an agent whose sessions last.
func stored(t testing.TB, store session.Store, m model.Model, tools ...*toolset.Tool[bare]) acpbridge.Config[bare, string] {
	c := config(t, m, tools...)
	c.Host.Store = store
	c.Host.Info = &model.Info{ContextWindow: 1000}
	return c
}

func (e *editor) load(method string, id acp.SessionID) wireLine {
	e.t.Helper()
	return e.call(method, fmt.Sprintf(`{"sessionId":%q,"cwd":"/repo","mcpServers":[]}`, id))
}

// folded returns what a client shows of updates, an entity a line. Times are left out.
func folded(t *testing.T, prompts []string, updates []acp.SessionUpdate) []string {
	t.Helper()
	var f acpclient.Fold
	for _, u := range updates {
		if u.UserMessageChunk == nil && len(prompts) > 0 { // live, a client shows its prompt itself
			f.Prompt(acp.TextBlock(prompts[0]))
			prompts = prompts[1:]
		}
		require.NoError(t, f.Apply(&u))
	}
	var all []string
	for e := range f.View().Snapshot().All() {
		if e.Kind == view.Session || e.Kind == view.Commands {
			continue
		}
		data, err := json.Marshal(e)
		require.NoError(t, err)
		all = append(all, string(data))
	}
	return all
}

// What a tool tells the user, in events or by its client, is there for everybody who loads the session, and notices
// are for clients that take them.
func TestWhatToolsTellTheUserIsLoaded(t *testing.T) {
	for _, capabilities := range []string{`{}`, `{"session":{"notices":{}}}`} {
		store := newStore()
		tell := tool("tell", func(ctx context.Context, run *toolset.RunContext[bare]) (string, error) {
			run.Emit(acp.TextChunk("I am "))
			run.Emit(acp.TextChunk("looking."))
			run.Emit(acp.SessionUpdate{Notice: &acp.Notice{Severity: acp.NoticeSeverityWarning, Title: "Nearly full"}})
			d := run.Deps.ACP()
			update := func(u acp.SessionUpdate) error {
				return d.Client.SessionUpdate(ctx, &acp.SessionNotification{SessionID: d.Session.ID, Update: u})
			}
			require.NoError(t, update(acp.TextChunk("And I see.")))
			require.NoError(t, update(acp.SessionUpdate{ToolCall: &acp.ToolCall{ToolCallID: "own", Title: "Of my own", Status: acp.ToolCallStatusInProgress}}))
			require.NoError(t, update(acp.SessionUpdate{ToolCallUpdate: &acp.ToolCallUpdate{ToolCallID: "own", Status: acp.ToolCallStatusCompleted}}))
			require.Error(t, update(acp.SessionUpdate{UserMessageChunk: &acp.ContentChunk{Content: acp.TextBlock("forged")}}))
			return "told", nil
		})
		m := modeltest.Script(modeltest.Say(model.ToolCall("a", "tell", `{}`)), modeltest.SayText("Done."))
		e := serve(t, stored(t, store, m, tell))
		e.initialize(capabilities)
		id := e.newSession()
		requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "Go"))
		live := e.updates(id)
		require.NoError(t, e.stop())
		again := serve(t, stored(t, store, modeltest.Script(), tell))
		again.initialize(capabilities)
		require.Nil(t, again.load(acp.MethodLoadSession, id).Error)
		shown := folded(t, []string{"Go"}, live)
		require.Equal(t, shown, folded(t, nil, again.updates(id)))
		all := strings.Join(shown, "\n")
		require.Contains(t, all, "I am looking.")
		require.Contains(t, all, "And I see.")
		require.Contains(t, all, `"title":"Of my own","status":"completed"`)
		require.NotContains(t, all, "forged")
		require.Equal(t, capabilities != `{}`, strings.Contains(all, "Nearly full"))
	}
}

func TestLoadedSessionShowsWhatWasShown(t *testing.T) {
	store := newStore()
	plan := tool("plan", func(ctx context.Context, run *toolset.RunContext[bare]) (string, error) {
		run.Emit(acp.SessionUpdate{Plan: &acp.Plan{Entries: []acp.PlanEntry{{Content: "Look", Status: acp.PlanEntryStatusPending, Priority: acp.PlanEntryPriorityHigh}}}})
		id := deps.ToolCallID(run.RunID, run.Step, run.Call.ID)
		require.NoError(t, run.Deps.Tracker.Update(ctx, acp.ToolCallUpdate{
			ToolCallID: id, Title: new("Edit main.go"), Locations: []acp.ToolCallLocation{{Path: "/repo/main.go"}},
			Content: []acp.ToolCallContent{{Diff: &acp.Diff{Path: "/repo/main.go", NewText: "package main"}}},
		}))
		return "planned", nil
	})
	m := modeltest.Script(
		modeltest.Say(model.Thinking("Two cities."), model.Text("Let me look."), model.ToolCall("a", "forecast", `{"city":"Oslo"}`), model.ToolCall("b", "plan", `{}`)),
		modeltest.SayText("21 degrees in Oslo."))
	e, id := start(t, stored(t, store, m, forecast(), plan))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "Weather in Oslo?"))
	live := e.updates(id)
	require.Equal(t, acp.Replace("Weather in Oslo?"), infoOf(live).Title)
	require.NoError(t, e.stop())

	again := serve(t, stored(t, store, modeltest.Script(modeltest.SayText("Cold.")), forecast(), plan))
	again.initialize(`{}`)
	answer := again.load(acp.MethodLoadSession, id)
	require.Nil(t, answer.Error)
	replayed := again.updates(id)
	lines := again.all()
	require.True(t, lines[len(lines)-1].Is(2), "everything is replayed before the answer")
	require.Equal(t, folded(t, []string{"Weather in Oslo?"}, live), folded(t, nil, replayed))
	require.Equal(t, acp.Replace("Weather in Oslo?"), infoOf(replayed).Title)
	messages := map[acp.MessageID]bool{}
	for _, u := range live {
		if u.AgentMessageChunk != nil {
			messages[u.AgentMessageChunk.MessageID] = true
		}
	}
	for _, u := range replayed {
		if u.AgentMessageChunk != nil {
			require.True(t, messages[u.AgentMessageChunk.MessageID], "messages keep their ids")
		}
	}
	requireStop(t, acp.StopReasonEndTurn, again.prompt(id, "And tomorrow?"))
	require.Contains(t, again.text(id), "Cold.")
	requireError(t, acp.CodeResourceNotFound, acpbridge.KindSession, again.load(acp.MethodLoadSession, "unknown"))
}

func infoOf(updates []acp.SessionUpdate) *acp.SessionInfoUpdate {
	for _, u := range updates {
		if u.SessionInfoUpdate != nil {
			return u.SessionInfoUpdate
		}
	}
	return &acp.SessionInfoUpdate{}
}

func TestResumedSessionReplaysNothing(t *testing.T) {
	store := newStore()
	e, id := start(t, stored(t, store, modeltest.Script(modeltest.SayText("one"))))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "first"))
	require.NoError(t, e.stop())
	m := modeltest.Script(modeltest.SayText("two"))
	again := serve(t, stored(t, store, m))
	again.initialize(`{}`)
	require.Nil(t, again.load(acp.MethodResumeSession, id).Error)
	require.Empty(t, again.updates(id))
	requireStop(t, acp.StopReasonEndTurn, again.prompt(id, "second"))
	require.Len(t, m.Requests()[0].Messages, 3, "the model knows the conversation")
}

func TestSessionsAreListedByPage(t *testing.T) {
	store := newStore()
	for n := range 120 {
		dir := "/repo"
		if n%2 == 1 {
			dir = "/other"
		}
		_, err := store.Create(t.Context(), session.New{ID: fmt.Sprintf("s%03d", n), Title: fmt.Sprint("Title ", n), Dir: dir})
		require.NoError(t, err)
	}
	e := serve(t, stored(t, store, modeltest.Script()))
	e.initialize(`{}`)
	seen, cursor := map[acp.SessionID]bool{}, ""
	for pages := 1; ; pages++ {
		var page acp.ListSessionsResponse
		params := `{"cwd":"/repo/"}`
		if cursor != "" {
			params = fmt.Sprintf(`{"cwd":"/repo","cursor":%q}`, cursor)
		}
		require.NoError(t, json.Unmarshal(e.call(acp.MethodListSessions, params).Result, &page))
		for _, s := range page.Sessions {
			require.False(t, seen[s.SessionID])
			require.Equal(t, "/repo", s.Cwd)
			require.NotEmpty(t, *s.Title)
			_, err := time.Parse(time.RFC3339, *s.UpdatedAt)
			require.NoError(t, err)
			seen[s.SessionID] = true
		}
		if page.NextCursor == nil {
			require.Equal(t, 2, pages)
			break
		}
		cursor = *page.NextCursor
	}
	require.Len(t, seen, 60)
	require.Contains(t, string(e.call(acp.MethodListSessions, `{"cwd":"/nowhere"}`).Result), `"sessions":[]`)
	requireError(t, acp.CodeInvalidParams, acpbridge.KindSession, e.call(acp.MethodListSessions, `{"cursor":"%%%"}`))
}

func TestDeletedSessionsAreGone(t *testing.T) {
	store := newStore()
	e, id := start(t, stored(t, store, modeltest.Script(modeltest.SayText("one"))))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "first"))
	require.JSONEq(t, `{}`, string(e.call(acp.MethodDeleteSession, fmt.Sprintf(`{"sessionId":%q}`, id)).Result))
	requireError(t, acp.CodeResourceNotFound, acpbridge.KindSession, e.prompt(id, "second"))
	_, err := store.Get(t.Context(), string(id))
	require.ErrorIs(t, err, session.ErrNotFound)
	require.JSONEq(t, `{}`, string(e.call(acp.MethodDeleteSession, `{"sessionId":"unknown"}`).Result), "that there is none is no error")
}

func TestClosedSessionsCanBeLoaded(t *testing.T) {
	store := newStore()
	e, id := start(t, stored(t, store, modeltest.Script(modeltest.SayText("one"))))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "first"))
	require.Nil(t, e.call(acp.MethodCloseSession, fmt.Sprintf(`{"sessionId":%q}`, id)).Error)
	before := len(e.updates(id))
	require.Nil(t, e.load(acp.MethodLoadSession, id).Error)
	require.Greater(t, len(e.updates(id)), before)
	empty := e.newSession()
	require.Nil(t, e.call(acp.MethodCloseSession, fmt.Sprintf(`{"sessionId":%q}`, empty)).Error)
	requireError(t, acp.CodeResourceNotFound, acpbridge.KindSession, e.load(acp.MethodLoadSession, empty))
}

// TestPromptWaitsWhileAnotherProgramHasTheSession sends a prompt while another program runs a
// turn.
func TestPromptWaitsWhileAnotherProgramHasTheSession(t *testing.T) {
	store := newStore()
	e, id := start(t, stored(t, store, modeltest.Script(modeltest.SayText("one"), modeltest.SayText("two"))))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "first"))
	lease, err := store.Acquire(t.Context(), string(id), session.Claim{Holder: "another machine", Force: true})
	require.NoError(t, err)
	waits := e.sendPrompt(id, "second")
	require.Eventually(t, func() bool {
		info, err := store.Get(t.Context(), string(id))
		return err == nil && info.Waiting == 1
	}, time.Minute, time.Millisecond)
	require.NoError(t, store.Release(t.Context(), lease))
	requireStop(t, acp.StopReasonEndTurn, e.answer(waits))
}

// TestSecondProgramHasTheSessionToo opens a session in two programs. One of them runs a turn at a
// time.
func TestSecondProgramHasTheSessionToo(t *testing.T) {
	store := newStore()
	e, id := start(t, stored(t, store, modeltest.Script(modeltest.SayText("one"))))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "first"))
	other := serve(t, stored(t, store, modeltest.Script(modeltest.SayText("two"))))
	other.initialize(`{}`)
	require.Nil(t, other.load(acp.MethodLoadSession, id).Error)
	lease, err := store.Acquire(t.Context(), string(id), session.Claim{Holder: "process 7"})
	require.NoError(t, err)
	answer := serve(t, stored(t, store, modeltest.Script())).load(acp.MethodDeleteSession, id)
	require.NotNil(t, answer.Error)
	require.NoError(t, store.Release(t.Context(), lease))
	requireStop(t, acp.StopReasonEndTurn, other.prompt(id, "second"))
}

func TestSessionMethodsNeedAStore(t *testing.T) {
	e, id := start(t, config(t, modeltest.Script()))
	for _, method := range []string{acp.MethodLoadSession, acp.MethodResumeSession, acp.MethodDeleteSession, acp.MethodListSessions} {
		require.Equal(t, acp.CodeMethodNotFound, e.load(method, id).Error.Code)
	}
	var r acp.InitializeResponse
	require.NoError(t, json.Unmarshal(serve(t, config(t, modeltest.Script())).initialize(`{}`).Result, &r))
	require.False(t, r.AgentCapabilities.LoadSession)
	require.Nil(t, r.AgentCapabilities.SessionCapabilities.List)
	require.NoError(t, json.Unmarshal(serve(t, stored(t, newStore(), modeltest.Script())).initialize(`{}`).Result, &r))
	require.True(t, r.AgentCapabilities.LoadSession)
	can := r.AgentCapabilities.SessionCapabilities
	require.NotNil(t, can.List)
	require.NotNil(t, can.Delete)
	require.NotNil(t, can.Resume)
}

func TestIdleSessionsAreReleasedAndWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made, released := 0, 0
		c := stored(t, newStore(), modeltest.Script(modeltest.SayText("one"), modeltest.SayText("two")))
		c.Deps = func(_ context.Context, d deps.ACPDeps) (bare, error) { made++; return d, nil }
		c.Host.Release = func(_ context.Context, _ *host.Session, _ bare) error { released++; return nil }
		e, id := start(t, c)
		requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "first"))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.Equal(t, []int{1, 1}, []int{made, released})
		requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "second"))
		require.Equal(t, 2, made)
		require.NoError(t, e.stop())
		require.Equal(t, 2, released)
	})
}

func TestToolCallIDsAreThoseOfTheProjection(t *testing.T) {
	for _, run := range []string{"RUN", "RUN/1/c", "a%b"} {
		const step = 3
		require.Equal(t, "call:"+string(deps.ToolCallID(run, step, "x/y")), transcript.CallID(run, step, "x/y"))
	}
}
