// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/deps"
)

// wireChance finds what is different each time.
var wireChance = regexp.MustCompile(`[A-Z2-7]{26}|\d{4}-\d\d-\d\dT[0-9:.]+Z`)

// TestAnswersOfTheAgentAreWhole compares the agent's answers to requests of editors with a file: what is announced to different editors,
// what is told of sessions and settings, and each refusal. To write it anew, set UPDATE, and read what has changed.
func TestAnswersOfTheAgentAreWhole(t *testing.T) {
	var got strings.Builder
	call := func(e *editor, method, params string) wireLine {
		t.Helper()
		answer := e.call(method, params)
		text := regexp.MustCompile(`"id":\d+,`).ReplaceAllString(answer.Text, "")
		fmt.Fprintf(&got, "%s %s\n%s\n\n", method, wireChance.ReplaceAllString(params, "ID"), wireChance.ReplaceAllString(text, "ID"))
		return answer
	}
	begins := func(title string, c acpbridge.Config[bare, string], capabilities string) *editor {
		fmt.Fprintf(&got, "# %s\n\n", title)
		e := serve(t, c)
		call(e, acp.MethodInitialize, `{"protocolVersion":1,"clientCapabilities":`+capabilities+`}`)
		return e
	}
	says := modeltest.Auto()
	const sessionNew = `{"cwd":"/repo","mcpServers":[]}`

	e := begins("an agent without a store, settings, login and unstable parts", config(t, says), `{}`)
	call(e, acp.MethodInitialize, `{"protocolVersion":1}`)
	for _, method := range []string{acp.MethodLoadSession, acp.MethodResumeSession, acp.MethodListSessions, acp.MethodDeleteSession, acp.MethodSetSessionMode, acp.MethodSetSessionConfigOption, acp.MethodAuthenticate, acp.MethodLogout, "session/fork", "session/archive"} {
		call(e, method, `{"sessionId":"none","cwd":"/repo","mcpServers":[],"modeId":"ask","configId":"mode","value":"ask","methodId":"key"}`)
	}
	for _, params := range []string{`{}`, `{"cwd":"repo","mcpServers":[]}`, `{"cwd":"/repo","mcpServers":[],"additionalDirectories":["/a","b"]}`, `{"cwd":7,"mcpServers":[]}`} {
		call(e, acp.MethodNewSession, params)
	}
	call(e, acp.MethodPrompt, `{"sessionId":"none","prompt":[]}`)
	call(e, acp.MethodCloseSession, `{"sessionId":"none"}`)
	id := e.newSession()
	for _, prompt := range []string{`[]`, `[{"type":"image","data":"AA==","mimeType":"image/png"}]`, `[{"type":"text","text":"x"},{"type":"audio","data":"AA==","mimeType":"audio/wav"}]`, `[{"type":"hologram"}]`, `7`,
		`[{"type":"resource","resource":{"uri":"file:///a","blob":"!"}}]`} {
		call(e, acp.MethodPrompt, fmt.Sprintf(`{"sessionId":%q,"prompt":%s}`, id, prompt))
	}
	call(e, acp.MethodCloseSession, fmt.Sprintf(`{"sessionId":%q}`, id))
	call(e, acp.MethodCloseSession, fmt.Sprintf(`{"sessionId":%q}`, id))

	store := newStore()
	full := stored(t, store, model.Func(model.Info{Media: []string{"image/png", "audio/wav"}}, says.Generate))
	full.Host.Modes = host.Modes()
	full.Host.Settings = []host.Setting{
		{Setting: view.Setting{ID: "fast", Title: "Fast", Description: "Thinks less.", Switch: true, Value: "false"}},
		{Setting: view.Setting{ID: "tone", Category: "style", Value: "dry", Choices: []view.Choice{{ID: "dry", Title: "Dry", Description: "No jokes.", Group: "Plain"}, {ID: "wet", Group: "Odd"}, {ID: "arid", Group: "Plain"}}}},
		{Setting: view.Setting{ID: "plain", Value: "a", Choices: []view.Choice{{ID: "a"}, {ID: "b", Title: "B"}}}},
	}
	full.Auth = &gate{}
	e = begins("an agent with everything that is stable", full, `{"auth":{"terminal":true},"session":{"configOptions":{"boolean":{}}}}`)
	call(e, acp.MethodNewSession, sessionNew)
	call(e, acp.MethodLoadSession, `{"sessionId":"none","cwd":"/repo","mcpServers":[]}`)
	for _, method := range []string{"other", "tty", "two\\nlines", "key"} {
		call(e, acp.MethodAuthenticate, `{"methodId":"`+method+`"}`)
	}
	made := call(e, acp.MethodNewSession, `{"cwd":"/repo","mcpServers":[],"additionalDirectories":["/lib"]}`)
	var r acp.NewSessionResponse
	require.NoError(t, json.Unmarshal(made.Result, &r))
	about := func(e *editor, method, more string) {
		call(e, method, fmt.Sprintf(`{"sessionId":%q%s}`, r.SessionID, more))
	}
	about(e, acp.MethodSetSessionConfigOption, `,"configId":"fast","type":"boolean","value":true`)
	about(e, acp.MethodSetSessionConfigOption, `,"configId":"fast","type":"boolean","value":false`)
	about(e, acp.MethodSetSessionConfigOption, `,"configId":"tone","value":"wet"`)
	about(e, acp.MethodSetSessionConfigOption, `,"configId":"tone","value":"moist"`)
	about(e, acp.MethodSetSessionConfigOption, `,"configId":"speed","value":"1"`)
	about(e, acp.MethodSetSessionMode, `,"modeId":"fly"`)
	about(e, acp.MethodSetSessionMode, `,"modeId":"code"`)
	for _, method := range []string{acp.MethodSetSessionMode, acp.MethodSetSessionConfigOption, acp.MethodLoadSession, acp.MethodResumeSession, acp.MethodDeleteSession} {
		call(e, method, `{"sessionId":"none","cwd":"/repo","mcpServers":[],"modeId":"ask","configId":"mode","value":"ask"}`)
	}
	requireStop(t, acp.StopReasonEndTurn, e.prompt(r.SessionID, "hello"))
	call(e, acp.MethodListSessions, `{}`)
	call(e, acp.MethodListSessions, `{"cwd":"/elsewhere"}`)
	call(e, acp.MethodListSessions, `{"cursor":"x"}`)
	about(e, acp.MethodLoadSession, `,"cwd":"repo","mcpServers":[]`)
	about(e, acp.MethodLoadSession, `,"cwd":"/repo","mcpServers":[],"additionalDirectories":["/lib"]`)
	about(e, acp.MethodResumeSession, `,"cwd":"/repo","mcpServers":[],"additionalDirectories":["/lib/"]`)
	about(e, acp.MethodDeleteSession, ``)
	about(e, acp.MethodDeleteSession, ``)
	call(e, acp.MethodLogout, `{}`)
	call(e, acp.MethodNewSession, sessionNew)
	require.NoError(t, e.stop())

	e = begins("an editor without switches and terminals", full, `{}`)
	call(e, acp.MethodNewSession, sessionNew)
	call(e, acp.MethodAuthenticate, `{"methodId":"key"}`)
	call(e, acp.MethodNewSession, sessionNew)
	require.NoError(t, e.stop())

	e = begins("an agent with unstable parts", unstableConfig(t, newStore(), says), `{"plan":{},"subagents":{}}`)
	require.NoError(t, json.Unmarshal(call(e, acp.MethodNewSession, sessionNew).Result, &r))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(r.SessionID, "hello"))
	for _, c := range [][2]string{
		{"session/fork", `,"cwd":"repo","mcpServers":[]`}, {"session/fork", `,"cwd":"/repo","mcpServers":[],"systemPrompt":{"a":1}`}, {"session/set_title", `,"title":""`}, {"session/set_title", `,"title":"Rivers"`},
		{"session/status", ``}, {"session/archive", ``}, {"session/archive", ``}, {"session/status", ``}, {"session/unarchive", ``}, {"session/fork", `,"cwd":"/other","mcpServers":[]`},
	} {
		about(e, c[0], c[1])
	}
	for _, method := range []string{"session/fork", "session/set_title", "session/status", "session/archive", "session/unarchive"} {
		call(e, method, `{"sessionId":"none","cwd":"/repo","mcpServers":[],"title":"x"}`)
	}
	call(e, acp.MethodListSessions, `{"archived":"maybe"}`)
	call(e, acp.MethodListSessions, `{"archived":"only"}`)
	require.NoError(t, e.stop())

	e = begins("an agent with unstable parts and no store", func() acpbridge.Config[bare, string] {
		c := config(t, says)
		c.Unstable = true
		return c
	}(), `{}`)
	call(e, "session/fork", `{"sessionId":"none","cwd":"/repo","mcpServers":[]}`)

	const path = "testdata/wire.want"
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(got.String()), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got.String())
}

