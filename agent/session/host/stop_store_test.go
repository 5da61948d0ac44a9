// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
)

// A prompt that has waited has the session, and its dependencies are made: that is stopped.
func TestATurnIsStoppedWhileItsDependenciesAreMade(t *testing.T) {
	store := new(session.Memory)
	making := make(chan struct{}, 1)
	h := newHost(t, host.Config[none, string]{
		Agent: newAgent(never(t)), Store: shared{store}, Busy: host.BusyQueue,
		Deps: func(ctx context.Context, _ *host.Session) (none, error) {
			making <- struct{}{}
			<-ctx.Done()
			return none{}, context.Cause(ctx)
		},
	})
	info, err := store.Create(t.Context(), session.New{})
	require.NoError(t, err)
	lease, err := store.Acquire(t.Context(), info.ID, session.Claim{Holder: "there"})
	require.NoError(t, err)
	s, err := h.Open(t.Context(), info.ID, nil)
	require.NoError(t, err)
	ended := runs(t, s, "One.")
	eventually(t, "it waits", func() bool { return len(inboxOf(t, store, info.ID)) == 1 })
	require.NoError(t, store.Release(t.Context(), lease))
	<-making
	s.Cancel()
	require.Equal(t, transcript.Cancelled, (<-ended).Reason)
}

// A process has lost its lease, and another one has taken its turn up. Who stops it in the first
// stops it in the other.
func TestAStopReachesTheProcessThatHasTakenOver(t *testing.T) {
	store := new(session.Memory)
	began, goes := make(chan struct{}), make(chan struct{})
	here := create(t, newHost(t, host.Config[none, string]{
		Agent: newAgent(hanging(func() { close(began) })), Store: shared{store}, Holder: "here",
	}))
	ended := runs(t, here, "One.")
	<-began
	lease, err := store.Acquire(t.Context(), here.ID(), session.Claim{Holder: "x", Force: true})
	require.NoError(t, err)
	_, err = store.Put(t.Context(), here.ID(), session.Item{Kind: session.ItemContinue})
	require.NoError(t, err)
	there := toTakeUp(t, shared{store}, here.ID(), hanging(func() { close(goes) }))
	require.NoError(t, store.Release(t.Context(), lease))
	defer serve(t, there.Host())()
	<-goes
	here.Cancel()
	<-ended
	requireStopped(t, there)
}

// faulty is a store that fails once, at the end of a turn or when an item is put.
type faulty struct {
	*session.Memory
	end, put atomic.Bool
	do       func()
}

func (f *faulty) Append(
	ctx context.Context, l session.Lease, head int64, b session.Batch,
) (int64, error) {
	for i := range b.Entries {
		if b.Entries[i].Kind == session.KindEnd && f.end.Swap(false) {
			return 0, &session.Error{Op: "append", Session: l.Session, Err: session.ErrFull}
		}
	}
	return f.Memory.Append(ctx, l, head, b)
}

func (f *faulty) Put(ctx context.Context, id string, i session.Item) (session.Item, error) {
	if f.put.Swap(false) {
		f.do()
		return i, &session.Error{Op: "put", Session: id, Err: session.ErrUnavailable}
	}
	return f.Memory.Put(ctx, id, i)
}

// A turn was stopped whose end cannot be recorded. It does not go on.
func TestAStopHoldsIfTheEndIsNotRecorded(t *testing.T) {
	store := &faulty{Memory: new(session.Memory)}
	store.end.Store(true)
	began := make(chan struct{}, 10)
	h := newHost(t, host.Config[none, string]{
		Agent: newAgent(hanging(func() { began <- struct{}{} })), Store: store, Busy: host.BusyQueue,
	})
	h.WillServe()
	s := create(t, h)
	ended := runs(t, s, "One.")
	<-began
	s.Cancel()
	<-ended
	defer serve(t, h)()
	requireStopped(t, s)
	require.Empty(t, began, "the model is not asked any more")
}

// The store does not answer to a stop at once. The stop is for the turn that ran then.
func TestARepeatedStopIsForTheSameTurn(t *testing.T) {
	memory, g := new(session.Memory), newGate()
	there := create(t, machine(t, memory, "there", g.model()))
	store := &faulty{Memory: memory}
	store.put.Store(true)
	here, err := newHost(t, host.Config[none, string]{
		Agent: newAgent(echo()), Store: store, Holder: "here",
	}).Open(t.Context(), there.ID(), nil)
	require.NoError(t, err)
	one := runs(t, there, "one")
	require.Equal(t, "one", <-g.asked)
	two := runs(t, there, "two")
	store.do = func() {
		g.answer <- "done"
		require.Equal(t, transcript.Done, (<-one).Reason)
		require.Equal(t, "two", <-g.asked)
	}
	here.Cancel()
	eventually(t, "it is heard", func() bool {
		for _, i := range inboxOf(t, memory, there.ID()) {
			if i.Kind == session.ItemCancel {
				return false
			}
		}
		return true
	})
	g.answer <- "done"
	require.Equal(t, transcript.Done, (<-two).Reason)
}

