// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
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
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// slowFiles are files whose changes are undone when somebody says so.
type slowFiles struct{ begun, may chan struct{} }

func (f *slowFiles) Mark(string, string) {}

func (f *slowFiles) Undo(context.Context, string) (string, error) {
	close(f.begun)
	<-f.may
	return "", nil
}

// While a session is rewound, nothing reads what is meant for a turn: nobody can steer, and a prompt
// that would steer waits and runs.
func TestNobodySteersARewind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &slowFiles{make(chan struct{}), make(chan struct{})}
		h := newHost(t, host.Config[none, string]{
			Agent: newAgent(echo()), Store: durable{new(session.Memory)}, Busy: host.BusySteer,
			Files: func(none) host.Files { return f },
		})
		s := create(t, h)
		one := prompt(t, s, "One.")
		require.NoError(t, one.Err)
		rewound := make(chan error, 1)
		go func() {
			_, err := s.Rewind(t.Context(), transcript.PromptID(one.Turn))
			rewound <- err
		}()
		<-f.begun
		require.False(t, s.Steer(model.User("Two.")))
		ended := make(chan *host.Outcome, 1)
		go func() { ended <- prompt(t, s, "Three.") }()
		synctest.Wait()
		require.Empty(t, ended, "it waits")
		close(f.may)
		require.NoError(t, <-rewound)
		o := <-ended
		require.NoError(t, o.Err)
		require.False(t, o.Steered)
		require.Contains(t, shown(t, s), `"I Three."`)
		require.NoError(t, h.Close(t.Context()))
	})
}

// A turn that was stopped, and whose tool does not heed that, has not ended: a rewind waits for it.
func TestRewindsWaitForTurnsThatWereStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, may := make(chan struct{}), make(chan struct{})
		stubborn := toolset.Func("act", "Act.", func(context.Context, *toolset.RunContext[none], none) (string, error) {
			close(began)
			<-may
			return "acted", nil
		})
		m := modeltest.Script(modeltest.SayText("One."), modeltest.Say(model.ToolCall("a", "act", `{}`)))
		h := newHost(t, host.Config[none, string]{
			Agent: newAgent(m, stubborn), Store: durable{new(session.Memory)},
		})
		s := create(t, h)
		one := prompt(t, s, "First.")
		ended := runs(t, s, "Second.")
		<-began
		_, err := s.Rewind(t.Context(), transcript.PromptID(one.Turn))
		require.ErrorIs(t, err, host.ErrBusy)
		s.Cancel()
		rewound := make(chan error, 1)
		go func() {
			_, err := s.Rewind(t.Context(), transcript.PromptID(one.Turn))
			rewound <- err
		}()
		synctest.Wait()
		require.Empty(t, rewound)
		close(may)
		require.NoError(t, <-rewound)
		require.Equal(t, transcript.Cancelled, (<-ended).Reason)
		require.NotContains(t, shown(t, s), "First.")
		require.NotContains(t, shown(t, s), "Second.")
		require.NoError(t, h.Close(t.Context()))
	})
}

// listened is a store that knows how many listen to it.
type listened struct {
	shared
	now atomic.Int32
}

func (l *listened) Listen(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		l.now.Add(1)
		defer l.now.Add(-1)
		l.Memory.Listen(ctx)(yield)
	}
}

// A host listens to its store once, and only while one of its sessions is open.
func TestHostsListenWhileSessionsAreOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &listened{shared: shared{new(session.Memory)}}
		h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: store})
		for range 2 {
			synctest.Wait()
			require.Zero(t, store.now.Load())
			one, two := create(t, h), create(t, h)
			for _, s := range []*host.Session{one, two} {
				synctest.Wait()
				require.EqualValues(t, 1, store.now.Load())
				require.NoError(t, s.Close(t.Context()))
			}
		}
		synctest.Wait()
		require.Zero(t, store.now.Load())
		require.NoError(t, h.Close(t.Context()))
	})
}

