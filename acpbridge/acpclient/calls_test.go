// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// theCalls are the calls of a client and a session, by the methods of the protocol.
func theCalls(c *acpclient.Client, s *acpclient.Session) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"session/load": func(ctx context.Context) error {
			_, err := c.LoadSession(ctx, "old", acpclient.SessionConfig{})
			return err
		},
		"session/resume": func(ctx context.Context) error {
			_, err := c.ResumeSession(ctx, "old", acpclient.SessionConfig{})
			return err
		},
		"session/fork": func(ctx context.Context) error {
			_, err := c.ForkSession(ctx, "old", acpclient.SessionConfig{})
			return err
		},
		"session/delete": func(ctx context.Context) error { return c.DeleteSession(ctx, "old") },
		"session/list": func(ctx context.Context) (err error) {
			for _, err = range c.Sessions(ctx, "/repo") {
			}
			return err
		},
		"logout":            c.Logout,
		"_session/steering": func(ctx context.Context) error { _, err := s.Steer(ctx, acp.TextBlock("x")); return err },
	}
}

// What an agent has not announced is not sent, and the error names it and the agent.
func TestCallsThatAreNotOffered(t *testing.T) {
	s := begin(t, acpclient.Config{}, func(a *raw) {
		a.open()
		if m := a.next(); m.Method != "" {
			t.Errorf("the client has sent %s", m.Method)
		}
	})
	c := s.Client()
	for method, call := range theCalls(c, s) {
		err := call(t.Context())
		require.EqualError(t, err, "acpclient: raw does not offer "+method)
		require.ErrorIs(t, err, errors.ErrUnsupported)
	}
	open := func(config acpclient.SessionConfig) error {
		_, err := c.NewSession(t.Context(), config)
		return err
	}
	say := func(b acp.ContentBlock) error {
		_, err := s.Prompt(t.Context(), acp.TextBlock("x"), b)
		return err
	}
	for want, err := range map[string]error{
		"additional directories": open(acpclient.SessionConfig{AdditionalDirectories: []string{"/a"}}), "MCP servers over HTTP": open(acpclient.SessionConfig{MCPServers: []acp.MCPServer{{Stdio: &acp.MCPServerStdio{}}, {HTTP: &acp.MCPServerHTTP{}}}}),
		"MCP servers over SSE": open(acpclient.SessionConfig{MCPServers: []acp.MCPServer{{SSE: &acp.MCPServerSSE{}}}}), "images in prompts": say(acp.ContentBlock{Image: &acp.ImageContent{}}),
		"audio in prompts": say(acp.ContentBlock{Audio: &acp.AudioContent{}}), "embedded resources in prompts": say(acp.ContentBlock{Resource: &acp.EmbeddedResource{}}),
		"modes": s.SetMode(t.Context(), "m"), `the option "o"`: s.SetOption(t.Context(), "o", "x"), `the authentication method "none"`: c.Authenticate(t.Context(), "none"), `the authentication method ""`: c.Login(t.Context(), "", acpclient.Terminal{}),
	} {
		require.EqualError(t, err, "acpclient: raw does not offer "+want)
	}
	require.EqualError(t, c.Login(t.Context(), "key", acpclient.Terminal{}), `acpclient: the authentication method "key" needs no terminal: use Authenticate`)
	require.Len(t, c.AuthMethods(), 1)
	require.False(t, c.Queues())
}

const offersAll = `{"loadSession":true,"mcpCapabilities":{"http":true,"sse":true},"promptCapabilities":{"image":true,"audio":true,"embeddedContext":true},"auth":{"logout":{}},"sessionCapabilities":{"resume":{},"fork":{},"delete":{},"list":{},"additionalDirectories":{}}}`

// A call that the agent refuses is told with its method, and leaves nothing behind: it can be made again.
func TestCallsThatAgentsRefuse(t *testing.T) {
	s := begin(t, acpclient.Config{}, func(a *raw) {
		a.hello(offersAll)
		a.answer(a.await("session/new"), `{"sessionId":"s"}`)
		for {
			m := a.next()
			if m.Method == "" {
				return
			}
			a.fail(m, `{"code":-32603,"message":"no"}`)
		}
	})
	c := s.Client()
	for range 2 {
		for method, call := range theCalls(c, s) {
			if method != "_session/steering" {
				require.EqualError(t, call(t.Context()), "acpclient: "+method+": no (-32603)")
			}
		}
		require.EqualError(t, c.Authenticate(t.Context(), "key"), "acpclient: authenticate: no (-32603)")
		_, err := s.Prompt(t.Context(), acp.ContentBlock{Image: &acp.ImageContent{Data: "AA==", MIMEType: "image/png"}}, acp.ContentBlock{Audio: &acp.AudioContent{Data: "AA==", MIMEType: "audio/wav"}})
		require.EqualError(t, err, "acpclient: session/prompt: no (-32603)")
		_, err = c.NewSession(t.Context(), acpclient.SessionConfig{})
		require.EqualError(t, err, "acpclient: session/new: no (-32603)")
	}
	require.Empty(t, problems(c))
	require.NoError(t, s.Close(t.Context()))
	_, err := s.Say(t.Context(), "x")
	require.EqualError(t, err, "acpclient: closed: the session")
	require.NoError(t, s.Close(t.Context()))
}

