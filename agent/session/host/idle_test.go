// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
)

// A session without another time falls asleep after ten minutes, and with a negative one never.
func TestSessionsFallAsleepWhenTheyAreIdle(t *testing.T) {
	for _, c := range []struct{ idle, wait time.Duration }{{0, 10 * time.Minute}, {time.Second, time.Second}, {-1, 0}, {-time.Hour, 0}} {
		synctest.Test(t, func(t *testing.T) {
			var released atomic.Int64
			h, err := host.New(host.Config[none, string]{
				Agent: newAgent(echo()), Store: durable{new(session.Memory)}, Idle: c.idle,
				Release: func(context.Context, *host.Session, none) error { released.Add(1); return nil },
			})
			require.NoError(t, err)
			s := create(t, h)
			require.NoError(t, prompt(t, s, "one").Err)
			if c.wait > 0 {
				time.Sleep(c.wait - 1)
				synctest.Wait()
				require.Zero(t, released.Load(), c.idle)
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				require.EqualValues(t, 1, released.Load(), c.idle)
			} else {
				time.Sleep(11 * time.Minute)
				synctest.Wait()
				require.Zero(t, released.Load(), c.idle)
			}
			require.NoError(t, h.Close(t.Context()))
		})
	}
}

// A session in which a turn runs is not idle, however long the turn takes.
func TestSessionsDoNotFallAsleepInATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var released atomic.Int64
		slow := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			time.Sleep(5 * time.Minute)
			return model.Response(model.Text("so")), nil
		})
		h, err := host.New(host.Config[none, string]{
			Agent: newAgent(slow), Store: durable{new(session.Memory)}, Idle: time.Minute,
			Release: func(context.Context, *host.Session, none) error { released.Add(1); return nil },
		})
		require.NoError(t, err)
		s := create(t, h)
		done := make(chan error, 1)
		go func() { done <- prompt(t, s, "one").Err }()
		time.Sleep(5*time.Minute - 1)
		require.Zero(t, released.Load())
		require.NoError(t, <-done)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.EqualValues(t, 1, released.Load())
		require.NoError(t, h.Close(t.Context()))
	})
}

// A thousand turns of a session may wait or run. The next one is refused until one has ended.
func TestAThousandTurnsMayWait(t *testing.T) {
	h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Busy: host.BusyQueue})
	s := create(t, h)
	var all []*host.Turn
	for n := range 1000 {
		now, err := s.Admit(t.Context())
		require.NoError(t, err, n)
		all = append(all, now)
	}
	_, err := s.Admit(t.Context())
	require.ErrorIs(t, err, host.ErrBusy)
	for _, now := range all {
		now.Cancel(host.ErrCancelled)
	}
	_, err = s.Admit(t.Context())
	require.ErrorIs(t, err, host.ErrBusy, "they have not ended")
	for n, now := range all {
		require.ErrorIs(t, now.Run(say("x")).Err, host.ErrCancelled)
		if n == 0 {
			more, err := s.Admit(t.Context())
			require.NoError(t, err)
			more.Cancel(host.ErrCancelled)
			all = append(all, more)
		}
	}
	require.ErrorIs(t, all[1000].Run(say("x")).Err, host.ErrCancelled)
}
