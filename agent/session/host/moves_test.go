// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

// halfway makes a session with a prompt in the inbox, and a process that serves the store and does not
// come to the end of its turn.
func halfway(t *testing.T, memory *session.Memory) (id string, stop func()) {
	t.Helper()
	begun := make(chan struct{})
	hangs := func(ctx context.Context, _ *model.Request, _ model.Sink) (*model.Message, error) {
		close(begun)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	info, err := memory.Create(t.Context(), session.New{})
	require.NoError(t, err)
	_, err = memory.Put(t.Context(), info.ID, session.Item{
		Kind: session.ItemPrompt, Data: []byte(`{"parts":[{"kind":"user","text":"Hi"}]}`),
	})
	require.NoError(t, err)
	stop = serve(t, machine(t, memory, "first", model.Func(model.Info{}, hangs)))
	<-begun
	return info.ID, stop
}

// TestTurnsMoveWhenServeStops stops a process that runs a prompt of the inbox. Another one, which shows
// the session meanwhile, and does not serve the store, does not touch the turn.
func TestTurnsMoveWhenServeStops(t *testing.T) {
	memory := new(session.Memory)
	id, stop := halfway(t, memory)
	watcher := machine(t, memory, "watcher", echo())
	next := machine(t, memory, "next", echo())
	s, err := watcher.Open(t.Context(), id, nil)
	require.NoError(t, err)
	stop()
	require.NotContains(t, shown(t, s), `"id":"ended:`)
	info, err := memory.Get(t.Context(), id)
	require.NoError(t, err)
	require.Empty(t, info.Holder)

	stop = serve(t, next)
	eventually(t, "the turn ends", func() bool {
		info, err := memory.Get(t.Context(), id)
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
	id, stop := halfway(t, memory)
	next := machine(t, memory, "next", echo())
	stop()

	next.WillServe()
	s, err := next.Open(t.Context(), id, nil)
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
	stop = serve(t, next)
	eventually(t, "the turn ends", func() bool { return strings.Contains(shown(t, s), `"I Hi"`) })
	o := <-waiting
	require.NoError(t, o.Err)
	require.False(t, o.Elsewhere)
	all := shown(t, s)
	stop()
	require.Contains(t, all, "The turn goes on (attempt 1 of 3).")
	require.NotContains(t, all, "nterrupted")
	require.Less(t, strings.Index(all, `"I Hi"`), strings.Index(all, `"Then?"`), "the prompt comes after it")
}

// TestTurnsThatMoveDoNotShowThatTheirCallsFailed moves a turn whose tool is waiting for an answer, which it does not get. The
// next process asks again, and no process shows that the call has failed.
func TestTurnsThatMoveDoNotShowThatTheirCallsFailed(t *testing.T) {
	memory := new(session.Memory)
	ask := func() *toolset.Tool[none] {
		return toolset.Func("ask", "Ask.", func(ctx context.Context, run *toolset.RunContext[none], _ none) (string, error) {
			schema := []byte(`{"type":"object","properties":{"to":{"type":"string"}}}`)
			r, err := run.Ask(ctx, toolset.Question{Message: "Whom?", Schema: schema})
			return string(r.Action), err
		}, toolset.Idempotent())
	}
	asking := func() model.Model {
		return modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
			if len(req.Messages) > 1 {
				return model.Response(model.Text("over")), nil
			}
			return model.Response(model.ToolCall("c", "ask", `{}`)), nil
		})
	}
	first := machine(t, memory, "first", asking(), ask())
	next := machine(t, memory, "next", asking(), ask())
	info, err := memory.Create(t.Context(), session.New{})
	require.NoError(t, err)
	_, err = memory.Put(t.Context(), info.ID, session.Item{Kind: session.ItemPrompt, Data: []byte(`{"parts":[{"kind":"user","text":"Hi"}]}`)})
	require.NoError(t, err)
	watcher := machine(t, memory, "watcher", asking())
	s, err := watcher.Open(t.Context(), info.ID, nil)
	require.NoError(t, err)
	for _, h := range []*host.Host{first, next} {
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- h.Serve(ctx) }()
		eventually(t, "it asks", func() bool {
			here := h.Session(info.ID)
			if here == nil || here.Turn() == nil {
				return false
			}
			open, err := questions(here)
			return err == nil && len(open) == 1
		})
		if h == next {
			eventually(t, "the turn ends", func() bool {
				if here := h.Session(info.ID); here != nil {
					answers(here)
				}
				return strings.Contains(shown(t, s), `"over"`)
			})
		}
		cancel()
		require.ErrorIs(t, <-served, context.Canceled)
		require.NotContains(t, shown(t, s), `"failed"`)
	}
}