// badAuth has methods that make no sense.
type badAuth struct {
	gate
	methods []acp.AuthMethod
}

func (b *badAuth) Methods() []acp.AuthMethod { return b.methods }

// TestWrongConfigurationsAreNamed has each option that makes no sense, with the whole text.
func TestWrongConfigurationsAreNamed(t *testing.T) {
	key := acp.AuthMethod{Agent: &acp.AuthMethodAgent{ID: "key"}}
	for want, change := range map[string]func(*acpbridge.Config[bare, string]){
		"acpbridge: config: Host.Agent is nil: make one with agent.New":                                         func(c *acpbridge.Config[bare, string]) { c.Host.Agent = nil },
		"acpbridge: config: set both In and Out, or neither to use standard input and output":                   func(c *acpbridge.Config[bare, string]) { c.In = strings.NewReader("") },
		"acpbridge: config: LinkedFiles is -1: use a number of bytes, or 0 to leave files to the model's tools": func(c *acpbridge.Config[bare, string]) { c.LinkedFiles = -1 },
		"acpbridge: config: ShutdownTimeout is -1s: use a positive duration, or 0 for 1.5s":                     func(c *acpbridge.Config[bare, string]) { c.ShutdownTimeout = -time.Second },
		"acpbridge: config: Host.Busy is 255: use host.BusyRefuse, host.BusyQueue or host.BusySteer":            func(c *acpbridge.Config[bare, string]) { c.Host.Busy = math.MaxUint8 },
		"acpbridge: config: Auth: method 0 is neither of the agent nor of a terminal":                           func(c *acpbridge.Config[bare, string]) { c.Auth = &badAuth{methods: []acp.AuthMethod{{}}} },
		`acpbridge: config: Auth: method 1 has the id "key": ids must be unique and not empty`:                  func(c *acpbridge.Config[bare, string]) { c.Auth = &badAuth{methods: []acp.AuthMethod{key, key}} },
		`acpbridge: config: Auth: method 0 has the id "": ids must be unique and not empty`: func(c *acpbridge.Config[bare, string]) {
			c.Auth = &badAuth{methods: []acp.AuthMethod{{Terminal: &acp.AuthMethodTerminal{}}}}
		},
		"acpbridge: config: Deps and Host.Deps are set: use one of them": func(c *acpbridge.Config[bare, string]) {
			c.Deps = func(_ context.Context, d deps.ACPDeps) (bare, error) { return d, nil }
			c.Host.Deps = func(context.Context, *host.Session) (bare, error) { return bare{}, nil }
		},
		"acpbridge: config: LinkedFiles is -7: use a number of bytes, or 0 to leave files to the model's tools\nacpbridge: config: ShutdownTimeout is -1ns: use a positive duration, or 0 for 1.5s": func(c *acpbridge.Config[bare, string]) {
			c.LinkedFiles, c.ShutdownTimeout = -7, -1
		},
	} {
		c := config(t, modeltest.Auto())
		change(&c)
		require.EqualError(t, acpbridge.Serve(t.Context(), c), want)
	}
	type own struct{ deps.ACPDeps }
	err := acpbridge.Serve(t.Context(), acpbridge.Config[own, string]{Host: host.Config[own, string]{Agent: agent.Must(agent.New(agent.Config[own, string]{Model: modeltest.Auto()}))}})
	require.EqualError(t, err, "acpbridge: config: Deps is nil: set a function that returns a acpbridge_test.own with the deps.ACPDeps it is given")
	require.EqualError(t, acpbridge.ServeHost(t.Context(), nil, acpbridge.Options{}), "acpbridge: the host is nil: make one with host.New")
}

