// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
)

// late is a store whose news come late.
type late struct {
	*session.Memory
	now chan struct{}
}

func (l *late) Watch(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
	return func(yield func(session.Entry, error) bool) {
		for e, err := range l.Memory.Watch(ctx, id, after) {
			select {
			case <-l.now:
			case <-ctx.Done():
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// TestReadingShowsWhatAnotherProcessHasShown reads a session on one machine after another one
// has shown a prompt to the client.
func TestReadingShowsWhatAnotherProcessHasShown(t *testing.T) {
	memory := new(session.Memory)
	model := modeltest.Script(modeltest.SayText("first"), modeltest.SayText("second"))
	one := newHost(t, host.Config[none, string]{Agent: newAgent(model), Store: shared{memory}, Holder: "one"})
	now := make(chan struct{})
	slow := &late{memory, now}
	two := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: slow, Holder: "two"})
	s := create(t, one)
	require.NoError(t, prompt(t, s, "a").Err)
	there, err := two.Open(t.Context(), s.ID(), nil)
	require.NoError(t, err)
	require.Contains(t, shown(t, there), "first")
	require.NoError(t, prompt(t, s, "b").Err)
	go close(now)
	require.Contains(t, shown(t, there), "second")
}

// TestAPromptAfterAnswersIsRefusedWhileCallsWait has a prompt that must not take the place of
// answers.
func TestAPromptAfterAnswersIsRefusedWhileCallsWait(t *testing.T) {
	var paid []string
	memory := new(session.Memory)
	agents := newAgent(modeltest.Script(
		modeltest.Say(model.ToolCall("c", "pay", `{"to":"Ada"}`)), modeltest.SayText("done"), modeltest.SayText("more"),
	), pay(&paid))
	one := newHost(t, host.Config[none, string]{Agent: agents, Store: shared{memory}, Holder: "one"})
	two := newHost(t, host.Config[none, string]{Agent: agents, Store: shared{memory}, Holder: "two"})
	s := create(t, one)
	there, err := two.Open(t.Context(), s.ID(), nil)
	require.NoError(t, err)
	p := say("Pay.")
	p.Defer = true
	_, err = s.Prompt(t.Context(), p)
	require.NoError(t, err)

	p = say("And?")
	p.AfterAnswers = true
	o, err := there.Prompt(t.Context(), p) // it has not seen the question
	require.NoError(t, err)
	require.ErrorIs(t, o.Err, host.ErrAsked)
	snapshot, _, err := there.Snapshot(t.Context())
	require.NoError(t, err)
	q := snapshot.Last(view.Question)
	require.Equal(t, view.Pending, q.Status, "the question stays")
	turn, err := there.Answer(t.Context(), q.ID, "", allowed(q))
	require.NoError(t, err)
	require.NoError(t, turn.Resume(host.Prompt{}).Err)
	require.Equal(t, []string{"Ada"}, paid)
	o, err = there.Prompt(t.Context(), p)
	require.NoError(t, err)
	require.NoError(t, o.Err)
}