// What is sent to open a session: its directory, those of the workspace if nothing else is said, and a list of servers, be it empty.
func TestRequestsForSessions(t *testing.T) {
	ws, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{"/repo", "/more", "/and"}})
	require.NoError(t, err)
	here, err := os.Getwd()
	require.NoError(t, err)
	sub := filepath.Join(here, "sub")
	quoted := func(s string) string { data, _ := json.Marshal(s); return string(data) }
	stdio := []acp.MCPServer{{Stdio: &acp.MCPServerStdio{Name: "n", Command: "c"}}}
	for _, c := range []struct {
		config acpclient.SessionConfig
		ws     workspace.Workspace
		want   string
	}{
		{acpclient.SessionConfig{}, nil, `{"cwd":` + quoted(here) + `,"mcpServers":[]}`},
		{acpclient.SessionConfig{Cwd: "sub"}, nil, `{"cwd":` + quoted(sub) + `,"mcpServers":[]}`},
		{acpclient.SessionConfig{Cwd: `C:\a`}, nil, `{"cwd":"C:\\a","mcpServers":[]}`},
		{acpclient.SessionConfig{Cwd: "/x"}, ws, `{"cwd":"/x","additionalDirectories":["/more","/and"],"mcpServers":[]}`},
		{acpclient.SessionConfig{}, ws, `{"cwd":"/repo","additionalDirectories":["/more","/and"],"mcpServers":[]}`},
		{acpclient.SessionConfig{Workspace: ws}, nil, `{"cwd":"/repo","additionalDirectories":["/more","/and"],"mcpServers":[]}`},
		{acpclient.SessionConfig{AdditionalDirectories: []string{"/y"}, MCPServers: stdio}, ws, `{"cwd":"/repo","additionalDirectories":["/y"],"mcpServers":[{"name":"n","command":"c","args":[],"env":[]}]}`},
	} {
		var sent []message
		client, err := connect(t, acpclient.Config{Workspace: c.ws}, func(a *raw) {
			a.hello(offersAll)
			for _, answer := range []string{`{"sessionId":"s"}`, `{}`, `{}`, `{"sessionId":"f"}`} {
				m := a.next()
				sent = append(sent, m)
				a.answer(m, answer)
			}
			a.wait()
		})
		require.NoError(t, err)
		s, err := client.NewSession(t.Context(), c.config)
		require.NoError(t, err)
		require.Equal(t, acp.SessionID("s"), s.ID())
		require.Same(t, client, s.Client())
		_, err = client.LoadSession(t.Context(), "l", c.config)
		require.NoError(t, err)
		_, err = client.ResumeSession(t.Context(), "r", c.config)
		require.NoError(t, err)
		_, err = client.ForkSession(t.Context(), "s", c.config)
		require.NoError(t, err)
		for i, m := range sent {
			require.Equal(t, []string{"session/new", "session/load", "session/resume", "session/fork"}[i], m.Method)
			want := c.want
			if i > 0 {
				want = strings.Replace(want, "{", `{"sessionId":"`+[]string{"", "l", "r", "s"}[i]+`",`, 1)
			}
			require.JSONEq(t, want, string(m.Params), m.Method)
		}
		_, err = client.LoadSession(t.Context(), "s", c.config)
		require.EqualError(t, err, "acpclient: session/load: the agent broke the protocol: there is an open session with this id")
	}
}

