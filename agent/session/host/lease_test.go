// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
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

// shared is a store in memory that several processes share.
type shared struct{ *session.Memory }

// machine returns a host of a machine that shares a store with others.
func machine(t *testing.T, store session.Store, name string, m model.Model, tools ...*toolset.Tool[none]) *host.Host {
	t.Helper()
	return newHost(t, host.Config[none, string]{
		Agent: newAgent(m, tools...), Store: shared{store.(*session.Memory)}, Holder: name, Settings: []host.Setting{{Setting: view.Setting{ID: "fast", Value: "false", Switch: true}}},
	})
}

// takeOver opens a session on another machine, as when the store takes the one that has it for dead.
func takeOver(t *testing.T, store session.Store, to *host.Host, id string) *host.Session {
	t.Helper()
	lease, err := store.Acquire(t.Context(), id, session.Claim{Force: true})
	require.NoError(t, err)
	require.NoError(t, store.Release(t.Context(), lease))
	s, err := to.Open(t.Context(), id, nil)
	require.NoError(t, err)
	return s
}

func TestSessionThatWasTakenOverComesBack(t *testing.T) {
	store := new(session.Memory)
	here, there := machine(t, store, "here", echo()), machine(t, store, "there", echo())
	s := create(t, here)
	require.NoError(t, prompt(t, s, "one").Err)
	other := takeOver(t, store, there, s.ID())
	require.NoError(t, prompt(t, other, "two").Err)
	require.NoError(t, prompt(t, s, "three").Err)
	all := shown(t, s)
	require.Contains(t, all, "II two", "what happened elsewhere is there")
	require.Contains(t, all, "III three")
	require.NotContains(t, all, "IIII")
	require.Eventually(t, func() bool { return shown(t, other) == all }, time.Minute, time.Millisecond, "it is shown there, too")
}

// TestLostTurnLeavesNothing has another machine take a session in the middle of a turn, which goes on here.
func TestLostTurnLeavesNothing(t *testing.T) {
	for name, regained := range map[string]bool{"": false, "while the session is used here again": true} {
		t.Run(name, func(t *testing.T) {
			store := new(session.Memory)
			acting, act := make(chan struct{}), make(chan struct{})
			tool := toolset.Func("act", "", func(context.Context, *toolset.RunContext[none], none) (string, error) {
				close(acting)
				<-act
				return "acted", nil
			})
			here := machine(t, store, "here", modeltest.Script(modeltest.Say(model.ToolCall("c", "act", "{}")), modeltest.SayText("done")), tool)
			release := sync.OnceFunc(func() { close(act) })
			t.Cleanup(release)
			there := machine(t, store, "there", echo())
			s := create(t, here)
			outcome := make(chan *host.Outcome, 1)
			go func() {
				o, err := s.Prompt(t.Context(), say("one"))
				if err != nil {
					o = &host.Outcome{Err: err}
				}
				outcome <- o
			}()
			<-acting
			other := takeOver(t, store, there, s.ID())
			require.NoError(t, prompt(t, other, "two").Err)
			before := shown(t, other)
			require.Contains(t, before, "II two")
			require.Contains(t, before, "Not finished: the turn ended before.", "of the call that may have been made")
			info, err := store.Get(t.Context(), s.ID())
			require.NoError(t, err)
			head := info.Head
			if regained {
				watched, following := watch(t, s)
				<-following
				_, err := s.Set(t.Context(), "fast", "true")
				require.ErrorIs(t, err, session.ErrLeaseLost)
				require.Eventually(t, func() bool { return shown(t, s) == before }, time.Minute, time.Millisecond)
				require.Empty(t, watched)
			}
			release()
			require.ErrorIs(t, (<-outcome).Err, session.ErrLeaseLost)
			require.NoError(t, other.Close(t.Context()))
			info, err = store.Get(t.Context(), s.ID())
			require.NoError(t, err)
			require.Equal(t, head, info.Head)
			require.Eventually(t, func() bool { return shown(t, s) == before }, time.Minute, time.Millisecond, "here it is shown as there")
		})
	}
}

// watch follows a session. following is closed after the first update, and watched gets the error.
func watch(t *testing.T, s *host.Session) (watched <-chan error, following <-chan struct{}) {
	ended, begun := make(chan error, 1), make(chan struct{})
	go func() {
		first := true
		for _, err := range s.Watch(t.Context(), "") {
			if err != nil {
				ended <- err
				return
			}
			if first {
				first = false
				close(begun)
			}
		}
	}()
	return ended, begun
}

