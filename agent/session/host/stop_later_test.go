// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
)

// thinks is a model that takes longer than a session leaves an item to others.
func thinks() model.Model {
	return modeltest.Func(func(ctx context.Context, _ *model.Request) (*model.Message, error) {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(1500 * time.Millisecond):
			return model.Response(model.Text("Well.")), nil
		}
	})
}

// A stop comes while another process has the session, whose turn was cut off or which runs none. The
// prompt that is sent behind it is not stopped.
func TestAStopIsForNoLaterTurn(t *testing.T) {
	for name, begin := range map[string]func(*testing.T, session.Store) string{
		"cut off": cutOff,
		"none": func(t *testing.T, store session.Store) string {
			info, err := store.Create(t.Context(), session.New{})
			require.NoError(t, err)
			return info.ID
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := new(session.Memory)
			id := begin(t, store)
			lease, err := store.Acquire(t.Context(), id, session.Claim{Holder: "somebody"})
			require.NoError(t, err)
			s, err := newHost(t, host.Config[none, string]{
				Agent: newAgent(thinks()), Store: shared{store}, Busy: host.BusyQueue,
			}).Open(t.Context(), id, nil)
			require.NoError(t, err)
			s.Cancel()
			require.Len(t, inboxOf(t, store, id), 1)
			ended := runs(t, s, "And now?")
			eventually(t, "the prompt waits", func() bool { return len(inboxOf(t, store, id)) == 2 })
			require.NoError(t, store.Release(t.Context(), lease))
			o := <-ended
			require.NoError(t, o.Err)
			require.Equal(t, transcript.Done, o.Reason)
			eventually(t, "nothing waits", func() bool { return len(inboxOf(t, store, id)) == 0 })
		})
	}
}

// A turn that has recorded nothing yet is stopped from another process, and the one behind it is not.
func TestATurnThatHasRecordedNothingIsStopped(t *testing.T) {
	g, store, there, here := pair(t)
	info, err := store.Get(t.Context(), there.ID())
	require.NoError(t, err)
	require.Zero(t, info.Head)
	admitted, err := there.AdmitWith(t.Context(), host.BusyQueue)
	require.NoError(t, err)
	began, may := make(chan struct{}), make(chan struct{})
	p := say("One.")
	p.Began = func(*host.Turn) {
		close(began)
		<-may
	}
	ended := make(chan *host.Outcome, 1)
	go func() { ended <- admitted.Run(p) }()
	<-began
	later := runs(t, there, "Two.")
	here.Cancel()
	eventually(t, "it is heard", func() bool { return admitted.Context().Err() != nil })
	close(may)
	require.Equal(t, transcript.Cancelled, (<-ended).Reason)
	require.Equal(t, "Two.", <-g.asked)
	g.answer <- "Well."
	require.Equal(t, transcript.Done, (<-later).Reason)
}

// blind is a store that does not tell who has a session.
type blind struct{ *session.Memory }

func (b blind) Get(ctx context.Context, id string) (session.Info, error) {
	i, err := b.Memory.Get(ctx, id)
	i.Holder = ""
	return i, err
}

// A turn is stopped that seems to be cut off, and that runs after all.
func TestATurnThatWasTakenForDeadIsStopped(t *testing.T) {
	store := new(session.Memory)
	began := make(chan struct{})
	there := create(t, newHost(t, host.Config[none, string]{
		Agent: newAgent(hanging(func() { close(began) })), Store: shared{store}, Holder: "there",
	}))
	here, err := newHost(t, host.Config[none, string]{
		Agent: newAgent(echo()), Store: blind{store}, Holder: "here",
	}).Open(t.Context(), there.ID(), nil)
	require.NoError(t, err)
	ended := runs(t, there, "One.")
	<-began
	here.Cancel()
	require.Equal(t, transcript.Cancelled, (<-ended).Reason)
	eventually(t, "nothing waits", func() bool { return len(inboxOf(t, store, here.ID())) == 0 })
}

// Where nobody serves, a stop ends the turn that was cut off, and nothing of it stays.
func TestAStopWhereNobodyServesEndsTheTurn(t *testing.T) {
	store := new(session.Memory)
	h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: shared{store}})
	there := create(t, h)
	w, err := session.Open(t.Context(), store, there.ID(), session.Claim{Holder: "killed"})
	require.NoError(t, err)
	_, err = w.Append(t.Context(), session.Entry{
		Kind: session.KindMessage, Run: "turn", Key: "prompt",
		Data: []byte(`{"message":{"v":1,"kind":"request","parts":[{"kind":"user","text":"Go."}],"run_id":"turn"}}`),
	})
	require.NoError(t, err)
	eventually(t, "it is shown", func() bool { return len(shown(t, there)) > 0 })
	require.NoError(t, w.Close(t.Context()))
	there.Cancel()
	eventually(t, "nothing waits", func() bool { return len(inboxOf(t, store, there.ID())) == 0 })
	require.Contains(t, shown(t, there), `"status":"interrupted"`)
	require.NoError(t, prompt(t, there, "And now?").Err)
}
