// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
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
)

// A session that is asleep wakes for turns, and for what takes files back. Its settings, its title, its
// rules and its questions need no dependencies, so nobody starts them for these.
func TestSessionsWakeOnlyForWhatNeedsTheirDependencies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := 0
		var paid []string
		store := new(session.Memory)
		h := newHost(t, host.Config[none, string]{
			Agent: newAgent(modeltest.Script(
				modeltest.SayText("one"), modeltest.Say(payTo("a", "Ada"), payTo("b", "Bob")), modeltest.SayText("paid"),
			), pay(&paid)),
			Store: shared{store}, Modes: host.Modes(), Idle: time.Minute,
			Deps: func(context.Context, *host.Session) (none, error) { made++; return none{}, nil },
		})
		s := create(t, h)
		asleep := func() {
			t.Helper()
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			require.Nil(t, s.Deps(), "it has fallen asleep")
		}
		does := func(what string, wakes bool, do func() error) {
			t.Helper()
			asleep()
			before := made
			require.NoError(t, do(), what)
			synctest.Wait()
			require.Equal(t, wakes, made > before, what)
		}
		does("seed", false, func() error {
			return s.Seed(t.Context(), claim(view.User, model.User("Hello")), claim(view.Assistant, model.Text("Hi")))
		})
		does("a prompt", true, func() error { return prompt(t, s, "One.").Err })
		does("a setting", false, func() error { _, err := s.Set(t.Context(), host.SettingMode, "code"); return err })
		does("another setting", false, func() error { _, err := s.Set(t.Context(), host.SettingMode, "ask"); return err })
		does("a title", false, func() error { return s.SetTitle(t.Context(), "Title") })
		does("a setting of another process", false, func() error {
			_, err := store.Put(t.Context(), s.ID(), session.Item{
				Kind: session.ItemSetting, Data: []byte(`{"id":"mode","value":"plan"}`),
			})
			time.Sleep(time.Second)
			require.Equal(t, "plan", s.Setting(host.SettingMode))
			return err
		})
		does("the same setting back", false, func() error { _, err := s.Set(t.Context(), host.SettingMode, "ask"); return err })
		does("a view", false, func() error { return s.View(t.Context(), func(*view.Fold) {}) })
		does("a list of what waits", false, func() error { _, err := s.Waiting(t.Context()); return err })
		does("a fork", false, func() error { _, err := h.Fork(t.Context(), s.ID(), "", session.New{}); return err })
		does("a run that ends pending", true, func() error { prompt(t, s, "Pay."); return nil })
		q := asked(t, s, 2)
		does("the first answer", false, func() error { return s.Decide(t.Context(), q[0].ID, "", allowed(q[0])) })
		does("the last answer", true, func() error {
			turn, err := s.Answer(t.Context(), q[1].ID, "", host.Answer{Digest: q[1].Digest, Choice: host.AllowAlways})
			require.NoError(t, err)
			return turn.Resume(host.Prompt{}).Err
		})
		require.ElementsMatch(t, []string{"Ada", "Bob"}, paid)
		does("a rule that is taken back", false, func() error {
			all, err := s.Permissions()
			require.NoError(t, err)
			require.Len(t, all, 1)
			return s.DropPermission(t.Context(), all[0].ID)
		})
		turns, err := transcript.Past(t.Context(), store, s.ID())
		require.NoError(t, err)
		require.NotEmpty(t, turns)
		does("a rewind", true, func() error {
			_, err := s.Rewind(t.Context(), transcript.PromptID(turns[1].ID))
			return err
		})
		require.NoError(t, h.Close(t.Context()))
	})
}

// Whoever reads a session that another process has waits for nothing if all is there that the store has.
func TestReadersWaitOnlyForWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, g := new(session.Memory), newGate()
		one, two := machine(t, store, "one", g.model()), machine(t, store, "two", echo())
		s := create(t, one)
		ended := runs(t, s, "a")
		<-g.asked
		there, err := two.Open(t.Context(), s.ID(), nil)
		require.NoError(t, err)
		synctest.Wait()
		begun := time.Now()
		require.Contains(t, shown(t, there), `"text":"a"`)
		require.NoError(t, there.View(t.Context(), func(*view.Fold) {}))
		f, err := there.Follow(t.Context(), "")
		require.NoError(t, err)
		f.Close()
		require.Zero(t, time.Since(begun))
		g.answer <- "so"
		require.NoError(t, (<-ended).Err)
		require.NoError(t, two.Close(t.Context()))
		require.NoError(t, one.Close(t.Context()))
	})
}
