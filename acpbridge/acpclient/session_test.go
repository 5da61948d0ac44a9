// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/acpview"
)

func TestNegativeNumbersAreRefused(t *testing.T) {
	for _, config := range []acpclient.Config{{StartTimeout: -1}, {CancelGrace: -1}, {MaxState: -1}} {
		_, err := acpclient.Start(t.Context(), acpclient.Command{Path: "/no/such/agent"}, config)
		require.ErrorContains(t, err, "acpclient: config: StartTimeout, CancelGrace and MaxState must not be negative")
		_, err = acpclient.Connect(t.Context(), strings.NewReader(""), new(strings.Builder), config)
		require.ErrorContains(t, err, "must not be negative")
	}
}

func TestWhatTheAgentDoesNotOfferIsNotSent(t *testing.T) {
	c, err := connect(t, acpclient.Config{}, func(a *raw) {
		a.open()
		if m := a.next(); m.Method != "" {
			a.write("sent anyway: %s", m.Method)
		}
	})
	require.NoError(t, err)
	s, err := c.NewSession(t.Context(), acpclient.SessionConfig{Cwd: "/repo"})
	require.NoError(t, err)
	ctx := t.Context()
	load := func() error { _, err := c.LoadSession(ctx, "x", acpclient.SessionConfig{}); return err }
	resume := func() error { _, err := c.ResumeSession(ctx, "x", acpclient.SessionConfig{}); return err }
	fork := func() error { _, err := c.ForkSession(ctx, "x", acpclient.SessionConfig{}); return err }
	steer := func() error { _, err := s.Steer(ctx, acp.TextBlock("x")); return err }
	list := func() (err error) {
		for _, err = range c.Sessions(ctx, "") {
		}
		return err
	}
	open := func(config acpclient.SessionConfig) error { _, err := c.NewSession(ctx, config); return err }
	prompt := func(b acp.ContentBlock) error { _, err := s.Prompt(ctx, b); return err }
	for what, err := range map[string]error{
		"session/load":                  load(),
		"session/resume":                resume(),
		"session/list":                  list(),
		"session/delete":                c.DeleteSession(ctx, "x"),
		"session/fork":                  fork(),
		"_session/steering":             steer(),
		"logout":                        c.Logout(ctx),
		"additional directories":        open(acpclient.SessionConfig{AdditionalDirectories: []string{"/x"}}),
		"MCP servers over HTTP":         open(acpclient.SessionConfig{MCPServers: []acp.MCPServer{{HTTP: &acp.MCPServerHTTP{}}}}),
		"MCP servers over SSE":          open(acpclient.SessionConfig{MCPServers: []acp.MCPServer{{SSE: &acp.MCPServerSSE{}}}}),
		"images in prompts":             prompt(acp.ContentBlock{Image: &acp.ImageContent{}}),
		"audio in prompts":              prompt(acp.ContentBlock{Audio: &acp.AudioContent{}}),
		"embedded resources in prompts": prompt(acp.ContentBlock{Resource: &acp.EmbeddedResource{}}),
		"modes":                         s.SetMode(ctx, "plan"),
		`the option "model"`:            s.SetOption(ctx, "model", "a"),
		`the authentication method "x"`: c.Authenticate(ctx, "x"),
	} {
		var missing *acpclient.UnsupportedError
		require.ErrorAs(t, err, &missing, what)
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.EqualError(t, err, "acpclient: raw does not offer "+what)
	}
	require.NoError(t, s.Close(ctx), "a session can be left without session/close")
	require.Empty(t, problems(c))
}

