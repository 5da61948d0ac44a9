// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
)

func TestConfigErrorsAreJoinedAndSayWhatToDo(t *testing.T) {
	type own struct{ deps.ACPDeps }
	in, _ := acp.Pipe()
	err := acpbridge.Serve(t.Context(), acpbridge.Config[own, string]{Host: host.Config[own, string]{Busy: 7}, Options: acpbridge.Options{In: in, LinkedFiles: -1, ShutdownTimeout: -time.Second}})
	require.Error(t, err)
	for _, want := range []string{
		"Agent is nil: make one with agent.New", "Deps is nil: set a function that returns a acpbridge_test.own",
		"set both In and Out", "Busy is 7: use host.BusyRefuse, host.BusyQueue or host.BusySteer", "LinkedFiles is -1", "ShutdownTimeout is -1s",
	} {
		assert.ErrorContains(t, err, want)
	}
	assert.Len(t, strings.Split(err.Error(), "\n"), 6)
}

func TestInitializeAnswersOurVersionWhateverIsProposed(t *testing.T) {
	for _, version := range []string{"1", "0", "2", "65535"} {
		e := serve(t, config(t, modeltest.Script()))
		answer := e.call(acp.MethodInitialize, `{"protocolVersion":`+version+`}`)
		var r acp.InitializeResponse
		require.NoError(t, json.Unmarshal(answer.Result, &r), answer.Text)
		assert.EqualValues(t, 1, r.ProtocolVersion)
	}
}

func TestInitializeAnnouncesWhatIsTrue(t *testing.T) {
	c := config(t, modeltest.Script())
	c.Host.Info = &model.Info{Media: []string{"image/png", "application/pdf"}}
	title := "Test"
	c.Info.Title = &title
	answer := serve(t, c).initialize(`{}`)
	assert.JSONEq(t, `{
		"protocolVersion": 1,
		"agentInfo": {"name": "test", "title": "Test", "version": "1"},
		"_meta": {"steering": {"supported": true}},
		"agentCapabilities": {
			"loadSession": false,
			"promptCapabilities": {"image": true, "audio": false, "embeddedContext": true},
			"mcpCapabilities": {"http": false, "sse": false},
			"sessionCapabilities": {"additionalDirectories": {}, "close": {}},
			"auth": {}
		},
		"authMethods": []
	}`, string(answer.Result))
}

func TestInitializeTouchesNeitherModelNorDeps(t *testing.T) {
	touched := func(context.Context, *model.Request) (*model.Message, error) { panic("touched") }
	c := config(t, modeltest.Func(touched))
	c.Deps = func(context.Context, deps.ACPDeps) (bare, error) { panic("touched") }
	assert.Nil(t, serve(t, c).initialize(`{}`).Error)
}

func TestInfoComesFromTheBuildIfNotGiven(t *testing.T) {
	c := config(t, modeltest.Script())
	c.Info = acp.Implementation{}
	answer := serve(t, c).initialize(`{}`)
	var r acp.InitializeResponse
	require.NoError(t, json.Unmarshal(answer.Result, &r))
	assert.Equal(t, "acpbridge.test", r.AgentInfo.Name)
	assert.NotEmpty(t, r.AgentInfo.Version)
}

func TestRequestsBeforeInitializeAreRefused(t *testing.T) {
	e := serve(t, config(t, modeltest.Script()))
	answer := e.call(acp.MethodNewSession, `{"cwd":"/repo","mcpServers":[]}`)
	require.NotNil(t, answer.Error)
	assert.Equal(t, acp.CodeInvalidRequest, answer.Error.Code)
}

func TestWhatIsNotAnnouncedIsNotFound(t *testing.T) {
	e, id := start(t, config(t, modeltest.Script()))
	for _, method := range []string{
		acp.MethodListSessions, acp.MethodSetSessionMode, acp.MethodLoadSession, acp.MethodAuthenticate, "session/fork", "no/such",
	} {
		answer := e.call(method, fmt.Sprintf(`{"sessionId":%q,"modeId":"m","methodId":"m","cwd":"/","mcpServers":[]}`, id))
		require.NotNil(t, answer.Error, method)
		assert.Equal(t, acp.CodeMethodNotFound, answer.Error.Code, method)
	}
}