// leases counts how often a store leases a session.
type leases struct {
	*session.Memory
	n atomic.Int64
}

func (l *leases) Acquire(ctx context.Context, id string, c session.Claim) (session.Lease, error) {
	if l.n.Add(1) > 100 {
		time.Sleep(time.Minute) // or a loop would not let the time of a bubble pass
	}
	return l.Memory.Acquire(ctx, id, c)
}

// A stop waits for Serve, and does not take the lease meanwhile: that would be heard as a change.
func TestAStopWaitsForServeWithoutTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &leases{Memory: new(session.Memory)}
		id := leftOver(t, store.Memory)
		s := toTakeUp(t, store, id, modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			return model.Response(model.Text("Well.")), nil
		}))
		s.Cancel()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		require.Zero(t, store.n.Load())
		defer serve(t, s.Host())()
		requireStopped(t, s)
	})
}

// Whoever has sent a prompt that another process runs is told when the session is deleted.
func TestAPromptElsewhereEndsWithItsSession(t *testing.T) {
	store := new(session.Memory)
	here := create(t, newHost(t, host.Config[none, string]{
		Agent: newAgent(echo()), Store: shared{store}, Holder: "here", Busy: host.BusyQueue,
	}))
	w, err := session.Open(t.Context(), store, here.ID(), session.Claim{Holder: "there"})
	require.NoError(t, err)
	ended := runs(t, here, "One.")
	eventually(t, "it waits", func() bool { return len(inboxOf(t, store, here.ID())) == 1 })
	i := inboxOf(t, store, here.ID())[0]
	_, err = w.Write(t.Context(), session.Batch{
		Consumed: []session.Ref{i.Ref()}, Entries: []session.Entry{{
			Kind: session.KindMessage, Run: i.ID, Key: "prompt", Data: []byte(
				`{"message":{"v":1,"kind":"request","parts":[{"kind":"user","text":"One."}]}}`),
		}},
	})
	require.NoError(t, err)
	require.NoError(t, w.Close(t.Context()))
	require.NoError(t, store.Delete(t.Context(), here.ID()))
	o := <-ended
	require.ErrorIs(t, o.Err, session.ErrNotFound)
	require.Equal(t, transcript.Failed, o.Reason)
}

// A turn has ended well, and only its end cannot be recorded: what users are told says so.
func TestFailureOfAnEndThatIsNotRecordedHasAText(t *testing.T) {
	store := &faulty{Memory: new(session.Memory)}
	store.end.Store(true)
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: store}))
	o := prompt(t, s, "One.")
	require.ErrorIs(t, o.Err, session.ErrFull)
	require.Equal(t, transcript.Failed, o.Reason)
	require.Equal(t, host.ErrorText(o.Err), o.Failure)
	o = prompt(t, s, "Two.")
	require.NoError(t, o.Err)
	require.Empty(t, o.Failure)
}

// full is a store with no room for items.
type full struct {
	*session.Memory
	asked chan struct{}
}

func (f full) Put(_ context.Context, id string, i session.Item) (session.Item, error) {
	f.asked <- struct{}{}
	return i, &session.Error{Op: "put", Session: id, Err: session.ErrFull}
}

// A prompt cannot be kept while it waits: it has failed, and was not cancelled. The turn before it goes on.
func TestPromptThatCannotWaitHasFailed(t *testing.T) {
	g, store := newGate(), full{new(session.Memory), make(chan struct{}, 10)}
	var log bytes.Buffer
	s := create(t, newHost(t, host.Config[none, string]{
		Agent: newAgent(g.model()), Store: store, Logger: slog.New(slog.NewTextHandler(&locked{new(sync.Mutex), &log}, nil)),
	}))
	one := runs(t, s, "one")
	<-g.asked
	two := runs(t, s, "two")
	<-store.asked
	g.answer <- "done"
	require.Equal(t, transcript.Done, (<-one).Reason)
	o := <-two
	require.ErrorIs(t, o.Err, session.ErrFull)
	require.Equal(t, transcript.Failed, o.Reason)
	require.Equal(t, host.ErrorText(session.ErrFull), o.Failure)
	require.Contains(t, log.String(), "a turn has failed")
}
