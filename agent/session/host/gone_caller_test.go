// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

// A caller whose prompt runs in another process may go. It is told why, and the turn ends there.
func TestCallersMayGoWhileTheirTurnRunsElsewhere(t *testing.T) {
	g := newGate()
	a := newAway(t, g.model())
	a.serve(t)
	s := create(t, a.surface)
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan *host.Outcome, 1)
	go func() {
		o, err := s.Prompt(ctx, say("Go."))
		require.NoError(t, err)
		ended <- o
	}()
	<-g.asked
	waiting, err := s.Waiting(t.Context())
	require.NoError(t, err)
	require.Empty(t, waiting, "the other process has it")
	cancel(errEnough)
	o := <-ended
	require.NotNil(t, o)
	require.ErrorIs(t, o.Err, errEnough)
	require.Equal(t, transcript.Cancelled, o.Reason)
	g.answer <- "so"
	eventually(t, "the turn ends in the other process", func() bool {
		info, err := a.store.Get(t.Context(), s.ID())
		return err == nil && info.Holder == ""
	})
	eventually(t, "it is shown", func() bool {
		snapshot, _, err := s.Snapshot(t.Context())
		require.NoError(t, err)
		last := snapshot.Last(view.Message)
		return last != nil && last.Text() == "so"
	})
}

// Whoever reads a session while news of another process are late may give up. The session falls asleep
// afterwards as if nobody had read it.
func TestReadersThatGiveUpDoNotKeepSessionsAwake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, g := new(session.Memory), newGate()
		one := newHost(t, host.Config[none, string]{Agent: newAgent(g.model()), Store: shared{memory}, Holder: "one"})
		two := newHost(t, host.Config[none, string]{
			Agent: newAgent(echo()), Store: &late{memory, make(chan struct{})}, Holder: "two", Idle: time.Minute,
		})
		s := create(t, one)
		ended := runs(t, s, "a")
		<-g.asked
		there, err := two.Open(t.Context(), s.ID(), nil)
		require.NoError(t, err)
		g.answer <- "so"
		require.NoError(t, (<-ended).Err)
		reads := func() error {
			ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errEnough)
			defer cancel()
			_, _, err := there.Snapshot(ctx)
			return err
		}
		for range 3 {
			require.ErrorIs(t, reads(), errEnough)
		}
		time.Sleep(time.Minute - time.Second)
		require.ErrorIs(t, reads(), errEnough, "it is awake still")
		time.Sleep(time.Minute + time.Second)
		require.NoError(t, reads(), "it was asleep, and is read anew")
		require.Contains(t, shown(t, there), "so")
		require.NoError(t, two.Close(t.Context()))
		require.NoError(t, one.Close(t.Context()))
	})
}

// The digest of a question about a call that waits covers the call, its arguments and what is asked,
// and is the same in all versions and processes.
func TestDigestsOfPendingQuestionsCoverTheCall(t *testing.T) {
	var paid []string
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(paysOnce(), pay(&paid))}))
	prompt(t, s, "Pay.")
	q := asked(t, s, 1)[0]
	require.Equal(t, host.DigestOf(
		q.ID, []string{"a"}, "pay", []byte(`{"to":"Ada"}`), &model.Approval{Title: "Pay Ada"},
	), q.Digest)
	require.Equal(t, "Pay Ada", q.Title)
	require.Equal(t, "pay", q.Name)
}
