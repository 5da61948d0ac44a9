// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/deps"
)

// gate is an Auth that is open after a login.
type gate struct {
	open  atomic.Bool
	login func(ctx context.Context, id acp.AuthMethodID) error // nil opens the gate
}

func (g *gate) Methods() []acp.AuthMethod {
	return []acp.AuthMethod{
		{Terminal: &acp.AuthMethodTerminal{ID: "tty", Name: "In a terminal", Args: []string{"login"}}},
		{Agent: &acp.AuthMethodAgent{ID: "key", Name: "Stored key"}},
	}
}

func (g *gate) Check(context.Context) error {
	if !g.open.Load() {
		return fmt.Errorf("no key\nis stored")
	}
	return nil
}

func (g *gate) Authenticate(ctx context.Context, id acp.AuthMethodID) error {
	if g.login != nil {
		return g.login(ctx, id)
	}
	g.open.Store(true)
	return nil
}

func (g *gate) Logout(context.Context) error {
	g.open.Store(false)
	return nil
}

// model is a model that needs the login.
func (g *gate) model() model.Model {
	return modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		if !g.open.Load() {
			return nil, fmt.Errorf("provider: 401: %w", model.ErrAuth)
		}
		var said []string
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				said = append(said, p.Text)
			}
		}
		return model.Response(model.Text("heard: " + strings.Join(said, "; "))), nil
	})
}

func gated(t *testing.T, g *gate) acpbridge.Config[bare, string] {
	c := config(t, g.model())
	c.Auth = g
	return c
}

const newSession = `{"cwd":"/repo","mcpServers":[]}`

func TestLoginIsAnnounced(t *testing.T) {
	for client, want := range map[string]string{
		`{}`:                         `[{"id":"key","name":"Stored key"}]`,
		`{"auth":{"terminal":true}}`: `[{"type":"terminal","id":"tty","name":"In a terminal","args":["login"]},{"id":"key","name":"Stored key"}]`,
	} {
		var r struct {
			AuthMethods       json.RawMessage
			AgentCapabilities struct{ Auth json.RawMessage }
		}
		require.NoError(t, json.Unmarshal(serve(t, gated(t, &gate{})).initialize(client).Result, &r))
		require.JSONEq(t, want, string(r.AuthMethods))
		require.JSONEq(t, `{"logout":{}}`, string(r.AgentCapabilities.Auth))
	}
}

func TestSessionNeedsALogin(t *testing.T) {
	var log logBuffer
	c := gated(t, &gate{})
	c.Host.Logger = log.logger()
	c.Deps = func(_ context.Context, d deps.ACPDeps) (bare, error) { return d, nil }
	e := serve(t, c)
	e.initialize(`{}`)
	answer := e.call(acp.MethodNewSession, newSession)
	requireError(t, acp.CodeAuthRequired, acpbridge.KindAuth, answer)
	require.Equal(t, "no key is stored", answer.Error.Message)
	require.Equal(t, []any{map[string]any{"id": "key", "name": "Stored key"}}, answer.Error.Data["authMethods"])

	require.JSONEq(t, `{}`, string(e.call(acp.MethodAuthenticate, `{"methodId":"key"}`).Result))
	id := e.newSession()
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "hi"))
	require.NotContains(t, log.String(), "is stored", "texts are not logged")
}

// The provider takes the key no more. Neither the session nor the prompt is lost.
func TestRefusedKeyKeepsSessionAndPrompt(t *testing.T) {
	g := &gate{}
	g.open.Store(true)
	e, id := start(t, gated(t, g))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "first"))
	require.JSONEq(t, `{}`, string(e.call(acp.MethodLogout, `{}`).Result))
	answer := e.prompt(id, "second")
	requireError(t, acp.CodeAuthRequired, acpbridge.KindAuth, answer)
	require.Len(t, answer.Error.Data["authMethods"], 1)
	e.call(acp.MethodAuthenticate, `{"methodId":"key"}`)
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "go on"))
	require.Contains(t, e.text(id), "heard: first; heard: first; second; go on")
}

func TestAuthenticateRefusesOtherMethods(t *testing.T) {
	e := serve(t, gated(t, &gate{login: func(context.Context, acp.AuthMethodID) error { panic("called") }}))
	e.initialize(`{"auth":{"terminal":true}}`)
	for id, want := range map[string]string{
		"tty": `the authentication method "tty" needs a terminal: start the agent there with the method's arguments`,
		"ssh": `there is no authentication method "ssh"`, "": `there is no authentication method ""`,
	} {
		answer := e.call(acp.MethodAuthenticate, fmt.Sprintf(`{"methodId":%q}`, id))
		requireError(t, acp.CodeInvalidParams, acpbridge.KindAuth, answer)
		require.Contains(t, answer.Error.Message, want)
	}
}

