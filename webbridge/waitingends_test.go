// SPDX-License-Identifier: Apache-2.0

package webbridge_test

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
	"github.com/ponte-go/ponte/webbridge"
)

// TestShutdownEndsPromptsThatWait has three prompts behind a turn when the time for a shutdown is over. None of them begins, and
// they stay in the session for the next process. Turns of other surfaces go on.
func TestShutdownEndsPromptsThatWait(t *testing.T) {
	for _, theirs := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			g := newGate()
			own := newHandler(t, options{model: g.model(), host: host.Config[none, string]{
				Store: durable{new(session.Memory)}, Logger: slog.New(slog.DiscardHandler),
			}})
			h, err := webbridge.On(own.Host(), webbridge.Options{Token: token, Logger: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			call := recorded(t, h)
			s, err := own.Host().Create(t.Context(), session.New{}, host.Local)
			require.NoError(t, err)
			path := "/api/sessions/" + s.ID()
			ended := make(chan *host.Outcome, 1)
			if theirs {
				go func() {
					o, _ := s.Prompt(context.Background(), host.Prompt{Parts: []model.Part{model.User("first")}})
					ended <- o
				}()
			} else {
				call("POST", path+"/prompts", `{"parts":[{"text":"first"}]}`, 202)
			}
			require.Equal(t, "first", <-g.asked)
			for _, text := range []string{"two", "three", "four"} {
				call("POST", path+"/prompts", `{"busy":"wait","parts":[{"text":"`+text+`"}]}`, 202)
			}
			synctest.Wait()
			tired := errors.New("tired")
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(tired)
			require.ErrorIs(t, h.Shutdown(ctx), tired)
			if theirs {
				g.answer <- "done"
				require.NoError(t, (<-ended).Err)
			}
			synctest.Wait()
			require.Empty(t, g.asked, "no other turn has begun")
			waiting, err := s.Waiting(t.Context())
			require.NoError(t, err)
			require.Len(t, waiting, 3)
			require.NoError(t, s.Leave(t.Context(), nil))
			require.NoError(t, own.Shutdown(t.Context()))
		})
	}
}

// TestTurnsThatNobodyFollowsEndInTime has nobody follow a session. Each turn has the same time from its beginning, and a turn of
// another surface is left alone.
func TestTurnsThatNobodyFollowsEndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		h := newHandler(t, options{model: g.model(), Options: webbridge.Options{Leave: time.Minute, Linger: time.Hour}})
		call := recorded(t, h)
		id := call("POST", "/api/sessions", `{}`, 201)["id"].(string)
		s, err := h.Host().Open(t.Context(), id, nil)
		require.NoError(t, err)
		ended := make(chan *host.Outcome, 1)
		go func() {
			o, _ := s.Prompt(context.Background(), host.Prompt{Parts: []model.Part{model.User("theirs")}})
			ended <- o
		}()
		synctest.Wait()
		call("POST", "/api/sessions/"+id+"/prompts", `{"busy":"wait","parts":[{"text":"one"}]}`, 202)
		call("POST", "/api/sessions/"+id+"/prompts", `{"busy":"wait","parts":[{"text":"two"}]}`, 202)
		time.Sleep(10*time.Minute + time.Second)
		require.Empty(t, ended)
		g.answer <- "done"
		require.NoError(t, (<-ended).Err)
		for _, want := range []string{"", `turns_total{reason="cancelled"} 1`, `turns_total{reason="cancelled"} 2`} {
			synctest.Wait()
			require.Contains(t, metrics(h), want)
			time.Sleep(time.Minute - time.Nanosecond)
			synctest.Wait()
			require.Contains(t, metrics(h), want)
			time.Sleep(time.Nanosecond)
		}
		require.NoError(t, h.Shutdown(t.Context()))
	})
}
