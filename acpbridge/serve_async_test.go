// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
)

// slow holds up who comes to it while it is busy.
type slow struct {
	busy    atomic.Bool
	entered chan struct{}
	release chan struct{}
}

func newSlow() *slow {
	return &slow{entered: make(chan struct{}, 100), release: make(chan struct{}, 1)}
}

func (s *slow) enter() {
	if s.busy.CompareAndSwap(true, false) {
		s.entered <- struct{}{}
		<-s.release
	}
}

// slowStore holds up the first thing that is asked of it while it is busy.
type slowStore struct {
	session.Store
	*slow
}

func (s slowStore) Create(ctx context.Context, n session.New) (session.Info, error) {
	s.enter()
	return s.Store.Create(ctx, n)
}

func (s slowStore) Get(ctx context.Context, id string) (session.Info, error) {
	s.enter()
	return s.Store.Get(ctx, id)
}

func (s slowStore) List(ctx context.Context, q session.Query) (session.Page, error) {
	s.enter()
	return s.Store.List(ctx, q)
}

func (s slowStore) Update(ctx context.Context, id string, c session.Change) (session.Info, error) {
	s.enter()
	return s.Store.Update(ctx, id, c)
}

func (s slowStore) Fork(ctx context.Context, id string, at int64, n session.New) (session.Info, error) {
	s.enter()
	return s.Store.Fork(ctx, id, at, n)
}

func (s slowStore) Delete(ctx context.Context, id string) error {
	s.enter()
	return s.Store.Delete(ctx, id)
}

func (s slowStore) Acquire(ctx context.Context, id string, c session.Claim) (session.Lease, error) {
	s.enter()
	return s.Store.Acquire(ctx, id, c)
}

// slowAuth holds up logins.
type slowAuth struct {
	*gate
	*slow
}

func (a slowAuth) Authenticate(ctx context.Context, id acp.AuthMethodID) error {
	a.enter()
	return a.gate.Authenticate(ctx, id)
}

func (a slowAuth) Logout(ctx context.Context) error {
	a.enter()
	return a.gate.Logout(ctx)
}

// Whatever takes its time, other requests are answered meanwhile.
func TestSlowRequestsHoldNobodyUp(t *testing.T) {
	for method, more := range map[string]string{
		"session/archive": ``, "session/unarchive": ``, "session/set_title": `,"title":"x"`, "session/status": ``, "session/fork": `,"cwd":"/repo","mcpServers":[]`,
		acp.MethodListSessions: ``, acp.MethodNewSession: `,"cwd":"/repo","mcpServers":[]`, acp.MethodAuthenticate: `,"methodId":"key"`, acp.MethodLogout: ``, acp.MethodDeleteSession: ``,
		acpbridge.MethodCommand: `,"command":"/think"`, acp.MethodPrompt: `,"prompt":[{"type":"text","text":"/think"}]`, acp.MethodCloseSession: ``,
	} {
		s := newSlow()
		c := stored(t, slowStore{newStore(), s}, echo())
		c.Unstable = true
		c.Auth = slowAuth{&gate{}, s}
		c.Host.Commands = []host.Command{{Name: "think", AtOnce: true, Run: func(context.Context, *host.CommandCall) (agent.CommandResult, error) {
			s.enter()
			return agent.CommandResult{Notice: "thought"}, nil
		}}}
		c.Host.Release = func(context.Context, *host.Session, bare) error { s.enter(); return nil }
		e := serve(t, c)
		e.initialize(`{}`)
		e.call(acp.MethodAuthenticate, `{"methodId":"key"}`)
		id := e.newSession()
		requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "a"))
		if method == "session/status" || method == acp.MethodDeleteSession {
			e.about(acp.MethodCloseSession, id, "") // else the store is not asked, or the session is closed before
		}
		if method == acp.MethodDeleteSession {
			require.Nil(t, e.load(acp.MethodLoadSession, id).Error)
		}
		s.busy.Store(true)
		n := e.send(method, fmt.Sprintf(`{"sessionId":%q%s}`, id, more))
		<-s.entered
		requireError(t, acp.CodeResourceNotFound, acpbridge.KindSession, e.call(acp.MethodCloseSession, `{"sessionId":"none"}`))
		next := e.about("_next", id, "") // of the same session: only what lets others pass is overtaken
		require.Equal(t, acp.CodeMethodNotFound, next.Error.Code, method)
		for _, l := range e.all() {
			require.False(t, l.Is(n), "%s is answered before it is done: %s", method, l.Text)
		}
		s.release <- struct{}{}
		answer := e.answer(n)
		require.Nil(t, answer.Error, "%s: %s", method, answer.Text)
		require.NoError(t, e.stop())
	}
}

