// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"iter"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
)

// takeUpMoments is a store in which something happens once, at a moment of a turn that is taken up.
type takeUpMoments struct {
	*session.Memory
	at   string
	do   func()
	once sync.Once
}

func (m *takeUpMoments) is(at string) {
	if m.at == at {
		m.once.Do(m.do)
	}
}

func (m *takeUpMoments) Acquire(
	ctx context.Context, id string, c session.Claim,
) (session.Lease, error) {
	m.is("before the lease")
	l, err := m.Memory.Acquire(ctx, id, c)
	m.is("with the lease")
	return l, err
}

func (m *takeUpMoments) Items(
	ctx context.Context, id string, after int64, kinds ...session.ItemKind,
) iter.Seq2[session.Item, error] {
	return func(yield func(session.Item, error) bool) {
		for i, err := range m.Memory.Items(ctx, id, after, kinds...) {
			if !yield(i, err) {
				return
			}
		}
		if i, err := m.Get(ctx, id); err == nil && i.Holder != "" {
			m.is("when it has looked for a stop")
		}
	}
}

func (m *takeUpMoments) Append(
	ctx context.Context, l session.Lease, head int64, b session.Batch,
) (int64, error) {
	attempts := len(b.Entries) == 1 && b.Entries[0].Key == "attempt"
	if attempts {
		m.is("before the attempt is counted")
	}
	last, err := m.Memory.Append(ctx, l, head, b)
	if attempts {
		m.is("when the attempt is counted")
	}
	return last, err
}

// hanging is a model that answers the prompt "And now?" only. is is called before it hangs.
func hanging(is func()) model.Model {
	return modeltest.Func(func(ctx context.Context, r *model.Request) (*model.Message, error) {
		last := r.Messages[len(r.Messages)-1]
		if last.Parts[len(last.Parts)-1].Text == "And now?" {
			return model.Response(model.Text("Well.")), nil
		}
		is()
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
}

// toTakeUp returns a session in a process that is about to serve a store.
func toTakeUp(t *testing.T, store session.Store, id string, m model.Model) *host.Session {
	t.Helper()
	h := newHost(t, host.Config[none, string]{Agent: newAgent(m), Store: store, Busy: host.BusyQueue})
	h.WillServe()
	s, err := h.Open(t.Context(), id, nil)
	require.NoError(t, err)
	return s
}

// leftOver returns a session with a turn that was cut off, which Serve finds.
func leftOver(t *testing.T, store session.Store) (id string) {
	t.Helper()
	id = cutOff(t, store)
	_, err := store.Put(t.Context(), id, session.Item{Kind: session.ItemContinue})
	require.NoError(t, err)
	return id
}

// requireStopped waits for the end of the turn. It was stopped, and the next prompt is not.
func requireStopped(t *testing.T, s *host.Session) {
	t.Helper()
	var reason string
	eventually(t, "it ends", func() bool {
		for e, err := range s.Host().Store().Load(t.Context(), s.ID(), 0) {
			require.NoError(t, err)
			if e.Kind == session.KindEnd {
				reason = transcript.ReasonOf(&e)
			}
		}
		return reason != ""
	})
	require.Contains(t, []string{transcript.Interrupted, transcript.Cancelled}, reason)
	require.NoError(t, prompt(t, s, "And now?").Err)
	require.Contains(t, shown(t, s), "Well.")
}

// A turn was cut off, and Serve is about to take it up. It is stopped at some moment, in this or in
// another process: it ends, the model is not asked any more, and the next prompt is not stopped.
func TestATurnThatIsTakenUpIsStopped(t *testing.T) {
	for _, at := range []string{
		"while it is held", "before Serve", "before the lease", "with the lease",
		"when it has looked for a stop",
		"before the attempt is counted", "when the attempt is counted", "when the model is asked",
	} {
		for _, who := range []string{"here", "elsewhere"} {
			t.Run(at+" "+who, func(t *testing.T) {
				store := &takeUpMoments{Memory: new(session.Memory), at: at}
				m := hanging(func() { store.is("when the model is asked") })
				id := leftOver(t, store.Memory)
				s, stopper := toTakeUp(t, store, id, m), toTakeUp(t, shared{store.Memory}, id, m)
				if who == "here" {
					stopper = s
				}
				store.do = stopper.Cancel
				lease, err := store.Memory.Acquire(t.Context(), id, session.Claim{Holder: "killed"})
				require.NoError(t, err)
				store.is("while it is held")
				require.NoError(t, store.Release(t.Context(), lease))
				store.is("before Serve")
				defer serve(t, s.Host())()
				requireStopped(t, s)
			})
		}
	}
}

// latePut is a store that puts an item when it may.
type latePut struct {
	*session.Memory
	puts, may chan struct{}
}

func (l *latePut) Put(ctx context.Context, id string, i session.Item) (session.Item, error) {
	close(l.puts)
	<-l.may
	return l.Memory.Put(ctx, id, i)
}

// A turn is stopped in another process before anybody has taken it up, and the store learns that
// after somebody has.
func TestAStopThatComesLateIsHeard(t *testing.T) {
	for _, at := range []string{"when the attempt is counted", "when the model is asked"} {
		t.Run(at, func(t *testing.T) {
			store := &takeUpMoments{Memory: new(session.Memory), at: at}
			m := hanging(func() { store.is("when the model is asked") })
			id := leftOver(t, store.Memory)
			late := &latePut{store.Memory, make(chan struct{}), make(chan struct{})}
			s, stopper := toTakeUp(t, store, id, m), toTakeUp(t, late, id, m)
			store.do = func() { close(late.may) }
			cancelled := make(chan struct{})
			go func() {
				defer close(cancelled)
				stopper.Cancel()
			}()
			<-late.puts
			defer serve(t, s.Host())()
			requireStopped(t, s)
			<-cancelled
		})
	}
}

// Nobody stops a turn that was cut off by stopping one that has ended, or none.
func TestAStopWithoutATurnStopsNothing(t *testing.T) {
	store := new(session.Memory)
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: shared{store}}))
	s.Cancel()
	require.NoError(t, prompt(t, s, "One.").Err)
	s.Cancel()
	info, err := store.Get(t.Context(), s.ID())
	require.NoError(t, err)
	require.Zero(t, info.Waiting, "nothing is left for later turns")
	require.NoError(t, prompt(t, s, "Two.").Err)
}
