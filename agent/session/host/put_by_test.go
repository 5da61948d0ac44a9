// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

// putBy returns which process has put the items of an inbox, by kind.
func putBy(t *testing.T, store session.Store, id string) map[session.ItemKind]string {
	t.Helper()
	by := map[session.ItemKind]string{}
	for i, err := range store.Items(t.Context(), id, -1) {
		require.NoError(t, err)
		by[i.Kind] = i.By
	}
	return by
}

// Whatever a process puts into the inbox of a session names the process: a prompt, a setting and a
// stop for the one that has the session, and that a turn is to go on, or to end, once it has moved.
func TestItemsNameTheProcessThatHasPutThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(session.Memory)
		h := newHost(t, host.Config[none, string]{
			Agent: newAgent(echo()), Store: shared{store}, Holder: "here", Modes: host.Modes(),
		})
		s := create(t, h)
		require.NoError(t, prompt(t, s, "One.").Err)
		lease, err := store.Acquire(t.Context(), s.ID(), session.Claim{Holder: "there"})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = s.Set(ctx, host.SettingMode, "plan")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		s.Cancel()
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		turn, err := s.AdmitWith(ctx, host.BusyQueue)
		require.NoError(t, err)
		turn.Run(say("Two."))
		require.Equal(t, map[session.ItemKind]string{
			session.ItemPrompt: "here", session.ItemSetting: "here", session.ItemCancel: "here",
		}, putBy(t, store, s.ID()))
		require.NoError(t, store.Release(t.Context(), lease))

		id := cutOff(t, store)
		h.WillServe()
		s, err = h.Open(t.Context(), id, nil)
		require.NoError(t, err)
		s.Cancel()
		require.Equal(t, map[session.ItemKind]string{session.ItemCancel: "here"}, putBy(t, store, id))
		require.NoError(t, h.Close(t.Context()))
	})
	memory := new(session.Memory)
	id, stop := halfway(t, memory)
	stop()
	require.Equal(t, "first", putBy(t, memory, id)[session.ItemContinue])
}

// Those who listen to a session are told when other prompts wait than before: at once in the process
// in which one was sent or begins, and soon in others. They are not told when nothing has changed.
func TestListenersAreToldOfPromptsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, store := newGate(), new(session.Memory)
		var here, there *host.Session
		var mu sync.Mutex
		told, then := map[string]int{}, 2
		tells := func(s *host.Session) int {
			mu.Lock()
			defer mu.Unlock()
			return told[s.Host().Store().(*named).name]
		}
		open := func(name, id string) (s *host.Session) {
			h := newHost(t, host.Config[none, string]{
				Agent: newAgent(g.model()), Store: &named{store, name}, Holder: name,
				Commands: []host.Command{{Name: "hello", Run: func(
					_ context.Context, call *host.CommandCall,
				) (agent.CommandResult, error) {
					if call.Session == here {
						then = tells(here)
					}
					return agent.CommandResult{Notice: "Hello!"}, nil
				}}},
			})
			if id == "" {
				s = create(t, h)
			} else {
				var err error
				s, err = h.Open(t.Context(), id, nil)
				require.NoError(t, err)
			}
			s.Announce(func(_ context.Context, e *view.Entity) {
				mu.Lock()
				defer mu.Unlock()
				if e.Kind == view.Waiting {
					told[name]++
				}
			})
			return s
		}
		here = open("here", "")
		there = open("there", here.ID())
		for _, s := range []*host.Session{here, there} { // what they show is read again, as it changes
			go func() {
				for _, err := range s.Watch(context.WithoutCancel(t.Context()), "") {
					if err != nil {
						return
					}
				}
			}()
		}
		time.Sleep(5 * time.Second)
		first := runs(t, here, "first")
		<-g.asked
		time.Sleep(5 * time.Second)
		require.Zero(t, tells(here))
		second := runs(t, here, "/hello")
		synctest.Wait()
		require.Equal(t, 1, tells(here), "at once")
		time.Sleep(5 * time.Second)
		require.Equal(t, 1, tells(there), "soon")
		g.answer <- "one"
		require.NoError(t, (<-first).Err)
		require.NoError(t, (<-second).Err)
		require.Equal(t, 2, then, "a command that runs does not wait any more")
		time.Sleep(5 * time.Second)
		require.Equal(t, 2, tells(here))
		require.Equal(t, 2, tells(there))
		require.NoError(t, here.Host().Close(t.Context()))
		require.NoError(t, there.Host().Close(t.Context()))
	})
}

// named is a store that does not tell of changes, with the name of the process that uses it.
type named struct {
	session.Store
	name string
}

// taken is a store in which other processes are quicker to get a session.
type taken struct {
	*session.Memory
	late atomic.Bool
}

func (s *taken) Acquire(ctx context.Context, id string, c session.Claim) (session.Lease, error) {
	if s.late.Load() {
		return session.Lease{}, &session.Error{Op: "acquire", Session: id, Holder: "there", Err: session.ErrHeld}
	}
	return s.Memory.Acquire(ctx, id, c)
}

