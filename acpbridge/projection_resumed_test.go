// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// endedCalls checks that each call is announced once, before its updates, and has ended, and returns how, by titles in order.
func endedCalls(t *testing.T, updates []acp.SessionUpdate) (all []string) {
	t.Helper()
	statuses, order := map[acp.ToolCallID]acp.ToolCallStatus{}, []acp.ToolCallID{}
	titles := map[acp.ToolCallID]string{}
	for _, u := range updates {
		switch {
		case u.ToolCall != nil:
			id := u.ToolCall.ToolCallID
			require.NotContains(t, statuses, id, "a call is announced twice")
			statuses[id], titles[id], order = u.ToolCall.Status, u.ToolCall.Title, append(order, id)
		case u.ToolCallUpdate != nil:
			id := u.ToolCallUpdate.ToolCallID
			require.Contains(t, statuses, id, "an update is of a call that was not announced")
			if u.ToolCallUpdate.Status != "" {
				statuses[id] = u.ToolCallUpdate.Status
			}
		}
	}
	for _, id := range order {
		require.True(t, view.Status(statuses[id]).Ended(), "%s is %s", titles[id], statuses[id])
		all = append(all, titles[id]+" "+string(statuses[id]))
	}
	return all
}

// TestResumedCallsAreShownOnce has a turn wait for a result and an approval that come later, elsewhere, and an editor load the session. The
// run that resumes the calls has another id, and its model uses the ids of the calls again.
func TestResumedCallsAreShownOnce(t *testing.T) {
	store := newStore()
	ok := func(context.Context, *toolset.RunContext[bare]) (string, error) { return "ok", nil }
	tools := []*toolset.Tool[bare]{
		tool("elsewhere", ok, func(o *toolset.Options) { o.External = true }), tool("add", ok),
		toolset.Func("pay", "", func(context.Context, *toolset.RunContext[bare], none) (string, error) { return "paid", nil },
			toolset.Approve(func(context.Context, *toolset.RunContext[bare], none) (*toolset.Approval, error) {
				return &toolset.Approval{}, nil
			})),
	}
	script := modeltest.Script(
		modeltest.Say(model.ToolCall("1", "elsewhere", "{}"), model.ToolCall("2", "add", "{}"), model.ToolCall("3", "pay", "{}")),
		modeltest.Say(model.ToolCall("1", "elsewhere", "{}"), model.ToolCall("3", "add", "{}")),
		modeltest.Say(model.ToolCall("1", "add", "{}")),
		modeltest.SayText("done"))
	c := stored(t, store, script, tools...)

	// Elsewhere, without an editor: the run waits twice, in two processes.
	var id string
	for turn := range 3 {
		h, err := host.New(host.Config[bare, string]{Agent: c.Host.Agent, Store: store, Deps: func(context.Context, *host.Session) (bare, error) { return bare{}, nil }})
		require.NoError(t, err)
		var s *host.Session
		if turn == 0 {
			s, err = h.Create(t.Context(), session.New{Dir: t.TempDir()}, nil)
			require.NoError(t, err)
			id = s.ID()
			o, err := s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User("Go.")}})
			require.NoError(t, err)
			require.ErrorAs(t, o.Err, new(*agent.PendingError))
		} else {
			s, err = h.Open(t.Context(), id, nil)
			require.NoError(t, err)
			snapshot, _, err := s.Snapshot(t.Context())
			require.NoError(t, err)
			var resumed *host.Turn
			for q := range snapshot.Of(view.Question) {
				if q.Status.Ended() {
					continue
				}
				a := host.Answer{Digest: q.Digest, Result: &toolset.Result{Text: "from elsewhere"}}
				if q.Name == "pay" {
					a = host.Answer{Digest: q.Digest, Choice: host.AllowOnce}
				}
				require.Nil(t, resumed)
				resumed, err = s.Answer(t.Context(), q.ID, "", a)
				require.NoError(t, err)
			}
			require.NotNil(t, resumed)
			o := resumed.Resume(host.Prompt{})
			if turn == 1 {
				require.ErrorAs(t, o.Err, new(*agent.PendingError))
			} else {
				require.NoError(t, o.Err)
			}
		}
		require.NoError(t, h.Close(context.Background()))
	}

	e := serve(t, c)
	e.initialize("{}")
	require.Nil(t, e.load(acp.MethodLoadSession, acp.SessionID(id)).Error)
	require.Equal(t, []string{
		"elsewhere completed", "add completed", "pay completed", "elsewhere completed", "add completed", "add completed",
	}, endedCalls(t, e.updates(acp.SessionID(id))))
}

// TestCallsLeftPendingEndOnce has an editor go on with another prompt while calls are pending, which denies them.
func TestCallsLeftPendingEndOnce(t *testing.T) {
	ok := func(context.Context, *toolset.RunContext[bare]) (string, error) { return "ok", nil }
	script := modeltest.Script(
		modeltest.Say(model.ToolCall("1", "elsewhere", "{}"), model.ToolCall("2", "add", "{}")),
		modeltest.Say(model.ToolCall("1", "add", "{}")), modeltest.SayText("done"))
	e, id := start(t, stored(t, newStore(), script, tool("elsewhere", ok, func(o *toolset.Options) { o.External = true }), tool("add", ok)))
	requireError(t, acp.CodeInternal, acpbridge.KindApproval, e.prompt(id, "Go."))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "Without it."))
	require.Equal(t, []string{"elsewhere failed", "add completed", "add completed"}, endedCalls(t, e.updates(id)))
}

// TestCallsOfACutOffTurnAreShownOnce has the process die within the calls of a turn, and the editor load the session and go on.
func TestCallsOfACutOffTurnAreShownOnce(t *testing.T) {
	store := &mortalStore{Store: newStore()}
	die := tool("die", func(context.Context, *toolset.RunContext[bare]) (string, error) {
		store.dead.Store(true)
		return "ok", nil
	})
	add := tool("add", func(context.Context, *toolset.RunContext[bare]) (string, error) { return "ok", nil })
	script := modeltest.Script(
		modeltest.Say(model.ToolCall("1", "add", "{}")), modeltest.Say(model.ToolCall("1", "add", "{}"), model.ToolCall("2", "die", "{}")),
		modeltest.Say(model.ToolCall("1", "add", "{}")), modeltest.SayText("done"))
	c := stored(t, store, script, add, die)
	e, id := start(t, c)
	require.NotNil(t, e.prompt(id, "Go.").Error)
	require.Len(t, endedCalls(t, e.updates(id)), 3)
	store.dead.Store(false)
	_ = e.stop()

	e = serve(t, stored(t, store, script, add, die))
	e.initialize("{}")
	require.Nil(t, e.load(acp.MethodLoadSession, id).Error)
	calls := endedCalls(t, e.updates(id))
	require.Len(t, calls, 3)
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "Go on."))
	require.Len(t, endedCalls(t, e.updates(id)), 4)
}

// mortalStore is a store that takes nothing after the process has died.
type mortalStore struct {
	session.Store
	dead atomic.Bool
}

func (m *mortalStore) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	if m.dead.Load() {
		return 0, errors.New("the process is dead")
	}
	return m.Store.Append(ctx, l, head, b)
}