// Modes and options are set to what the agent has, and nothing else is sent.
func TestModesAndOptionsAreSet(t *testing.T) {
	var sent []string
	s := begin(t, acpclient.Config{}, func(a *raw) {
		a.hello(`{}`)
		a.answer(a.await("session/new"), `{"sessionId":"s","modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"},{"id":"code","name":"Code"}]},"configOptions":[{"type":"boolean","id":"web","name":"Web","currentValue":false},{"type":"select","id":"m","name":"M","currentValue":"a","options":[{"value":"a","name":"A"},{"value":"b","name":"B"}]}]}`)
		for {
			m := a.next()
			if m.Method == "" {
				return
			}
			sent = append(sent, m.Method+" "+string(m.Params))
			switch len(sent) {
			case 1:
				a.answer(m, `{}`)
			case 2:
				a.answer(m, `{"configOptions":[{"type":"boolean","id":"web","name":"Web","currentValue":true}]}`)
			default:
				a.fail(m, `{"code":-32603,"message":"no"}`)
			}
		}
	})
	mode := func() string {
		for _, o := range s.Options() {
			if o.ID == "mode" {
				return o.Value
			}
		}
		return ""
	}
	require.Equal(t, "ask", mode())
	require.EqualError(t, s.SetMode(t.Context(), "plan"), `acpclient: raw does not offer the mode "plan" (it has ask, code)`)
	require.NoError(t, s.SetMode(t.Context(), "code"))
	require.Equal(t, "code", mode())
	require.EqualError(t, s.SetOption(t.Context(), "web", "maybe"), `acpclient: raw does not offer the value "maybe" of the option "web" (it has true, false)`)
	require.EqualError(t, s.SetOption(t.Context(), "m", "true"), `acpclient: raw does not offer the value "true" of the option "m" (it has a, b)`)
	require.NoError(t, s.SetOption(t.Context(), "web", "true"))
	require.EqualError(t, s.SetMode(t.Context(), "ask"), "acpclient: session/set_mode: no (-32603)")
	require.Equal(t, "code", mode())
	require.EqualError(t, s.SetOption(t.Context(), "web", "false"), "acpclient: session/set_config_option: no (-32603)")
	require.Equal(t, []string{
		`session/set_mode {"sessionId":"s","modeId":"code"}`, `session/set_config_option {"sessionId":"s","configId":"web","type":"boolean","value":true}`,
		`session/set_mode {"sessionId":"s","modeId":"ask"}`, `session/set_config_option {"sessionId":"s","configId":"web","type":"boolean","value":false}`,
	}, sent)
}

// Why a turn has ended is the status of its answer.
func TestAnswersHaveTheStatusOfTheirTurn(t *testing.T) {
	for stop, want := range map[acp.StopReason]view.Status{
		acp.StopReasonEndTurn: "", acp.StopReasonRefusal: view.Failed, acp.StopReasonCancelled: view.Stopped, acp.StopReasonMaxTokens: view.CutOff, acp.StopReasonMaxTurnRequests: view.CutOff, "later": "",
	} {
		s := begin(t, acpclient.Config{}, func(a *raw) {
			a.open()
			p := a.await("session/prompt")
			a.say("one")
			a.update(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"x","status":"completed"}`)
			a.say("two")
			a.answer(p, `{"stopReason":"`+string(stop)+`","usage":{"inputTokens":3,"outputTokens":4,"totalTokens":7},"_meta":{"a":1}}`)
			a.wait()
		})
		turn, err := s.Say(t.Context(), "go")
		require.NoError(t, err)
		require.Equal(t, stop, turn.StopReason)
		require.Equal(t, "one\n\ntwo", turn.Text())
		require.Len(t, turn.Messages, 2)
		require.Empty(t, turn.Snapshot.Get(turn.Messages[0]).Status)
		require.Equal(t, want, turn.Snapshot.Get(turn.Messages[1]).Status, stop)
		require.Equal(t, &acpclient.TurnUsage{InputTokens: 3, OutputTokens: 4, TotalTokens: 7}, turn.Usage)
		require.Equal(t, "1", string(turn.Meta["a"]))
	}
	s := begin(t, acpclient.Config{}, func(a *raw) {
		a.open()
		p := a.await("session/prompt")
		a.say("one")
		a.answer(p, `{"stopReason":"end_turn","usage":[]}`)
		p = a.await("session/prompt")
		a.say("two")
		a.fail(p, `{"code":-32603,"message":"no"}`)
		a.wait()
	})
	turn, err := s.Say(t.Context(), "go")
	require.NoError(t, err)
	require.Nil(t, turn.Usage)
	_, err = s.Say(t.Context(), "go")
	require.Error(t, err)
	require.Equal(t, view.Failed, s.Snapshot().Last(view.Message).Status)
	_, err = s.Say(ended(t), "go")
	require.EqualError(t, err, "acpclient: session/prompt: context canceled")
}
