// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acp/unstable"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
)

// sharedHost returns a host that editors share.
func sharedHost(t *testing.T) *host.Host {
	c := stored(t, newStore(), echo())
	c.Host.Deps = func(_ context.Context, s *host.Session) (bare, error) {
		return acpbridge.DepsOf(s, acpbridge.LocalFallback{})
	}
	h, err := host.New(c.Host)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close(context.Background())) })
	return h
}

// loadIn loads a session with directories.
func (e *editor) loadIn(id acp.SessionID, dir string) wireLine {
	e.t.Helper()
	return e.about(acp.MethodLoadSession, id, fmt.Sprintf(`,"cwd":%q,"mcpServers":[]`, dir))
}

// A session that two editors have open stays in its directory, for both, until one of them leaves.
func TestASharedSessionStaysInItsDirectory(t *testing.T) {
	h := sharedHost(t)
	first := serveHost(t, h, acpbridge.Options{})
	first.initialize(`{}`)
	id := first.newSession()
	requireStop(t, acp.StopReasonEndTurn, first.prompt(id, "one"))
	second := serveHost(t, h, acpbridge.Options{})
	second.initialize(`{}`)

	refused := func(e *editor, dir string) {
		t.Helper()
		answer := e.loadIn(id, dir)
		requireError(t, acp.CodeInvalidRequest, acpbridge.KindBusy, answer)
		require.Equal(t, "the session is open elsewhere, in /repo: load it with that directory, "+
			"or close it there first", answer.Error.Message)
		require.Equal(t, string(id), answer.Error.Data["sessionId"])
	}
	refused(second, "/elsewhere")
	require.Empty(t, second.updates(id), "nothing of it is shown")
	require.Nil(t, second.loadIn(id, "/repo").Error)
	refused(second, "/elsewhere")
	refused(first, "/elsewhere")
	requireStop(t, acp.StopReasonEndTurn, second.prompt(id, "two"))
	requireStop(t, acp.StopReasonEndTurn, first.prompt(id, "three"))

	require.Nil(t, second.about(acp.MethodCloseSession, id, "").Error)
	require.Nil(t, first.loadIn(id, "/elsewhere").Error, "nobody else has it")
	requireStop(t, acp.StopReasonEndTurn, first.prompt(id, "four"))
	require.NoError(t, first.stop())
	require.NoError(t, second.stop())
}

// partlyBroken fails in what is named by fail, and in nothing if it is empty.
type partlyBroken struct {
	session.Store
	fail *atomic.Value // a string
}

func (s partlyBroken) err(what string) error {
	if s.fail.Load() == what {
		return fmt.Errorf("%w: %w", session.ErrUnavailable, errors.New("gone"))
	}
	return nil
}

func (s partlyBroken) Get(ctx context.Context, id string) (session.Info, error) {
	if err := s.err("get"); err != nil {
		return session.Info{}, err
	}
	return s.Store.Get(ctx, id)
}

func (s partlyBroken) List(ctx context.Context, q session.Query) (session.Page, error) {
	if err := s.err("list"); err != nil {
		return session.Page{}, err
	}
	return s.Store.List(ctx, q)
}

func (s partlyBroken) Update(
	ctx context.Context, id string, c session.Change,
) (session.Info, error) {
	if err := s.err("update"); err != nil {
		return session.Info{}, err
	}
	return s.Store.Update(ctx, id, c)
}

func (s partlyBroken) Delete(ctx context.Context, id string) error {
	if err := s.err("delete"); err != nil {
		return err
	}
	return s.Store.Delete(ctx, id)
}

func (s partlyBroken) Fork(
	ctx context.Context, id string, at int64, n session.New,
) (session.Info, error) {
	if err := s.err("fork"); err != nil {
		return session.Info{}, err
	}
	return s.Store.Fork(ctx, id, at, n)
}

// A request that a store fails is answered with what could not be done and with what helps, and
// can be made again.
func TestRequestsThatTheStoreFailsSayWhatHelps(t *testing.T) {
	var fail atomic.Value
	c := unstableConfig(t, lasting{partlyBroken{new(session.Memory), &fail}}, echo())
	e, id := start(t, c)
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "one"))
	require.Nil(t, e.about(acp.MethodCloseSession, id, "").Error)
	const in = `,"cwd":"/repo","mcpServers":[]`
	for _, r := range []struct{ fail, method, more, want string }{
		{"get", acp.MethodLoadSession, in, "the session cannot be loaded"},
		{"get", acp.MethodResumeSession, in, "the session cannot be resumed"},
		{"list", acp.MethodListSessions, "", "the sessions cannot be listed"},
		{"get", unstable.MethodSessionStatus, "", "the status is not known"},
		{"update", unstable.MethodSetSessionTitle, `,"title":"x"`, "the title cannot be set"},
		{"update", unstable.MethodArchiveSession, "", "the session cannot be archived"},
		{"update", unstable.MethodUnarchiveSession, "", "the session cannot be unarchived"},
		{"fork", unstable.MethodForkSession, `,"cwd":"/repo"`, "the session cannot be forked"},
		{"delete", acp.MethodDeleteSession, "", "the session cannot be deleted"},
	} {
		fail.Store(r.fail)
		answer := e.about(r.method, id, r.more)
		fail.Store("")
		requireError(t, acp.CodeInternal, acpbridge.KindStore, answer)
		require.Contains(t, answer.Error.Message, r.want+": ", r.method)
		require.Contains(t, answer.Error.Message, "Try again when it is there.", r.method)
		require.Equal(t, true, answer.Error.Data["retryable"], r.method)
		require.Nil(t, e.about(r.method, id, r.more).Error, r.method)
		if r.method == acp.MethodLoadSession || r.method == acp.MethodResumeSession {
			require.Nil(t, e.about(acp.MethodCloseSession, id, "").Error)
		}
	}
	require.NoError(t, e.stop())
}
