// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

var errEnough = errors.New("the caller has waited long enough")

// A session is held up for as long as its dependencies are released. Whoever calls it meanwhile waits
// no longer than asked, and is told why.
func TestCallsEndWithTheirContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		h := newHost(t, host.Config[none, string]{
			Agent: newAgent(echo()), Store: new(session.Memory), Modes: host.Modes(), Idle: time.Minute,
			Release: func(context.Context, *host.Session, none) error { <-hold; return nil },
		})
		s := create(t, h)
		require.NoError(t, prompt(t, s, "Hello").Err)
		time.Sleep(time.Minute)
		synctest.Wait()
		for name, do := range map[string]func(ctx context.Context) error{
			"open": func(ctx context.Context) error { _, err := h.Open(ctx, s.ID(), nil); return err },
			"view": func(ctx context.Context) error {
				return s.View(ctx, func(*view.Fold) { t.Error("it is shown") })
			},
			"snapshot": func(ctx context.Context) error {
				shown, at, err := s.Snapshot(ctx)
				require.Nil(t, shown)
				require.Empty(t, at)
				return err
			},
			"follow": func(ctx context.Context) error {
				f, err := s.Follow(ctx, "")
				require.Nil(t, f)
				return err
			},
			"watch": func(ctx context.Context) (last error) {
				n := 0
				for u, err := range s.Watch(ctx, "") {
					require.Nil(t, u)
					n, last = n+1, err
				}
				require.Equal(t, 1, n)
				return last
			},
			"prompt": func(ctx context.Context) error {
				o, err := s.Prompt(ctx, say("Hello"))
				require.NoError(t, err)
				require.Equal(t, &host.Outcome{
					Reason: transcript.Cancelled, Err: errEnough, Failure: h.ErrorText(errEnough),
				}, o)
				return o.Err
			},
			"set": func(ctx context.Context) error {
				all, err := s.Set(ctx, host.SettingMode, "plan")
				require.Nil(t, all)
				return err
			},
			"title": func(ctx context.Context) error { return s.SetTitle(ctx, "Title") },
			"title by id": func(ctx context.Context) error {
				return h.SetTitle(ctx, s.ID(), "Title")
			},
			"drop": func(ctx context.Context) error { return s.DropPermission(ctx, "x") },
			"seed": func(ctx context.Context) error {
				return s.Seed(ctx, claim(view.User, model.User("Hello")))
			},
			"rewind": func(ctx context.Context) error {
				note, err := s.Rewind(ctx, transcript.PromptID("x"))
				require.Empty(t, note)
				return err
			},
			"answer": func(ctx context.Context) error {
				turn, err := s.Answer(ctx, "question:x", "", host.Answer{Digest: "d", Choice: "x"})
				require.Nil(t, turn)
				return err
			},
			"decide": func(ctx context.Context) error {
				return s.Decide(ctx, "question:x", "", host.Answer{Digest: "d", Choice: "x"})
			},
		} {
			ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Second, errEnough)
			begun := time.Now()
			require.ErrorIs(t, do(ctx), errEnough, name)
			require.Equal(t, 3*time.Second, time.Since(begun), name)
			cancel()
		}
		require.Equal(t, "Hello", s.Info().Title)
		close(hold)
		require.NoError(t, prompt(t, s, "Again").Err)
		require.Equal(t, "ask", s.Setting(host.SettingMode))
		require.Contains(t, shown(t, s), "II Again")
		require.NoError(t, h.Close(t.Context()))
	})
}

// A session that is held up is closed as soon as it is free again, if whoever closes it first does
// not wait.
func TestClosingEndsWithItsContext(t *testing.T) {
	for name, closing := range map[string]func(context.Context, *host.Host, *host.Session) error{
		"close":  func(ctx context.Context, _ *host.Host, s *host.Session) error { return s.Close(ctx) },
		"leave":  func(ctx context.Context, _ *host.Host, s *host.Session) error { return s.Leave(ctx, nil) },
		"delete": func(ctx context.Context, h *host.Host, s *host.Session) error { return h.Delete(ctx, s.ID()) },
		"archive": func(ctx context.Context, h *host.Host, s *host.Session) error {
			return h.SetArchived(ctx, s.ID(), true)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			hold := make(chan struct{})
			store := new(session.Memory)
			h := newHost(t, host.Config[none, string]{
				Agent: newAgent(echo()), Store: store, Idle: time.Minute,
				Release: func(context.Context, *host.Session, none) error { <-hold; return nil },
			})
			s := create(t, h)
			require.NoError(t, prompt(t, s, "Hello").Err)
			time.Sleep(time.Minute)
			synctest.Wait()
			ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Second, errEnough)
			defer cancel()
			begun := time.Now()
			require.ErrorIs(t, closing(ctx, h, s), errEnough, name)
			require.Equal(t, 3*time.Second, time.Since(begun), name)
			require.Same(t, s, h.Session(s.ID()), name)
			_, err := store.Get(t.Context(), s.ID())
			require.NoError(t, err, "it is not deleted")
			_, err = s.Prompt(t.Context(), say("Again"))
			require.ErrorIs(t, err, host.ErrClosed, "no more turns begin")
			close(hold)
			require.NoError(t, s.Close(t.Context()))
			require.Nil(t, h.Session(s.ID()))
			require.NoError(t, h.Close(t.Context()))
		})
	}
}

// A surface that cannot ask fails the turn with its error, for calls and for questions of tools. The
// call is not made, and nobody is asked later.
func TestSurfacesThatCannotAskFailTheTurn(t *testing.T) {
	failing := toolset.AskerFuncs{
		OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
			return toolset.Decision{}, errFire
		},
		OnAnswer: func(context.Context, toolset.Question) (toolset.Reply, error) {
			return toolset.Reply{}, errFire
		},
	}
	for name, wait := range map[string]bool{"nobody else": false, "others may": true} {
		var paid []string
		h := newHost(t, host.Config[none, string]{
			Agent: newAgent(paysOnce(), pay(&paid)), Store: durable{new(session.Memory)},
			Logger: slog.New(slog.DiscardHandler),
		})
		s := create(t, h)
		p := say("Pay.")
		p.Asker, p.Wait = failing, wait
		o, err := s.Prompt(t.Context(), p)
		require.NoError(t, err)
		require.ErrorIs(t, o.Err, errFire, name)
		require.Equal(t, transcript.Failed, o.Reason, name)
		require.Empty(t, paid)
		open, err := questions(s)
		require.NoError(t, err)
		require.Empty(t, open)
		require.Contains(t, shown(t, s), `"kind":"question"`)
		require.Contains(t, shown(t, s), `"status":"cancelled"`)
	}
}