func TestCloseKeepsWhatOthersHaveWritten(t *testing.T) {
	for name, c := range map[string]struct {
		use  func(t *testing.T, store session.Store, there *host.Host, id string)
		kept bool
	}{
		"it has a turn": {func(t *testing.T, store session.Store, there *host.Host, id string) {
			other := takeOver(t, store, there, id)
			require.NoError(t, prompt(t, other, "two").Err)
			require.NoError(t, other.Close(t.Context()))
		}, true},
		"it is open elsewhere": {func(t *testing.T, store session.Store, there *host.Host, id string) {
			takeOver(t, store, there, id)
		}, true},
		"it was named": {func(t *testing.T, _ session.Store, there *host.Host, id string) {
			require.NoError(t, there.SetTitle(t.Context(), id, "Mine"))
		}, true},
		"it was deleted": {func(t *testing.T, store session.Store, there *host.Host, id string) {
			other := takeOver(t, store, there, id)
			require.NoError(t, other.Close(t.Context()))
			_ = store.Delete(t.Context(), id)
		}, false},
		"nobody has used it": {func(*testing.T, session.Store, *host.Host, string) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			store := new(session.Memory)
			here, there := machine(t, store, "here", echo()), machine(t, store, "there", echo())
			s := create(t, here)
			c.use(t, store, there, s.ID())
			require.NoError(t, s.Close(t.Context()))
			if _, err := store.Get(t.Context(), s.ID()); c.kept {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, session.ErrNotFound)
			}
		})
	}
}

// TestLostSessionChangesNoValues is about what is kept with a session outside of its entries.
func TestLostSessionChangesNoValues(t *testing.T) {
	store := new(session.Memory)
	here, there := machine(t, store, "here", echo()), machine(t, store, "there", echo())
	s := create(t, here)
	require.NoError(t, prompt(t, s, "one").Err)
	s.Policy().Remember("run", "", toolset.VerdictAllow)
	other := takeOver(t, store, there, s.ID())
	other.Policy().Remember("run", "", toolset.VerdictDeny)
	require.NoError(t, prompt(t, other, "two").Err)
	kept, err := store.Get(t.Context(), s.ID())
	require.NoError(t, err)

	require.NoError(t, prompt(t, s, "three").Err)
	now, err := store.Get(t.Context(), s.ID())
	require.NoError(t, err)
	require.Equal(t, values(t, kept.Values), values(t, now.Values))
	require.Equal(t, toolset.VerdictDeny, s.Policy().Decide("run"), "the rules are those of whoever had it last")
	require.NoError(t, s.Close(t.Context()))
	now, err = store.Get(t.Context(), s.ID())
	require.NoError(t, err)
	require.Equal(t, values(t, kept.Values), values(t, now.Values))

	s, err = here.Open(t.Context(), s.ID(), nil)
	require.NoError(t, err)
	s.Policy().Remember("edit", "", toolset.VerdictAllow)
	other = takeOver(t, store, there, s.ID())
	require.NoError(t, s.Close(t.Context()))
	require.NoError(t, other.Close(t.Context()))
	now, err = store.Get(t.Context(), s.ID())
	require.NoError(t, err)
	require.Contains(t, values(t, now.Values), "edit", "what was remembered between turns is stored")
}

func values(t *testing.T, all map[string]json.RawMessage) string {
	t.Helper()
	data, err := json.Marshal(all)
	require.NoError(t, err)
	return string(data)
}

// TestForkOfATurnThatRunsElsewhere forks a session whose turn is running on another machine: the fork has the turn up to there.
func TestForkOfATurnThatRunsElsewhere(t *testing.T) {
	store := new(session.Memory)
	acting, act := make(chan struct{}), make(chan struct{})
	tool := toolset.Func("act", "", func(context.Context, *toolset.RunContext[none], none) (string, error) {
		close(acting)
		<-act
		return "acted", nil
	})
	here := machine(t, store, "here", modeltest.Script(modeltest.Say(model.ToolCall("c", "act", "{}")), modeltest.SayText("done")), tool)
	release := sync.OnceFunc(func() { close(act) })
	t.Cleanup(release)
	there := machine(t, store, "there", echo())
	s := create(t, here)
	outcome := make(chan error, 1)
	go func() {
		o, err := s.Prompt(t.Context(), say("one"))
		if err == nil {
			err = o.Err
		}
		outcome <- err
	}()
	<-acting
	info, err := there.Fork(t.Context(), s.ID(), "", session.New{})
	require.NoError(t, err)
	fork, err := there.Open(t.Context(), info.ID, nil)
	require.NoError(t, err)
	require.Contains(t, shown(t, fork), "Not finished: the turn ended before.")
	release()
	require.NoError(t, <-outcome, "the turn goes on")
	require.Contains(t, shown(t, s), "done")
	require.NoError(t, prompt(t, fork, "two").Err)
	require.NotContains(t, shown(t, fork), "done")
}

