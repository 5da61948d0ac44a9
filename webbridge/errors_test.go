// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/webbridge"
)

// failing is a store that makes no sessions, or from some time on keeps nothing.
type failing struct {
	session.Memory
	cause   error
	running atomic.Bool
}

func (f *failing) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	if f.running.Load() {
		return 0, &session.Error{Op: "append", Session: l.Session, Err: fmt.Errorf("%w: /secret/path", f.cause)}
	}
	return f.Memory.Append(ctx, l, head, b)
}

func (f *failing) Create(ctx context.Context, n session.New) (session.Info, error) {
	if n.ID == "" {
		return session.Info{}, &session.Error{Op: "create", Session: "s1", Err: fmt.Errorf("%w: /secret/path", f.cause)}
	}
	return f.Memory.Create(ctx, n)
}

// A client is told what is wrong with the store in general terms, and the log says it, too.
func TestStoreFailuresAreExplained(t *testing.T) {
	for cause, status := range map[error]int{
		session.ErrFull: 503, session.ErrReadOnly: 503, session.ErrUnavailable: 503, session.ErrBusy: 503, session.ErrVersion: 500, session.ErrCorrupt: 500,
	} {
		var log bytes.Buffer
		h := newHandler(t, options{
			host:    host.Config[none, string]{Store: &failing{cause: cause}},
			Options: webbridge.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))},
		})
		told := recorded(t, h)("POST", "/api/sessions", `{}`, status)["error"].(object)["message"].(string)
		require.NotContains(t, told+log.String(), "/secret/path")
		require.NotContains(t, told, "its log says more")
		require.Contains(t, told, cause.Error()+": ")
		require.Contains(t, log.String(), fmt.Sprintf("op=create session=s1 cause=%q", cause))
		require.NoError(t, h.Shutdown(t.Context()))
	}
}

// If the store fails in the middle of a turn, the user is shown no more of it.
func TestFailedTurnTellsNothingOfTheStore(t *testing.T) {
	store, g := &failing{cause: session.ErrFull}, newGate()
	_, err := store.Create(t.Context(), session.New{ID: "s1"})
	require.NoError(t, err)
	var log bytes.Buffer
	h := newHandler(t, options{model: g.model(), host: host.Config[none, string]{Store: store, Logger: slog.New(slog.NewTextHandler(&log, nil))}})
	s, done, err := h.Use(t.Context(), "s1")
	require.NoError(t, err)
	going, err := s.Begin(t.Context(), webbridge.Turn{Parts: []model.Part{model.User("one")}})
	require.NoError(t, err)
	<-g.asked
	store.running.Store(true)
	g.answer <- "done"
	<-going.Done()
	require.Equal(t, "the disk is full: try again when there is room; nothing is lost", going.Failure())
	require.ErrorIs(t, going.Outcome().Err, session.ErrFull)
	done()
	_ = h.Shutdown(t.Context())
	require.Contains(t, log.String(), `op=append cause="the disk is full"`)
	require.NotContains(t, log.String(), "/secret/path")
}

// A prompt that was accepted is in the store.
func TestPromptThatIsNotRecordedIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, g := &failing{cause: session.ErrUnavailable}, newGate()
		_, err := store.Create(t.Context(), session.New{ID: "s1"})
		require.NoError(t, err)
		quiet := slog.New(slog.DiscardHandler)
		h := newHandler(t, options{model: g.model(), host: host.Config[none, string]{Store: store, Logger: quiet}, Options: webbridge.Options{Logger: quiet}})
		call := recorded(t, h)
		require.NotEmpty(t, call("POST", "/api/sessions/s1/prompts", `{"parts":[{"text":"one"}]}`, 202)["turn"], "the run goes on")
		g.answer <- "done"
		synctest.Wait()
		store.running.Store(true)
		told := call("POST", "/api/sessions/s1/prompts", `{"parts":[{"text":"two"}]}`, 503)["error"].(object)
		require.Equal(t, object{"kind": "unavailable", "message": "the store cannot be reached: try again"}, told)
		store.running.Store(false)
		require.NotEmpty(t, call("POST", "/api/sessions/s1/prompts", `{"parts":[{"text":"two"}]}`, 202)["turn"])
		g.answer <- "done"
		synctest.Wait()
		require.NoError(t, h.Shutdown(t.Context()))
	})
}