// A surface that panics when it is asked leaves no open question: it is shown as cancelled, and the
// call has not run.
func TestSurfacesThatPanicLeaveNoQuestion(t *testing.T) {
	var paid []string
	s := create(t, newHost(t, host.Config[none, string]{
		Agent: newAgent(paysOnce(), pay(&paid)), Store: durable{new(session.Memory)},
		Logger: slog.New(slog.DiscardHandler),
	}))
	p := say("Pay.")
	p.Wait = true
	p.Asker = toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
		panic("no window")
	}}
	o, err := s.Prompt(t.Context(), p)
	require.NoError(t, err)
	require.Error(t, o.Err)
	require.Empty(t, paid)
	snapshot, _, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	q := snapshot.Last(view.Question)
	require.NotNil(t, q)
	require.Equal(t, view.Cancelled, q.Status)
	require.ErrorIs(t, s.CheckAnswer(q.ID, allowed(q)), host.ErrNoQuestion)
}

// What is allowed with changed arguments is allowed once, also if the answer says always: the rule
// would be about calls that nobody has seen.
func TestChangedArgumentsAreNoRule(t *testing.T) {
	for _, waits := range []bool{true, false} {
		for _, args := range []string{"", `{"to":"Eve"}`} {
			var paid []string
			s := create(t, newHost(t, host.Config[none, string]{
				Agent: newAgent(paysOnce(), pay(&paid)), Store: durable{new(session.Memory)},
			}))
			p := say("Pay.")
			p.Wait = waits
			ended := make(chan *host.Outcome, 1)
			go func() {
				o, _ := s.Prompt(context.Background(), p)
				ended <- o
			}()
			q := open(t, s, "")
			if !waits {
				<-ended
			}
			d := toolset.Decision{Verdict: toolset.VerdictAllow, Always: true, Args: []byte(args)}
			turn, err := s.Answer(t.Context(), q.ID, "", host.Answer{Digest: q.Digest, Decision: &d})
			require.NoError(t, err)
			if waits {
				require.NoError(t, (<-ended).Err)
			} else {
				require.NoError(t, turn.Resume(host.Prompt{}).Err)
			}
			if args == "" {
				require.Len(t, s.Policy().Rules(), 1)
				require.Equal(t, []string{"Ada"}, paid)
			} else {
				require.Empty(t, s.Policy().Rules())
				require.Equal(t, []string{"Eve"}, paid)
			}
		}
	}
}

// Those who watch a session are shown a title that was given to it in another process.
func TestThoseWhoWatchAreShownTitlesOfOtherProcesses(t *testing.T) {
	store := new(session.Memory)
	here, there := machine(t, store, "here", echo()), machine(t, store, "there", echo())
	s := create(t, here)
	require.NoError(t, prompt(t, s, "One.").Err)
	other, err := there.Open(t.Context(), s.ID(), nil)
	require.NoError(t, err)
	named := false
	for u, err := range s.Watch(t.Context(), "") {
		require.NoError(t, err)
		if !named {
			named = true
			require.NoError(t, other.SetTitle(t.Context(), "Named there"))
		}
		if e := u.Snapshot.Get(transcript.SessionID); e != nil && e.Title == "Named there" {
			break
		}
	}
}

// Who listens to a session that only others use hears of the prompts that wait there.
func TestListenersHearOfPromptsThatWaitElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(session.Memory)
		here, there := machine(t, store, "here", echo()), machine(t, store, "there", echo())
		s := create(t, here)
		require.NoError(t, prompt(t, s, "One.").Err)
		var told atomic.Int32
		defer s.Announce(func(_ context.Context, e *view.Entity) {
			if e.Kind == view.Waiting {
				told.Add(1)
			}
		})()
		other, err := there.Open(t.Context(), s.ID(), nil)
		require.NoError(t, err)
		require.NoError(t, prompt(t, other, "Two.").Err)
		synctest.Wait()
		lease, err := store.Acquire(t.Context(), s.ID(), session.Claim{Holder: "busy"})
		require.NoError(t, err)
		told.Store(0)
		_, err = store.Put(t.Context(), s.ID(), session.Item{Kind: session.ItemPrompt, Data: []byte(`{"parts":[{"kind":"text","text":"Three."}]}`)})
		require.NoError(t, err)
		synctest.Wait()
		require.EqualValues(t, 1, told.Load(), "it waits")
		require.NoError(t, store.Release(t.Context(), lease))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.EqualValues(t, 2, told.Load(), "it does not wait any more")
		require.NoError(t, errors.Join(here.Close(t.Context()), there.Close(t.Context())))
	})
}