// TestAnswersAfterAnotherMachineHadTheSession answers the question of a pending run on a machine that has lost the session meanwhile.
func TestAnswersAfterAnotherMachineHadTheSession(t *testing.T) {
	for name, answered := range map[string]bool{"it was answered there": true, "it was only looked at": false} {
		t.Run(name, func(t *testing.T) {
			store := new(session.Memory)
			var paid []string
			asking := func() model.Model {
				return modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
					if len(req.Messages) == 1 {
						return model.Response(model.ToolCall("c", "pay", `{"to":"Ada"}`)), nil
					}
					return model.Response(model.Text("done")), nil
				})
			}
			here, there := machine(t, store, "here", asking(), pay(&paid)), machine(t, store, "there", asking(), pay(&paid))
			s := create(t, here)
			require.Equal(t, transcript.Pending, prompt(t, s, "Pay.").Reason)
			snapshot, _, err := s.Snapshot(t.Context())
			require.NoError(t, err)
			question := snapshot.Last(view.Question)
			answer := func(s *host.Session) error {
				now, err := s.Answer(t.Context(), question.ID, "", allowed(question))
				if err != nil {
					return err
				}
				return now.Resume(host.Prompt{}).Err
			}

			other := takeOver(t, store, there, s.ID())
			if answered {
				require.NoError(t, answer(other))
			}
			require.NoError(t, other.Close(t.Context()))
			if err := answer(s); answered {
				require.ErrorIs(t, err, host.ErrNoQuestion)
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, []string{"Ada"}, paid)
			require.Contains(t, shown(t, s), "done")
		})
	}
}

// TestProcessThatOpensASessionRefusesNoPrompt has another process hold the session for a moment, without a turn.
func TestProcessThatOpensASessionRefusesNoPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(session.Memory)
		s := create(t, machine(t, store, "here", echo()))
		require.NoError(t, prompt(t, s, "one").Err)
		lease, err := store.Acquire(t.Context(), s.ID(), session.Claim{Holder: "there"})
		require.NoError(t, err)
		time.AfterFunc(500*time.Millisecond, func() { _ = store.Release(context.Background(), lease) })
		require.NoError(t, prompt(t, s, "two").Err)
		_, err = store.Acquire(t.Context(), s.ID(), session.Claim{Holder: "there"})
		require.NoError(t, err)
		begun := time.Now()
		require.ErrorIs(t, prompt(t, s, "three").Err, session.ErrHeld, "it has the session for good")
		require.LessOrEqual(t, time.Since(begun), 2*time.Second)
	})
}

// TestProcessThatOpensASessionRefusesNoChange has another process hold the session for a moment, without a turn, and then
// for good.
func TestProcessThatOpensASessionRefusesNoChange(t *testing.T) {
	changes := map[string]func(ctx context.Context, h *host.Host, s *host.Session, turn string) error{
		"rewind": func(ctx context.Context, _ *host.Host, s *host.Session, turn string) error {
			_, err := s.Rewind(ctx, transcript.PromptID(turn))
			return err
		},
		"drop a rule": func(ctx context.Context, _ *host.Host, s *host.Session, _ string) error {
			all, err := s.Permissions()
			if err != nil {
				return err
			}
			return s.DropPermission(ctx, all[0].ID)
		},
		"archive": func(ctx context.Context, h *host.Host, s *host.Session, _ string) error {
			return errors.Join(s.Close(ctx), h.SetArchived(ctx, s.ID(), true))
		},
		"delete": func(ctx context.Context, h *host.Host, s *host.Session, _ string) error { return h.Delete(ctx, s.ID()) },
	}
	for name, change := range changes {
		for _, leaves := range []bool{true, false} {
			t.Run(fmt.Sprint(name, leaves), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := new(session.Memory)
					h := machine(t, store, "here", echo())
					s := create(t, h)
					s.Policy().Remember("pay", "", toolset.VerdictAllow)
					o := prompt(t, s, "one")
					require.NoError(t, o.Err)
					lease, err := store.Acquire(t.Context(), s.ID(), session.Claim{Holder: "there"})
					require.NoError(t, err)
					begun := time.Now()
					if leaves {
						time.AfterFunc(500*time.Millisecond, func() { _ = store.Release(context.Background(), lease) })
						require.NoError(t, change(t.Context(), h, s, o.Turn))
						return
					}
					require.ErrorIs(t, change(t.Context(), h, s, o.Turn), session.ErrHeld)
					require.LessOrEqual(t, time.Since(begun), 2*time.Second)
					ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
					defer cancel()
					begun = time.Now()
					require.Error(t, change(ctx, h, s, o.Turn), "the caller does not wait any longer")
					require.LessOrEqual(t, time.Since(begun), 200*time.Millisecond)
				})
			})
		}
	}
}
