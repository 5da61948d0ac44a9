// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
)

// A shell that completes the id of a session waits two seconds for the store, and then has none.
func TestHowLongACompletionWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(Process{Getenv: env()}, "desk")
		e.openStore = func(context.Context, *Env) (sessions.Store, error) {
			return slow{new(sessions.Memory)}, nil
		}
		require.NoError(t, e.command().ParseFlags(nil))
		begin := time.Now()
		ids, directive := e.CompleteSessions(&cobra.Command{}, nil, "")
		require.Empty(t, ids)
		require.Equal(t, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder, directive)
		require.Equal(t, 2*time.Second, time.Since(begin))
	})
}

// stuck is a model that does not notice that nobody waits for it any more.
type stuck struct {
	model.Model
	lasts time.Duration
}

func (s stuck) Generate(ctx context.Context, r *model.Request, sink model.Sink) (*model.Message, error) {
	time.Sleep(s.lasts)
	return s.Model.Generate(context.WithoutCancel(ctx), r, sink)
}

// A program that ends waits ten seconds for turns that do not end.
func TestHowLongAnEndWaitsForTurns(t *testing.T) {
	for lasts, want := range map[time.Duration]time.Duration{
		9 * time.Second: 9 * time.Second, 10*time.Second - 1: 10*time.Second - 1, time.Minute: 10 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			m := stuck{modeltest.Script(modeltest.SayText("Late.")), lasts}
			h, err := host.New(host.Config[any, string]{Agent: silentAgent(), Models: []host.Model{{ID: "m", Model: m}}})
			require.NoError(t, err)
			s, err := h.Create(t.Context(), sessions.New{}, host.Local)
			require.NoError(t, err)
			turn, err := s.Admit(t.Context())
			require.NoError(t, err)
			go turn.Run(host.Prompt{Parts: []model.Part{model.User("Hello")}})
			synctest.Wait()
			e := newEnv(Process{}, "desk")
			e.made = h
			begin := time.Now()
			err = e.close()
			require.Equal(t, want, time.Since(begin))
			if want < 10*time.Second {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, context.DeadlineExceeded)
				time.Sleep(lasts) // until the model notices
			}
		})
	}
}