func TestSessionsAreLoadedListedAndClosed(t *testing.T) {
	c, err := connect(t, acpclient.Config{}, func(a *raw) {
		a.hello(`{"loadSession":true,"auth":{"logout":{}},"sessionCapabilities":{"list":{},"resume":{},"close":{},"delete":{},"additionalDirectories":{}}}`)
		m := a.await("session/load")
		a.update(`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"before"}}`)
		a.say("then")
		a.answer(m, `{"modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"},{"id":"code","name":"Code"}]},"configOptions":[{"type":"boolean","id":"web","name":"Web","currentValue":false}]}`)
		a.answer(a.await("session/set_mode"), `{}`)
		a.answer(a.await("session/set_config_option"), `{"configOptions":[{"type":"boolean","id":"web","name":"Web","currentValue":true}]}`)
		a.turn(func() { a.say("now") })
		a.answer(a.await("session/close"), `{}`)
		a.answer(a.await("session/resume"), `{}`)
		a.answer(a.await("session/list"), `{"sessions":[{"sessionId":"1","cwd":"/repo"}],"nextCursor":"x"}`)
		a.answer(a.await("session/list"), `{"sessions":[{"sessionId":"2","cwd":"/repo"}]}`)
		a.answer(a.await("session/delete"), `{}`)
		a.answer(a.await("logout"), `{}`)
		a.fail(a.await("session/load"), `{"code":-32002,"message":"no such session"}`)
		a.wait()
	})
	require.NoError(t, err)
	s, err := c.LoadSession(t.Context(), "s", acpclient.SessionConfig{Cwd: "/repo", AdditionalDirectories: []string{"/lib"}})
	require.NoError(t, err)
	require.Equal(t, []string{"message user before", "message assistant then", "options"}, shown(s.Snapshot()))
	require.ErrorContains(t, s.SetMode(t.Context(), "plan"), `does not offer the mode "plan" (it has ask, code)`)
	require.ErrorContains(t, s.SetOption(t.Context(), "web", "yes"), `the value "yes" of the option "web" (it has true, false)`)
	require.NoError(t, s.SetMode(t.Context(), "code"))
	require.NoError(t, s.SetOption(t.Context(), "web", "true"))
	var values []string
	for _, o := range s.Options() {
		values = append(values, o.ID+"="+o.Value)
	}
	require.Equal(t, []string{"mode=code", "web=true"}, values)
	turn, err := s.Say(t.Context(), "more")
	require.NoError(t, err)
	require.Equal(t, "now", turn.Text())
	require.NoError(t, s.Close(t.Context()))
	require.NoError(t, s.Close(t.Context()))
	_, err = s.Say(t.Context(), "more")
	require.ErrorIs(t, err, acpclient.ErrClosed)
	_, err = c.ResumeSession(t.Context(), "s", acpclient.SessionConfig{Cwd: "/repo"})
	require.NoError(t, err)
	var ids []string
	for info, err := range c.Sessions(t.Context(), "/repo") {
		require.NoError(t, err)
		ids = append(ids, string(info.SessionID))
	}
	require.Equal(t, []string{"1", "2"}, ids)
	require.NoError(t, c.DeleteSession(t.Context(), "1"))
	require.NoError(t, c.Logout(t.Context()))
	_, err = c.LoadSession(t.Context(), "other", acpclient.SessionConfig{Cwd: "/repo"})
	require.EqualError(t, err, "acpclient: session/load: no such session (-32002)")
	require.ErrorIs(t, err, acp.ErrResourceNotFound)
	require.Empty(t, problems(c))
}

func TestCancelEndsTheTurnAndItsQuestions(t *testing.T) {
	asked := make(chan struct{})
	s := begin(t, acpclient.Config{Permission: func(ctx context.Context, r *acpclient.PermissionRequest) (acp.PermissionOptionID, error) {
		close(asked)
		<-ctx.Done()
		return "yes", nil
	}}, func(a *raw) {
		a.open()
		p := a.await("session/prompt")
		a.write(question)
		a.say(string(a.answerAndCancel().Result))
		a.answer(p, `{"stopReason":"cancelled"}`)
		a.turn(func() {})
		a.wait()
	})
	go func() {
		<-asked
		_, err := s.Say(t.Context(), "at the same time")
		require.ErrorIs(t, err, acpclient.ErrBusy)
		require.NoError(t, s.Cancel(t.Context()))
	}()
	turn, err := s.Say(t.Context(), "hello")
	require.NoError(t, err)
	require.Equal(t, acp.StopReasonCancelled, turn.StopReason)
	require.JSONEq(t, `{"outcome":{"outcome":"cancelled"}}`, turn.Text())
	require.Equal(t, view.Cancelled, turn.Snapshot.Last(view.Question).Status)
	require.NoError(t, s.Cancel(t.Context()), "there is nothing to cancel")
	_, err = s.Say(t.Context(), "again")
	require.NoError(t, err)
	_, err = s.Say(ended(t), "again")
	require.ErrorIs(t, err, context.Canceled)
}