// brokenStore cannot be read.
type brokenStore struct {
	session.Store
	err error
}

func (b *brokenStore) Get(context.Context, string) (session.Info, error) {
	return session.Info{}, b.err
}

func (b *brokenStore) Open(context.Context, string, string) (session.Lease, error) {
	return session.Lease{}, b.err
}

func (b *brokenStore) List(context.Context, session.Query) (session.Page, error) {
	return session.Page{}, b.err
}

// TestFailuresOfTheStoreAreExplained has what editors are told of each failure: what to do, and whether to try again.
func TestFailuresOfTheStoreAreExplained(t *testing.T) {
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	for _, c := range []struct {
		err        error
		code       int
		says, data string
	}{
		{session.ErrFull, -32603, "Make room on the disk and try again. Nothing is lost.", `{"kind":"store"}`},
		{session.ErrCorrupt, -32603, "Export the readable part of it, or restore a backup.", `{"kind":"store"}`},
		{session.ErrReadOnly, -32603, "Make it writable and try again.", `{"kind":"store"}`},
		{session.ErrVersion, -32603, "Use that version.", `{"kind":"store"}`},
		{session.ErrBusy, -32603, "Try again.", `{"kind":"store","retryable":true}`},
		{session.ErrUnavailable, -32603, "Try again when it is there.", `{"kind":"store","retryable":true}`},
		{session.ErrClosed, -32603, "closed", `{"kind":"store"}`},
		{errors.New("boom\ntwice"), -32603, "boom twice", `{"kind":"session"}`},
		{&acp.Error{Code: -32001, Message: "my own"}, -32001, "my own", `null`},
		{session.ErrNotFound, -32002, `resource not found: session "one"`, ``},
		{&session.Error{Op: "open", Session: "one", Holder: "ada's editor", Since: since, Err: session.ErrHeld}, -32600,
			"a turn of the session is running in ada's editor since 2026-01-02 03:04:05: wait for its end, or stop it", `{"kind":"held","sessionId":"one","holder":"ada's editor"}`},
		{&session.Error{Op: "open", Session: "one", Holder: "ada's editor", Err: session.ErrHeld}, -32600,
			"a turn of the session is running in ada's editor: wait for its end, or stop it", `{"kind":"held","sessionId":"one","holder":"ada's editor"}`},
	} {
		conf := config(t, modeltest.Auto())
		conf.Host.Store = &brokenStore{newStore(), c.err}
		e := serve(t, conf)
		e.initialize(`{}`)
		for method, what := range map[string]string{acp.MethodLoadSession: "the session cannot be loaded: ", acp.MethodResumeSession: "the session cannot be resumed: ", acp.MethodListSessions: "the sessions cannot be listed: "} {
			if method == acp.MethodListSessions && (c.data == "" || strings.Contains(c.data, "held")) {
				continue
			}
			answer := e.call(method, `{"sessionId":"one","cwd":"/repo","mcpServers":[]}`)
			require.NotNil(t, answer.Error, answer.Text)
			require.Equal(t, c.code, answer.Error.Code, answer.Text)
			if c.code == -32603 {
				require.True(t, strings.HasPrefix(answer.Error.Message, what), answer.Text)
				require.True(t, strings.HasSuffix(answer.Error.Message, c.says), answer.Text)
			} else {
				require.Equal(t, c.says, answer.Error.Message)
			}
			if c.data != "" {
				data, err := json.Marshal(answer.Error.Data)
				require.NoError(t, err)
				require.JSONEq(t, c.data, string(data))
			}
		}
		require.NoError(t, e.stop())
	}
}
