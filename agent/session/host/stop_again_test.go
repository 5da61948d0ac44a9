// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

// never is a model that must not be asked anything but "And now?".
func never(t *testing.T) model.Model { return hanging(func() { t.Error("the model is asked") }) }

// withDeps returns a session in a process that is about to serve a store, with dependencies.
func withDeps(t *testing.T, store session.Store, id string, deps func() error) *host.Session {
	t.Helper()
	h := newHost(t, host.Config[none, string]{
		Agent: newAgent(never(t)), Store: store, Busy: host.BusyQueue,
		Deps: func(context.Context, *host.Session) (none, error) { return none{}, deps() },
	})
	h.WillServe()
	s, err := h.Open(t.Context(), id, nil)
	require.NoError(t, err)
	return s
}

// A turn is stopped while its dependencies are made, and they fail: it is not taken up once more.
func TestAStopHoldsIfTheDependenciesFail(t *testing.T) {
	store := new(session.Memory)
	making, may := make(chan struct{}), make(chan struct{})
	var n atomic.Int32
	s := withDeps(t, shared{store}, leftOver(t, store), func() error {
		if n.Add(1) > 1 {
			return nil
		}
		close(making)
		<-may
		return errors.New("the server does not answer")
	})
	defer serve(t, s.Host())()
	<-making
	s.Cancel()
	close(may)
	requireStopped(t, s)
}

// A turn that was stopped needs no dependencies to end.
func TestAStoppedTurnNeedsNoDependencies(t *testing.T) {
	store := new(session.Memory)
	var work atomic.Bool
	s := withDeps(t, shared{store}, leftOver(t, store), func() error {
		if work.Load() {
			return nil
		}
		t.Error("the dependencies are made")
		return errors.New("the server does not answer")
	})
	s.Cancel()
	defer serve(t, s.Host())()
	eventually(t, "it ends", func() bool { return len(inboxOf(t, store, s.ID())) == 0 })
	work.Store(true)
	requireStopped(t, s)
}

func inboxOf(t *testing.T, store session.Store, id string) []session.Item {
	t.Helper()
	all, err := session.Waiting(t.Context(), store, id)
	require.NoError(t, err)
	return all
}

// unsure is a store that once cannot tell what is in the inbox of a session that it has leased.
type unsure struct {
	*session.Memory
	once atomic.Bool
	do   func()
}

func (u *unsure) Items(
	ctx context.Context, id string, after int64, kinds ...session.ItemKind,
) iter.Seq2[session.Item, error] {
	if i, err := u.Get(ctx, id); err == nil && i.Holder != "" && !u.once.Swap(true) {
		return func(yield func(session.Item, error) bool) {
			u.do()
			yield(session.Item{}, &session.Error{Op: "items", Session: id, Err: session.ErrUnavailable})
		}
	}
	return u.Memory.Items(ctx, id, after, kinds...)
}

// A turn is stopped while it is taken up, and that fails because of the store.
func TestAStopHoldsIfTheStoreFails(t *testing.T) {
	store := &unsure{Memory: new(session.Memory)}
	s := toTakeUp(t, store, leftOver(t, store.Memory), never(t))
	store.do = s.Cancel
	defer serve(t, s.Host())()
	requireStopped(t, s)
}

// A turn is stopped while it is taken up, and another process takes it up first.
func TestAStopReachesTheProcessThatWasFaster(t *testing.T) {
	memory := new(session.Memory)
	store := &takeUpMoments{Memory: memory, at: "before the lease"}
	id := leftOver(t, memory)
	asked := make(chan struct{})
	s, other := toTakeUp(t, store, id, never(t)), toTakeUp(t, shared{memory}, id, hanging(func() { close(asked) }))
	var stop func()
	store.do = func() {
		stop = serve(t, other.Host())
		<-asked
		s.Cancel()
	}
	defer serve(t, s.Host())()
	requireStopped(t, s)
	stop()
}

// A turn is to move to another process, which takes a moment, and is stopped in that moment.
func TestATurnThatMovesIsStopped(t *testing.T) {
	for _, who := range []string{"here", "elsewhere"} {
		t.Run(who, func(t *testing.T) {
			memory := new(session.Memory)
			id := leftOver(t, memory)
			asked, may := make(chan string), make(chan struct{})
			slow := modeltest.Func(func(ctx context.Context, _ *model.Request) (*model.Message, error) {
				asked <- "it runs"
				<-ctx.Done()
				asked <- "it moves"
				<-may
				return nil, context.Cause(ctx)
			})
			s, other := toTakeUp(t, shared{memory}, id, slow), toTakeUp(t, shared{memory}, id, never(t))
			ctx, cancel := context.WithCancel(t.Context())
			served := make(chan error, 1)
			go func() { served <- s.Host().Serve(ctx) }()
			require.Equal(t, "it runs", <-asked)
			cancel()
			require.Equal(t, "it moves", <-asked)
			if who == "here" {
				s.Cancel()
			} else {
				other.Cancel()
			}
			close(may)
			require.ErrorIs(t, <-served, context.Canceled)
			require.NoError(t, s.Host().Close(t.Context()))
			defer serve(t, other.Host())()
			requireStopped(t, other)
		})
	}
}

// A turn that was cut off in a call must not run it twice, so the tools are listed when it is taken
// up. Somebody who stops it does not wait for that, and neither does the end of the session.
func TestATurnIsStoppedWhileToolsAreListed(t *testing.T) {
	for _, close := range []bool{false, true} {
		began := make(chan string, 2)
		first := create(t, newHost(t, host.Config[none, string]{
			Agent: newAgent(modeltest.Script(modeltest.Say(payTo("b", "Bob"))), stuck(began)),
			Store: durable{new(session.Memory)},
		}))
		prompt(t, first, "Pay.")
		q := asked(t, first, 1)[0]
		require.NoError(t, first.Decide(t.Context(), q.ID, "", allowed(q)))
		<-began
		memory := lost(t, first.Host().Store()).(durable).Store.(*session.Memory)
		first.Cancel()
		_, err := memory.Put(t.Context(), first.ID(), session.Item{Kind: session.ItemContinue})
		require.NoError(t, err)

		listing := make(chan struct{}, 100)
		lists := agent.Must(agent.New(agent.Config[none, string]{
			Model: never(t),
			Toolsets: []toolset.Toolset[none]{toolset.Filtered(newAgent(echo(), stuck(began)).Toolset(),
				func(ctx context.Context, _ *toolset.RunContext[none], _ *toolset.Tool[none]) (bool, error) {
					listing <- struct{}{}
					<-ctx.Done()
					return false, context.Cause(ctx)
				}),
			},
		}))
		h, err := host.New(host.Config[none, string]{Store: shared{memory}, Agent: lists})
		require.NoError(t, err)
		h.WillServe()
		s, err := h.Open(t.Context(), first.ID(), nil)
		require.NoError(t, err)
		stop := serve(t, h)
		<-listing
		if close {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			require.NoError(t, s.Close(ctx))
			cancel()
		} else {
			s.Cancel()
			eventually(t, "it ends", func() bool { return len(inboxOf(t, memory, s.ID())) == 0 })
		}
		stop()
	}
}