// panickyAuth has nothing but bugs.
type panickyAuth struct{ gate }

func (p *panickyAuth) Check(context.Context) error                          { panic("check\nfails") }
func (p *panickyAuth) Authenticate(context.Context, acp.AuthMethodID) error { panic("login fails") }
func (p *panickyAuth) Logout(context.Context) error                         { panic("logout fails") }

// Bugs of a login are answered with what they say, and logged with where they are.
func TestPanicsOfALoginAreAnswered(t *testing.T) {
	for method, want := range map[string][3]string{
		acp.MethodNewSession:   {`internal error: panic: check fails (serve_async_test.go:N in acpbridge_test.(*panickyAuth).Check)`, "panic", "authentication panicked"},
		acp.MethodLoadSession:  {`internal error: panic: check fails (serve_async_test.go:N in acpbridge_test.(*panickyAuth).Check)`, "panic", "authentication panicked"},
		acp.MethodAuthenticate: {`internal error: panic: login fails (serve_async_test.go:N in acpbridge_test.(*panickyAuth).Authenticate)`, "panic", "authentication panicked"},
		acp.MethodLogout:       {`not logged out: panic: logout fails (serve_async_test.go:N in acpbridge_test.(*panickyAuth).Logout)`, "auth", "not logged out"},
	} {
		var log logBuffer
		c := stored(t, newStore(), echo())
		c.Auth, c.Host.Logger = &panickyAuth{}, log.logger()
		e := serve(t, c)
		e.initialize(`{}`)
		answer := e.call(method, `{"sessionId":"s","cwd":"/repo","mcpServers":[],"methodId":"key"}`)
		require.NotNil(t, answer.Error)
		require.Equal(t, acp.CodeInternal, answer.Error.Code)
		require.Equal(t, want[0], regexp.MustCompile(`go:\d+`).ReplaceAllString(answer.Error.Message, "go:N"))
		require.Equal(t, map[string]any{"kind": want[1]}, answer.Error.Data)
		require.NoError(t, e.stop())
		require.Contains(t, log.String(), `msg="acpbridge: `+want[2]+`"`)
		require.Contains(t, log.String(), "error=*engine.PanicError")
		require.Contains(t, log.String(), "panickyAuth")
		require.Contains(t, log.String(), "serve_async_test.go", "the stack")
		require.False(t, strings.Contains(log.String(), "acp: handler panicked"), log.String())
	}
}

// A login that fails is answered and logged by its kind.
func TestFailedLoginsAreLogged(t *testing.T) {
	var log logBuffer
	g := &gate{login: func(context.Context, acp.AuthMethodID) error { return errors.New("the key is\nwrong") }}
	c := gated(t, g)
	c.Host.Logger = log.logger()
	e := serve(t, c)
	e.initialize(`{}`)
	answer := e.call(acp.MethodAuthenticate, `{"methodId":"key"}`)
	require.Equal(t, acp.CodeAuthRequired, answer.Error.Code)
	require.Equal(t, "the key is wrong", answer.Error.Message)
	require.Equal(t, map[string]any{"kind": "auth", "authMethods": []any{map[string]any{"id": "key", "name": "Stored key"}}}, answer.Error.Data)
	require.Contains(t, log.String(), `level=ERROR msg="acpbridge: not authenticated" session="" error=*errors.errorString`)
	require.NotContains(t, log.String(), "the key is")
	g.login = nil
	require.JSONEq(t, `{}`, string(e.call(acp.MethodAuthenticate, `{"methodId":"key"}`).Result))
	require.Contains(t, log.String(), `level=INFO msg="acpbridge: authenticated" method=key`)
	require.JSONEq(t, `{}`, string(e.call(acp.MethodLogout, `{}`).Result))
	require.Contains(t, log.String(), `level=INFO msg="acpbridge: logged out"`)
}
