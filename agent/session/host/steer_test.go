// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
)

func TestSteerReachesATurnThatHasNotBegun(t *testing.T) {
	g := newGate()
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(g.model())}))
	require.False(t, s.Steer(model.User("too early")))
	admitted, err := s.Admit(t.Context())
	require.NoError(t, err)
	require.True(t, s.Steer(model.User("and this")))
	var all sync.WaitGroup
	var o *host.Outcome
	all.Go(func() { o = admitted.Run(say("first")) })
	require.Equal(t, "and this", <-g.asked)
	g.answer <- "done"
	all.Wait()
	require.NoError(t, o.Err)
	require.Empty(t, o.Unread)
	require.False(t, s.Steer(model.User("too late")))
}

// What was passed to a turn and not read is known when the turn ends, so that the user can be told.
func TestUnreadPartsAreInTheOutcome(t *testing.T) {
	g := newGate()
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(g.model())}))
	told := 0
	p := say("first")
	p.Ending = func(_ *host.Turn, o *host.Outcome) string {
		told = len(o.Unread)
		return ""
	}
	var all sync.WaitGroup
	var o *host.Outcome
	all.Go(func() { o, _ = s.Prompt(t.Context(), p) })
	require.Equal(t, "first", <-g.asked)
	require.True(t, s.Steer(model.User("one")))
	require.True(t, s.Steer(model.User("two"), model.User("three")))
	s.Cancel()
	all.Wait()
	require.Equal(t, transcript.Cancelled, o.Reason)
	require.Equal(t, [][]model.Part{{model.User("one")}, {model.User("two"), model.User("three")}}, o.Unread)
	require.Equal(t, 2, told)
}

// A prompt for a turn that is cancelled before it begins is a turn of its own.
func TestPromptForATurnThatNeverBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		h, err := host.New(host.Config[none, string]{Agent: newAgent(g.model()), Busy: host.BusySteer})
		require.NoError(t, err)
		s := create(t, h)
		first, err := s.Admit(t.Context())
		require.NoError(t, err)
		second, err := s.Admit(t.Context())
		require.NoError(t, err)
		var all sync.WaitGroup
		var o *host.Outcome
		all.Go(func() { o = second.Run(say("second")) })
		synctest.Wait()
		first.Cancel(host.ErrCancelled)
		require.ErrorIs(t, first.Run(say("first")).Err, host.ErrCancelled)
		require.Equal(t, "second", <-g.asked)
		g.answer <- "done"
		all.Wait()
		require.NoError(t, o.Err)
		require.False(t, o.Steered)
		require.NoError(t, h.Close(t.Context()))
	})
}

func TestCommandsDoNotSteer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		h, err := host.New(host.Config[none, string]{Agent: newAgent(g.model()), Busy: host.BusySteer, Modes: host.Modes(), Commands: host.BuiltIns(nil)})
		require.NoError(t, err)
		s := create(t, h)
		var all sync.WaitGroup
		var o *host.Outcome
		all.Go(func() { prompt(t, s, "first") })
		require.Equal(t, "first", <-g.asked)
		all.Go(func() { o = prompt(t, s, "/mode plan") })
		synctest.Wait()
		g.answer <- "done"
		all.Wait()
		require.False(t, o.Steered)
		require.Equal(t, "plan", s.Setting(host.SettingMode))
		require.NoError(t, h.Close(t.Context()))
	})
}