func TestSessionsNeedAbsoluteDirectories(t *testing.T) {
	e := serve(t, config(t, modeltest.Script()))
	e.initialize(`{}`)
	answer := e.call(acp.MethodNewSession, `{"cwd":"work","mcpServers":[]}`)
	requireError(t, acp.CodeInvalidParams, acpbridge.KindSession, answer)
	assert.Contains(t, answer.Error.Message, `cwd "work"`)

	answer = e.call(acp.MethodNewSession, `{"cwd":"/repo","additionalDirectories":["/a","b"],"mcpServers":[]}`)
	requireError(t, acp.CodeInvalidParams, acpbridge.KindSession, answer)
	assert.Contains(t, answer.Error.Message, `additionalDirectories[1] "b"`)
}

func TestDepsIsCalledOncePerSessionWithWhatTheClientHasSaid(t *testing.T) {
	type call struct {
		session *deps.Session
		cause   error
	}
	calls := make(chan call, 10)
	released := make(chan acp.SessionID, 10)
	c := config(t, modeltest.Script(modeltest.SayText("one"), modeltest.SayText("two"), modeltest.SayText("three")))
	c.Deps = func(ctx context.Context, acp deps.ACPDeps) (bare, error) {
		calls <- call{acp.Session, context.Cause(ctx)}
		return acp, nil
	}
	c.Host.Release = func(_ context.Context, _ *host.Session, d bare) error { released <- d.Session.ID; return nil }
	e := serve(t, c)
	e.initialize(`{"fs":{"readTextFile":true},"terminal":true}`)
	answer := e.call(acp.MethodNewSession, `{"cwd":"/repo","additionalDirectories":["/lib"],"mcpServers":[]}`)
	first := <-calls
	assert.NoError(t, first.cause)
	assert.Equal(t, "/repo", first.session.Cwd)
	assert.Equal(t, []string{"/lib"}, first.session.AdditionalDirectories)
	assert.True(t, first.session.Capabilities.FS.ReadTextFile)
	assert.True(t, first.session.Capabilities.Terminal)
	assert.Equal(t, "editor", first.session.ClientInfo.Name)
	assert.NotNil(t, first.session.Policy)
	assert.Contains(t, answer.Text, string(first.session.ID))

	second := e.newSession()
	assert.NotEqual(t, first.session.ID, second)
	assert.GreaterOrEqual(t, len(second), 26, "unguessable")
	e.prompt(second, "1")
	e.prompt(second, "2")
	e.prompt(first.session.ID, "3")
	assert.Len(t, calls, 1)
	e.stop()
	ids := []acp.SessionID{<-released, <-released}
	assert.ElementsMatch(t, []acp.SessionID{first.session.ID, second}, ids)
	assert.Empty(t, released)
}

func TestFailingDepsAnswersSessionNew(t *testing.T) {
	for name, test := range map[string]struct {
		deps func() error
		code int
		kind acpbridge.ErrorKind
		text string
	}{
		"error": {func() error { return fmt.Errorf("no database\nat all") }, acp.CodeInternal, acpbridge.KindSession, "the session cannot be made: no database at all"},
		"panic": {func() error { panic("boom") }, acp.CodeInternal, acpbridge.KindPanic, "the session cannot be made: panic: boom (serve_test.go:"},
	} {
		t.Run(name, func(t *testing.T) {
			var log logBuffer
			c := config(t, modeltest.Script())
			c.Deps = func(context.Context, deps.ACPDeps) (bare, error) { return bare{}, test.deps() }
			c.Host.Logger = log.logger()
			e := serve(t, c)
			e.initialize(`{}`)
			answer := e.call(acp.MethodNewSession, `{"cwd":"/repo","mcpServers":[]}`)
			requireError(t, test.code, test.kind, answer)
			assert.Contains(t, answer.Error.Message, test.text)
			assert.NotContains(t, log.String(), "no database", "texts are not logged")
			assert.NoError(t, e.stop())
		})
	}
}