// Another process runs what waits in the inbox. Whoever has sent it is told when it is over: a
// prompt, and also a command or a prompt that was refused, of which nothing is recorded.
func TestWhatAnotherProcessRunsIsOverForItsSender(t *testing.T) {
	for _, what := range []string{"Hi.", "/hello", "/hello and stop", "refused"} {
		synctest.Test(t, func(t *testing.T) {
			store, ran := new(session.Memory), make(chan struct{}, 1)
			machine := func(name string, s session.Store) *host.Host {
				return newHost(t, host.Config[none, string]{
					Agent: newAgent(echo()), Store: s, Holder: name, Logger: slog.New(slog.DiscardHandler),
					Commands: []host.Command{{Name: "hello", Hint: "more", Run: func(
						context.Context, *host.CommandCall,
					) (agent.CommandResult, error) {
						ran <- struct{}{}
						time.Sleep(time.Minute)
						return agent.CommandResult{Notice: "Hello!"}, nil
					}}},
					RunOptions: func(_ context.Context, _ none, p *host.Prompt) ([]agent.RunOption, error) {
						if p.Parts[0].Text == "refused" {
							return nil, errFire
						}
						return nil, nil
					},
				})
			}
			late := &taken{Memory: store}
			here, there := machine("here", late), machine("there", shared{store})
			s := create(t, here)
			require.NoError(t, prompt(t, s, "One.").Err)
			_, err := there.Open(t.Context(), s.ID(), nil)
			require.NoError(t, err)
			late.late.Store(true)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			turn, err := s.AdmitWith(ctx, host.BusyQueue)
			require.NoError(t, err)
			ended := make(chan *host.Outcome, 1)
			go func() { ended <- turn.Run(say(what)) }()
			switch what {
			case "/hello and stop":
				<-ran
				time.Sleep(5 * time.Second) // it is known here that it runs there
				cancel(errFire)
				o := <-ended
				require.ErrorIs(t, o.Err, errFire)
				require.True(t, o.Elsewhere)
				require.Equal(t, transcript.Cancelled, o.Reason)
				ended <- &host.Outcome{Elsewhere: true, Reason: transcript.Done}
			case "/hello":
				<-ran
				time.Sleep(59 * time.Second)
				synctest.Wait()
				require.Empty(t, ended, "the command runs")
			}
			time.Sleep(10 * time.Second)
			synctest.Wait()
			require.Len(t, ended, 1, what)
			o := <-ended
			require.NoError(t, o.Err)
			require.True(t, o.Elsewhere)
			require.Equal(t, transcript.Done, o.Reason)
			require.NoError(t, here.Close(t.Context()))
			require.NoError(t, there.Close(t.Context()))
		})
	}
}

// A process that has run a turn and waits is shown the turns of others, as they go.
func TestThoseWhoWatchAreShownTheTurnsOfOtherProcesses(t *testing.T) {
	store := new(session.Memory)
	here, there := machine(t, store, "here", echo()), machine(t, store, "there", echo())
	s := create(t, here)
	require.NoError(t, prompt(t, s, "One.").Err)
	watching, seen := make(chan struct{}), make(chan error, 1)
	go func() {
		var once sync.Once
		for u, err := range s.Watch(t.Context(), "") {
			if err != nil {
				seen <- err
				return
			}
			once.Do(func() { close(watching) })
			if e := u.Snapshot.Last(view.Message); e != nil && e.Text() == "II Two." {
				seen <- nil
				return
			}
		}
	}()
	<-watching
	other, err := there.Open(t.Context(), s.ID(), nil)
	require.NoError(t, err)
	require.NoError(t, prompt(t, other, "Two.").Err)
	require.NoError(t, <-seen)
}

// A prompt that waits for its runner ends when its session is closed here. It stays in the inbox.
func TestPromptsForRunnersEndWithTheirSession(t *testing.T) {
	store := new(session.Memory)
	s := create(t, newHost(t, host.Config[none, string]{
		Agent: newAgent(echo()), Store: shared{store}, Runner: &stepRunner{},
	}))
	ended := runs(t, s, "One.")
	eventually(t, "it waits", func() bool { return len(waitingTexts(t, s)) == 1 })
	require.NoError(t, s.Close(t.Context()))
	o := <-ended
	require.ErrorIs(t, o.Err, host.ErrClosed)
	require.Equal(t, "The session was closed. Try again.", o.Failure)
	items, err := session.Waiting(t.Context(), store, s.ID())
	require.NoError(t, err)
	require.Len(t, items, 1)
}

// The sessions in memory of a host that was closed are closed, too, although nobody has asked for
// them before.
func TestEphemeralSessionsOfAClosedHostAreClosed(t *testing.T) {
	h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: durable{new(session.Memory)}})
	require.NoError(t, h.Close(t.Context()))
	e := h.Ephemeral()
	require.Same(t, e, h.Ephemeral())
	require.Same(t, e, e.Ephemeral())
	_, err := e.Create(t.Context(), session.New{}, nil)
	require.ErrorIs(t, err, host.ErrClosed)
}

// A session whose rules cannot be read does not open: what was rejected for ever must hold.
func TestSessionsWithUnreadableRulesDoNotOpen(t *testing.T) {
	store := new(session.Memory)
	h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: store})
	for _, rules := range []string{`7`, `{"version":99,"rules":[]}`} {
		info, err := store.Create(t.Context(), session.New{
			Values: map[string]json.RawMessage{"approvals": json.RawMessage(rules)},
		})
		require.NoError(t, err)
		_, err = h.Open(t.Context(), info.ID, nil)
		require.ErrorContains(t, err, "host: open session "+info.ID+`: value "approvals": `)
		require.Nil(t, h.Session(info.ID))
	}
}
