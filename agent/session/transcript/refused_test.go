// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"context"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

// A record is a document on a line. Anything else is refused, and so is whatever comes when the log is
// closed, the turn is over or the caller has gone.
func TestLogsTakeOneDocumentALine(t *testing.T) {
	c, w := open(t, new(session.Memory))
	now, err := c.Begin(t.Context(), model.User("Go."))
	require.NoError(t, err)
	l, err := now.Open(t.Context(), now.ID())
	require.NoError(t, err)
	head := w.Head()
	for _, line := range []string{"", "\n", "{}\n", "{}\n{}", "{\x00}", "\x00"} {
		require.EqualError(t, l.Append(t.Context(), []byte(line)),
			"transcript: a record must be a JSON document on a single line", "%q", line)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errFire)
	require.ErrorIs(t, l.Append(ctx, []byte(`{}`)), errFire)
	require.Equal(t, head, w.Head(), "nothing is recorded")
	require.NoError(t, l.Append(t.Context(), []byte(`{}`)))
	require.Equal(t, head+1, w.Head())
	_, err = now.Open(t.Context(), now.ID())
	require.ErrorIs(t, err, journal.ErrInUse)
	_, err = now.Open(t.Context(), now.ID()+"x")
	require.ErrorContains(t, err, "does not belong to turn "+now.ID())
	lines, err := l.Load(t.Context())
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte(`{}`)}, lines)
	require.NoError(t, l.Close())
	require.ErrorIs(t, l.Close(), journal.ErrClosed)
	require.ErrorIs(t, l.Append(t.Context(), []byte(`{}`)), journal.ErrClosed)
	_, err = l.Load(t.Context())
	require.ErrorIs(t, err, journal.ErrClosed)
	again, err := now.Open(t.Context(), now.ID())
	require.NoError(t, err)
	require.NoError(t, again.Close())
	require.NoError(t, now.Finish(t.Context(), c.Messages(), transcript.Cancelled))
	_, err = now.Open(t.Context(), now.ID())
	require.EqualError(t, err, "transcript: the turn has ended")
	require.NoError(t, w.Close(t.Context()))
}

// unreadable is a store that can be written and, for a while, not read.
type unreadable struct {
	*session.Memory
	failed  bool // the next append
	unread  bool
	appends int
}

func (u *unreadable) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	if u.failed && len(b.Entries) > 0 {
		u.failed = false
		return 0, errFire
	}
	u.appends += len(b.Entries)
	return u.Memory.Append(ctx, l, head, b)
}

func (u *unreadable) Load(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
	if u.unread {
		return func(yield func(session.Entry, error) bool) { yield(session.Entry{}, errFire) }
	}
	return u.Memory.Load(ctx, id, after)
}

// After an append that has failed, the conversation is read again before anything else is written: what
// the store has is not known. As long as that fails, nothing is written.
func TestConversationsAreReadAgainAfterAFailure(t *testing.T) {
	for name, do := range map[string]func(c *transcript.Conversation) error{
		"begin": func(c *transcript.Conversation) error {
			_, err := c.Begin(t.Context(), model.User("Again."))
			return err
		},
		"settle": func(c *transcript.Conversation) error { return c.Settle(t.Context()) },
		"resume": func(c *transcript.Conversation) error { _, err := c.Resume(t.Context()); return err },
		"rewind": func(c *transcript.Conversation) error { _, err := c.Rewind(t.Context(), "x"); return err },
	} {
		store := &unreadable{Memory: new(session.Memory)}
		c, w := open(t, store)
		store.failed = true
		_, err := c.Begin(t.Context(), model.User("Go."))
		require.ErrorIs(t, err, errFire)
		store.unread = true
		require.ErrorIs(t, do(c), errFire, name)
		require.Zero(t, store.appends, name)
		store.unread = false
		require.NoError(t, c.Settle(t.Context()))
		_, err = c.Begin(t.Context(), model.User("Again."))
		require.NoError(t, err, name)
		require.NoError(t, w.Close(t.Context()))
	}
}

// An agent inside a call may wait when the call ends. Its own calls were not run, unless the result of
// the call says that it was interrupted: then they have its text.
func TestCallsOfAnAgentThatWaitedSayWhyTheyEnd(t *testing.T) {
	for _, c := range []struct {
		outcome model.Outcome
		want    string
	}{
		{model.OutcomeSuccess, "Not run: the agent was not resumed."},
		{model.OutcomeFailed, "Not run: the agent was not resumed."},
		{model.OutcomeDenied, "Not run: the agent was not resumed."},
		{model.OutcomeInterrupted, "It may have run."},
	} {
		p := transcript.New("s", transcript.Options{})
		p.Start("r")
		event := func(kind agent.EventKind, e agent.Event) {
			e.Kind, e.Step = kind, 1
			p.Event(&e)
		}
		inside := func(kind agent.EventKind, e agent.Event) {
			e.Kind, e.Step = kind, 1
			event(agent.EventCustom, agent.Event{CallID: "a", Tool: "ask", Value: agent.Nested{Agent: "clerk", Event: e}})
		}
		event(agent.EventToolCall, agent.Event{CallID: "a", Tool: "ask", Args: model.RawArgs(`{}`)})
		event(agent.EventToolStart, agent.Event{CallID: "a", Tool: "ask"})
		said := model.Response(model.ToolCall("x", "pay", `{}`))
		said.RunID = "r/1/a"
		inside(agent.EventResponse, agent.Event{Message: said})
		inside(agent.EventToolCall, agent.Event{CallID: "x", Tool: "pay", Args: model.RawArgs(`{}`)})
		inside(agent.EventRunEnd, agent.Event{Err: &agent.PendingError{}})
		require.Equal(t, view.Pending, p.Fold().Get("agent:r%2F1%2Fa").Status)
		result := model.ToolReturn("a", "ask", "It may have run.")
		result.Outcome = c.outcome
		event(agent.EventToolResult, agent.Event{CallID: "a", Tool: "ask", Result: &result})
		require.Equal(t, view.Cancelled, p.Fold().Get("agent:r%2F1%2Fa").Status, c.outcome)
		e := p.Fold().Get("call:r%2F1%2Fa/1/x")
		require.Equal(t, []any{view.Failed, c.want}, []any{e.Status, e.Text()}, c.outcome)
	}
}

// A turn of which an append has failed ends only when the store says which of its messages it has:
// until then it has no end, and can be taken up.
func TestTurnsEndWhenTheirEntriesAreKnown(t *testing.T) {
	store := &unreadable{Memory: new(session.Memory)}
	c, w := open(t, store)
	now, err := c.Begin(t.Context(), model.User("Go."))
	require.NoError(t, err)
	l, err := now.Open(t.Context(), now.ID())
	require.NoError(t, err)
	store.failed = true
	require.ErrorIs(t, l.Append(t.Context(), []byte(`{"op":"start"}`)), errFire)
	require.NoError(t, l.Close())
	said := model.Response(model.Text("Well."))
	said.RunID = now.ID()
	head := w.Head()
	store.unread = true
	require.ErrorIs(t, now.Finish(t.Context(), append(c.Messages(), said), transcript.Done), errFire)
	require.Equal(t, head, w.Head(), "nothing says that it has ended")
	store.unread = false
	require.NoError(t, now.Finish(t.Context(), append(c.Messages(), said), transcript.Done))
	require.Len(t, c.Messages(), 1)
	require.NoError(t, w.Close(t.Context()))
	read, err := transcript.Read(t.Context(), store, "s", transcript.Options{})
	require.NoError(t, err)
	require.Len(t, read.Messages(), 1)
	require.Empty(t, read.Interrupted())
}