func TestDepsMayChooseTheError(t *testing.T) {
	c := config(t, modeltest.Script())
	c.Deps = func(context.Context, deps.ACPDeps) (bare, error) {
		return bare{}, fmt.Errorf("log in first: %w", acp.Errorf(acp.CodeAuthRequired, "log in first"))
	}
	e := serve(t, c)
	e.initialize(`{}`)
	answer := e.call(acp.MethodNewSession, `{"cwd":"/repo","mcpServers":[]}`)
	assert.Equal(t, acp.CodeAuthRequired, answer.Error.Code)
}

func TestUpdatesOfDepsFollowTheAnswerToSessionNew(t *testing.T) {
	c := config(t, modeltest.Script())
	c.Deps = func(ctx context.Context, d deps.ACPDeps) (bare, error) {
		for _, name := range []string{"first", "second"} {
			assert.NoError(t, d.Client.SessionUpdate(ctx, &acp.SessionNotification{SessionID: d.Session.ID, Update: acp.SessionUpdate{
				AvailableCommandsUpdate: &acp.AvailableCommandsUpdate{AvailableCommands: []acp.AvailableCommand{{Name: name}}},
			}}))
		}
		err := d.Client.SessionUpdate(ctx, &acp.SessionNotification{SessionID: d.Session.ID, Update: acp.TextChunk("no turn")})
		assert.ErrorIs(t, err, acp.ErrAnswered)
		return d, nil
	}
	e, id := start(t, c)
	e.awaitUpdate(func(u *acp.SessionUpdate) bool {
		return u.AvailableCommandsUpdate != nil && u.AvailableCommandsUpdate.AvailableCommands[0].Name == "second"
	})
	lines := e.all()
	require.Len(t, lines, 4)
	assert.Contains(t, lines[1].Text, `"result"`)
	assert.Contains(t, lines[1].Text, string(id))
	assert.Contains(t, lines[2].Text, "first")
	assert.Contains(t, lines[3].Text, "second")
}

func TestServersOfTheClientAreNamedInTheLogAndNothingElseOfThem(t *testing.T) {
	var log logBuffer
	c := config(t, modeltest.Script(modeltest.SayText("hi")))
	c.Host.Logger = log.logger()
	e := serve(t, c)
	e.initialize(`{}`)
	answer := e.call(acp.MethodNewSession, `{"cwd":"/repo","mcpServers":[
		{"name":"files","command":"/bin/secret-command","args":["secret-arg"],"env":[{"name":"TOKEN","value":"secret-env"}]},
		{"type":"http","name":"web","url":"https://example.com/secret-url","headers":[{"name":"Authorization","value":"secret-header"}]}]}`)
	require.Nil(t, answer.Error)
	assert.Contains(t, log.String(), "server=files")
	assert.Contains(t, log.String(), "server=web")
	assert.NotContains(t, log.String(), "secret")
}

func TestUnknownSessionsAreNotFound(t *testing.T) {
	e, _ := start(t, config(t, modeltest.Script()))
	for method, params := range map[string]string{
		acp.MethodPrompt:       `{"sessionId":"nobody","prompt":[{"type":"text","text":"hi"}]}`,
		acp.MethodCloseSession: `{"sessionId":"nobody"}`,
	} {
		answer := e.call(method, params)
		requireError(t, acp.CodeResourceNotFound, acpbridge.KindSession, answer)
		assert.Equal(t, "nobody", answer.Error.Data["sessionId"])
	}
	e.write(cancelLine("nobody"))
	e.newSession() // the connection lives
}

func TestClosedSessionRefusesUpdates(t *testing.T) {
	made := make(chan bare, 1)
	c := config(t, echo())
	c.Deps = func(_ context.Context, d deps.ACPDeps) (bare, error) {
		made <- d
		return d, nil
	}
	e, id := start(t, c)
	kept := <-made
	send := func() error {
		return kept.Client.SessionUpdate(t.Context(), &acp.SessionNotification{
			SessionID: id, Update: acp.SessionUpdate{SessionInfoUpdate: &acp.SessionInfoUpdate{Title: acp.Replace("a title")}},
		})
	}
	require.NoError(t, send())
	e.call(acp.MethodCloseSession, fmt.Sprintf(`{"sessionId":%q}`, id))
	require.ErrorContains(t, send(), "the session has been closed")
	require.NoError(t, e.stop())
	require.Len(t, e.updates(id), 1)
}