const question = `{"jsonrpc":"2.0","id":"q","method":"session/request_permission","params":{"sessionId":"s",` +
	`"toolCall":{"toolCallId":"c","title":"Delete all","kind":"delete"},"options":[` +
	`{"optionId":"no","name":"No","kind":"reject_once"},{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"ever","name":"Ever","kind":"allow_always"}]}}`

func TestPermissionAnswersAreThoseThatWereOffered(t *testing.T) {
	selected := func(id string) string { return `{"outcome":{"outcome":"selected","optionId":"` + id + `"}}` }
	for name, c := range map[string]struct {
		answer        acpclient.PermissionFunc
		want, problem string
	}{
		"nobody":    {nil, selected("no"), ""},
		"allow":     {acpclient.AllowAll, selected("yes"), ""},
		"reject":    {acpclient.RejectAll, selected("no"), ""},
		"always":    {answer("ever", nil), selected("ever"), ""},
		"withdrawn": {answer("", nil), `{"outcome":{"outcome":"cancelled"}}`, ""},
		"another":   {answer("maybe", nil), selected("no"), `the answer "maybe" was not offered`},
		"error":     {answer("yes", errors.New("no terminal")), selected("no"), "permission: no terminal"},
		"panic":     {func(context.Context, *acpclient.PermissionRequest) (acp.PermissionOptionID, error) { panic("oh") }, selected("no"), "panicked: oh"},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, acpclient.Config{Permission: c.answer}, func(a *raw) {
				a.open()
				a.turn(func() {
					a.write(question)
					a.say(string(a.await("").Result))
				})
				a.wait()
			})
			turn, err := s.Say(t.Context(), "hello")
			require.NoError(t, err)
			require.JSONEq(t, c.want, turn.Text())
			if c.problem == "" {
				require.Empty(t, problems(s.Client()))
			} else {
				requireProblem(t, s.Client(), c.problem)
			}
			q := turn.Snapshot.Last(view.Question)
			require.Equal(t, "Delete all", q.Title)
			require.Equal(t, acpview.CallID("c"), q.Parent)
			require.True(t, q.Status.Ended())
			require.Equal(t, "delete", turn.Snapshot.Get(q.Parent).Class, "the call was not announced otherwise")
		})
	}
}

func answer(id acp.PermissionOptionID, err error) acpclient.PermissionFunc {
	return func(context.Context, *acpclient.PermissionRequest) (acp.PermissionOptionID, error) { return id, err }
}

