// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
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

// failingRoute is a protocol with a route that fails.
type failingRoute struct{ err error }

func (p failingRoute) Register(h *webbridge.Handler) {
	h.Handle("GET /api/fails", func(http.ResponseWriter, *http.Request) error { return fmt.Errorf("at /secret/path: %w", p.err) })
}

// Routes of protocols may return the errors of sessions, hosts and requests. What they mean to a
// client is told, and nothing else.
func TestErrorsOfRoutesAreExplained(t *testing.T) {
	at := func(err error, holder string) error {
		return &session.Error{Op: "open", Session: "s1", Holder: holder, Err: err}
	}
	for _, c := range []struct {
		err    error
		status int
		kind   string
		says   string
	}{
		{&webbridge.Error{Status: 418, Kind: "tea", Message: "no coffee"}, 418, "tea", "no coffee"},
		{&webbridge.Error{Kind: webbridge.KindLimit, Message: "enough"}, 429, webbridge.KindLimit, "enough"},
		{&webbridge.Error{Kind: "tea", Message: "no coffee"}, 400, "tea", "no coffee"},
		{&webbridge.Error{Status: 200, Kind: "tea", Message: "no coffee"}, 400, "tea", "no coffee"},
		{&webbridge.Error{Kind: webbridge.KindUnauthorized, Message: "who?"}, 401, webbridge.KindUnauthorized, "who?"},
		{&host.FilesStayError{Err: errors.New("a.txt")}, 409, webbridge.KindFilesStay, "not all files were"},
		{&http.MaxBytesError{Limit: 7}, 413, webbridge.KindTooLarge, "longer than 7 bytes"},
		{session.ErrNotFound, 404, webbridge.KindNotFound, "there is no such session"},
		{at(session.ErrNotFound, ""), 404, webbridge.KindNotFound, `there is no session "s1"`},
		{session.ErrHeld, 409, webbridge.KindHeld, "running in another program:"},
		{at(session.ErrHeld, ""), 409, webbridge.KindHeld, "running in another program:"},
		{at(session.ErrHeld, "ada"), 409, webbridge.KindHeld, "running in ada:"},
		{at(session.ErrLeaseLost, "ada"), 409, webbridge.KindHeld, "running in ada:"},
		{at(session.ErrLeaseLost, ""), 503, webbridge.KindUnavailable, "was closed: try again"},
		{session.ErrLeaseLost, 503, webbridge.KindUnavailable, "was closed: try again"},
		{host.ErrClosed, 503, webbridge.KindUnavailable, "was closed: try again"},
		{session.ErrChanged, 409, webbridge.KindChanged, "the prompt was changed"},
		{session.ErrConsumed, 409, webbridge.KindChanged, "the prompt does not wait"},
		{session.ErrNoItem, 404, webbridge.KindNotFound, "there is no such prompt"},
		{host.ErrBusy, 409, webbridge.KindBusy, "cancel it"},
		{host.ErrAsked, 409, webbridge.KindBusy, "answer the questions"},
		{session.ErrExists, 400, webbridge.KindInvalid, "a session with this id exists"},
		{session.ErrFull, 503, webbridge.KindUnavailable, ""},
		{context.Canceled, 503, webbridge.KindUnavailable, "the request was cancelled"},
		{context.DeadlineExceeded, 503, webbridge.KindUnavailable, "the request was cancelled"},
		{&agent.RunError{Err: &model.APIError{Status: 529}}, 500, webbridge.KindInternal, "overloaded"},
		{errors.New("boom"), 500, webbridge.KindInternal, "its log says more"},
	} {
		var log bytes.Buffer
		h := newHandler(t, options{Options: webbridge.Options{
			Protocols: []webbridge.Protocol{failingRoute{c.err}}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		}})
		told := recorded(t, h)("GET", "/api/fails", "", c.status)["error"].(object)
		require.Equal(t, c.kind, told["kind"], "%v", c.err)
		require.Contains(t, told["message"], c.says, "%v", c.err)
		require.NotContains(t, told["message"].(string)+log.String(), "/secret/path")
		require.Equal(t, c.err == session.ErrFull || c.says == "its log says more", log.Len() > 0, "%v: %s", c.err, &log)
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