func TestFailedLoginSaysWhy(t *testing.T) {
	g := &gate{login: func(context.Context, acp.AuthMethodID) error { return errors.New("the browser was closed") }}
	e := serve(t, gated(t, g))
	e.initialize(`{}`)
	answer := e.call(acp.MethodAuthenticate, `{"methodId":"key"}`)
	requireError(t, acp.CodeAuthRequired, acpbridge.KindAuth, answer)
	require.Equal(t, "the browser was closed", answer.Error.Message)

	g.login = func(context.Context, acp.AuthMethodID) error { panic("boom") }
	answer = e.call(acp.MethodAuthenticate, `{"methodId":"key"}`)
	requireError(t, acp.CodeInternal, acpbridge.KindPanic, answer)
	g.login = nil
	e.call(acp.MethodAuthenticate, `{"methodId":"key"}`)
	e.newSession() // the connection lives
}

// A login takes as long as the user does: other requests are answered meanwhile, and the client can give up.
func TestLoginHoldsNobodyUp(t *testing.T) {
	began := make(chan struct{})
	g := &gate{login: func(ctx context.Context, _ acp.AuthMethodID) error {
		close(began)
		<-ctx.Done()
		return context.Cause(ctx)
	}}
	g.open.Store(true)
	e := serve(t, gated(t, g))
	e.initialize(`{}`)
	login := e.send(acp.MethodAuthenticate, `{"methodId":"key"}`)
	<-began
	requireStop(t, acp.StopReasonEndTurn, e.prompt(e.newSession(), "hi"))
	e.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%d}}`+"\n", login))
	require.Equal(t, acp.CodeRequestCancelled, e.answer(login).Error.Code)
}

// A request that is given up while the login is looked up begins nothing.
func TestSessionThatIsGivenUpDuringTheCheckOfTheLogin(t *testing.T) {
	began, made := make(chan struct{}), 0
	c := gated(t, &gate{})
	c.Auth = slowGate{&gate{}, began}
	c.Deps = func(_ context.Context, d deps.ACPDeps) (bare, error) {
		made++
		return d, nil
	}
	e := serve(t, c)
	e.initialize(`{}`)
	n := e.send(acp.MethodNewSession, newSession)
	<-began
	e.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%d}}`+"\n", n))
	require.Equal(t, acp.CodeRequestCancelled, e.answer(n).Error.Code)
	require.NoError(t, e.stop())
	require.Zero(t, made)
}

// slowGate looks for the login until the request is given up.
type slowGate struct {
	*gate
	began chan struct{}
}

func (g slowGate) Check(ctx context.Context) error {
	close(g.began)
	<-ctx.Done()
	return errors.New("not found in time")
}

func TestDepsMayAskForALogin(t *testing.T) {
	g := &gate{}
	g.open.Store(true)
	c := gated(t, g)
	c.Deps = func(_ context.Context, d deps.ACPDeps) (bare, error) {
		return d, fmt.Errorf("no license: %w", acp.ErrAuthRequired)
	}
	e := serve(t, c)
	e.initialize(`{}`)
	answer := e.call(acp.MethodNewSession, newSession)
	require.Equal(t, acp.CodeAuthRequired, answer.Error.Code)
	require.NotEmpty(t, answer.Error.Data["authMethods"])
}

type badMethods struct {
	*gate
	methods []acp.AuthMethod
}

func (b badMethods) Methods() []acp.AuthMethod { return b.methods }

func TestAuthMethodsAreChecked(t *testing.T) {
	for want, methods := range map[string][]acp.AuthMethod{
		"method 0 is neither of the agent nor of a terminal": {{}},
		`method 0 has the id ""`:                             {{Agent: &acp.AuthMethodAgent{}}},
		`method 1 has the id "a"`:                            {{Agent: &acp.AuthMethodAgent{ID: "a"}}, {Terminal: &acp.AuthMethodTerminal{ID: "a"}}},
	} {
		c := config(t, modeltest.Script())
		c.Auth = badMethods{&gate{}, methods}
		require.ErrorContains(t, acpbridge.Serve(t.Context(), c), want)
	}
}

func TestStoredSessionNeedsALoginToo(t *testing.T) {
	g := &gate{}
	g.open.Store(true)
	c := gated(t, g)
	c.Host.Store = newStore()
	e, id := start(t, c)
	e.prompt(id, "hi")
	e.call(acp.MethodLogout, `{}`)
	for _, method := range []string{acp.MethodLoadSession, acp.MethodResumeSession} {
		answer := e.call(method, fmt.Sprintf(`{"sessionId":%q,"cwd":"/repo","mcpServers":[]}`, id))
		requireError(t, acp.CodeAuthRequired, acpbridge.KindAuth, answer)
		require.NotEmpty(t, answer.Error.Data["authMethods"])
	}
	require.Nil(t, e.call(acp.MethodListSessions, `{}`).Error, "a list needs no model")
}