func TestQuestionsWithoutAWayOutAreWithdrawn(t *testing.T) {
	s := begin(t, acpclient.Config{}, func(a *raw) {
		a.open()
		a.turn(func() {
			for _, options := range []string{`[]`, `[{"optionId":"y","name":"Y","kind":"allow_once"},{"optionId":"n","name":"N","kind":"reject_always"}]`} {
				a.say(string(a.call("session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":`+options+`}`).Result))
			}
		})
		a.wait()
	})
	turn, err := s.Say(t.Context(), "hello")
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(turn.Text(), `"cancelled"`), turn.Text())
}

func TestUsageOfATurn(t *testing.T) {
	s := begin(t, acpclient.Config{}, func(a *raw) {
		a.open()
		a.answer(a.await("session/prompt"), `{"stopReason":"end_turn","usage":{"totalTokens":7,"inputTokens":4,"outputTokens":3,"thoughtTokens":null},"_meta":{"x":1}}`)
		a.answer(a.await("session/prompt"), `{"stopReason":"end_turn","usage":"lots"}`)
		a.answer(a.await("session/prompt"), `{"usage":{}}`)
		a.wait()
	})
	turn, err := s.Say(t.Context(), "hello")
	require.NoError(t, err)
	require.Equal(t, &acpclient.TurnUsage{InputTokens: 4, OutputTokens: 3, TotalTokens: 7}, turn.Usage)
	require.JSONEq(t, "1", string(turn.Meta["x"]))
	turn, err = s.Say(t.Context(), "hello")
	require.NoError(t, err)
	require.Nil(t, turn.Usage)
	_, err = s.Say(t.Context(), "hello")
	require.ErrorContains(t, err, "stopReason")
}

func TestCloseThatWasAnnouncedAndIsNotThere(t *testing.T) {
	c, err := connect(t, acpclient.Config{}, func(a *raw) {
		a.hello(`{"sessionCapabilities":{"close":{}}}`)
		a.answer(a.await("session/new"), `{"sessionId":"s"}`)
		a.fail(a.await("session/close"), `{"code":-32601,"message":"Method not found"}`)
		a.wait()
	})
	require.NoError(t, err)
	s, err := c.NewSession(t.Context(), acpclient.SessionConfig{Cwd: "/repo"})
	require.NoError(t, err)
	require.NoError(t, s.Close(t.Context()))
	requireProblem(t, c, "session/close: the agent broke the protocol: it was announced and is not there")
}

func TestConcurrentSessions(t *testing.T) {
	c, err := connect(t, acpclient.Config{}, func(a *raw) {
		a.hello(`{}`)
		for n := 0; ; {
			m := a.next()
			switch m.Method {
			case "session/new":
				a.answer(m, `{"sessionId":"`+strings.Repeat("s", n+1)+`"}`)
				n++
			case "session/prompt":
				id := strings.Split(strings.Split(string(m.Params), `"sessionId":"`)[1], `"`)[0]
				a.write(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}`, id, id)
				a.answer(m, endTurn)
			case "":
				return
			}
		}
	})
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			s, err := c.NewSession(t.Context(), acpclient.SessionConfig{Cwd: "/repo"})
			if err != nil {
				t.Error(err)
				return
			}
			for range 20 {
				turn, err := s.Say(t.Context(), "x")
				if err != nil || turn.Text() != string(s.ID()) {
					t.Error(turn, err)
					return
				}
			}
		})
	}
	all.Wait()
	require.NoError(t, c.Close())
}

func TestCloseEndsWhatWaits(t *testing.T) {
	s := begin(t, acpclient.Config{Permission: func(ctx context.Context, _ *acpclient.PermissionRequest) (acp.PermissionOptionID, error) {
		<-ctx.Done()
		return "yes", nil
	}}, func(a *raw) {
		a.open()
		a.await("session/prompt")
		a.write(question)
		a.wait()
	})
	sub := s.Cursor(nil)
	go func() {
		for u, err := range sub.All(t.Context()) {
			if err == nil && u.Snapshot.Last(view.Question) != nil {
				_ = s.Client().Close()
			}
		}
	}()
	_, err := s.Say(t.Context(), "hello")
	require.ErrorIs(t, err, acpclient.ErrClosed)
	<-s.Client().Done()
	_, err = s.Client().NewSession(t.Context(), acpclient.SessionConfig{Cwd: "/repo"})
	require.ErrorIs(t, err, acpclient.ErrClosed)
}

func TestCancelIsSentOnce(t *testing.T) {
	cancels, started := 0, make(chan struct{})
	s := begin(t, acpclient.Config{}, func(a *raw) {
		a.open()
		a.await("session/prompt")
		close(started)
		for m := a.next(); m.Method != ""; m = a.next() {
			switch m.Method {
			case "session/cancel": // the agent takes its time
				cancels++
			case "_ping":
				a.answer(m, `{}`)
			}
		}
	})
	said := make(chan error, 1)
	go func() {
		_, err := s.Say(t.Context(), "hello")
		said <- err
	}()
	<-started
	require.NoError(t, s.Cancel(t.Context()))
	require.NoError(t, s.Cancel(t.Context()))
	require.NoError(t, s.Close(t.Context()), "the agent has no session/close")
	require.NoError(t, s.Client().Conn().Call(t.Context(), "_ping", struct{}{}, nil))
	require.Equal(t, 1, cancels)
	require.NoError(t, s.Client().Close())
	require.Error(t, <-said)
}
