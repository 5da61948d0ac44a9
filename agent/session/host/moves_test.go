// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
)

// TestTurnsMoveWhenServeStops stops a process that runs a prompt of the inbox. Another one, which shows
// the session meanwhile, and does not serve the store, does not touch the turn.
func TestTurnsMoveWhenServeStops(t *testing.T) {
	memory := new(session.Memory)
	begun := make(chan struct{})
	stuck := func(ctx context.Context, _ *model.Request, _ model.Sink) (*model.Message, error) {
		close(begun)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	first := machine(t, memory, "first", model.Func(model.Info{}, stuck))
	watcher := machine(t, memory, "watcher", echo())
	next := machine(t, memory, "next", echo())
	info, err := memory.Create(t.Context(), session.New{})
	require.NoError(t, err)
	_, err = memory.Put(t.Context(), info.ID, session.Item{
		Kind: session.ItemPrompt, Data: []byte(`{"parts":[{"kind":"user","text":"Hi"}]}`),
	})
	require.NoError(t, err)
	serve := func(h *host.Host) (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- h.Serve(ctx) }()
		return func() {
			cancel()
			require.ErrorIs(t, <-served, context.Canceled)
		}
	}
	stop := serve(first)
	<-begun
	s, err := watcher.Open(t.Context(), info.ID, nil)
	require.NoError(t, err)
	stop()
	require.NotContains(t, shown(t, s), `"id":"ended:`)
	info, err = memory.Get(t.Context(), info.ID)
	require.NoError(t, err)
	require.Empty(t, info.Holder)

	stop = serve(next)
	eventually(t, "the turn ends", func() bool {
		info, err := memory.Get(t.Context(), info.ID)
		return err == nil && info.Waiting == 0 && info.Holder == "" && strings.Contains(shown(t, s), "Hi")
	})
	stop()
	all := shown(t, s)
	require.Equal(t, 1, strings.Count(all, `"role":"user"`))
	require.Contains(t, all, "The turn goes on (attempt 1 of 3).")
	require.NotContains(t, all, "cancelled")
	require.NotContains(t, all, "interrupted")
}

// TestTurnsAreLeftToServeBeforeItIsCalled opens a session whose turn was cut off in a process whose
// Serve has not been called yet.
func TestTurnsAreLeftToServeBeforeItIsCalled(t *testing.T) {
	memory := new(session.Memory)
	begun := make(chan struct{})
	stuck := func(ctx context.Context, _ *model.Request, _ model.Sink) (*model.Message, error) {
		close(begun)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	first := machine(t, memory, "first", model.Func(model.Info{}, stuck))
	next := machine(t, memory, "next", echo())
	info, err := memory.Create(t.Context(), session.New{})
	require.NoError(t, err)
	_, err = memory.Put(t.Context(), info.ID, session.Item{
		Kind: session.ItemPrompt, Data: []byte(`{"parts":[{"kind":"user","text":"Hi"}]}`),
	})
	require.NoError(t, err)
	serve := func(h *host.Host) (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- h.Serve(ctx) }()
		return func() {
			cancel()
			require.ErrorIs(t, <-served, context.Canceled)
		}
	}
	stop := serve(first)
	<-begun
	stop()

	next.WillServe()
	s, err := next.Open(t.Context(), info.ID, nil)
	require.NoError(t, err)
	require.NotContains(t, shown(t, s), "nterrupted")
	waiting := make(chan *host.Outcome, 1)
	queued := make(chan struct{})
	go func() { // it does not keep the turn from going on, and runs after it
		turn, err := s.AdmitWith(t.Context(), host.BusyQueue)
		if err != nil {
			waiting <- &host.Outcome{Err: err}
			return
		}
		p := say("Then?")
		p.Queued = func() { close(queued) }
		waiting <- turn.Run(p)
	}()
	<-queued
	stop = serve(next)
	eventually(t, "the turn ends", func() bool { return strings.Contains(shown(t, s), `"I Hi"`) })
	o := <-waiting
	require.NoError(t, o.Err)
	require.False(t, o.Elsewhere)
	stop()
	all := shown(t, s)
	require.Contains(t, all, "The turn goes on (attempt 1 of 3).")
	require.NotContains(t, all, "nterrupted")
	require.Less(t, strings.Index(all, `"I Hi"`), strings.Index(all, `"Then?"`), "the prompt comes after it")
}
