// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
)

const (
	askCity = `{"sessionId":"s","mode":"form","message":"Where to?","requestedSchema":{"type":"object","properties":{"city":{"type":"string","minLength":2}},"required":["city"]}}`
	askURL  = `{"sessionId":"s","mode":"url","message":"Log in.","elicitationId":"v1","url":"https://example.com/login"}`
)

func city(name string) map[string]acp.ElicitationContentValue {
	return map[string]acp.ElicitationContentValue{"city": {String: &name}}
}

// answering answers every question in the same way.
func answering(a acpclient.Answer, err error) acpclient.ElicitationFunc {
	return func(context.Context, *acpclient.Elicitation) (acpclient.Answer, error) { return a, err }
}

func TestElicitationIsAnsweredByTheCallback(t *testing.T) {
	for _, c := range []struct {
		name, ask string
		answer    acpclient.ElicitationFunc
		want      string
		status    view.Status
		problem   string
	}{
		{"accepted", askCity, answering(acpclient.Answer{Action: toolset.ActionAccept, Content: city("Oslo")}, nil), `{"action":"accept","content":{"city":"Oslo"}}`, view.Completed, ""},
		{"declined", askCity, answering(acpclient.Answer{Action: toolset.ActionDecline, Content: city("Oslo")}, nil), `{"action":"decline"}`, view.Completed, ""},
		{"cancelled", askCity, answering(acpclient.Answer{Action: toolset.ActionCancel}, nil), `{"action":"cancel"}`, view.Cancelled, ""},
		{"left open", askCity, answering(acpclient.Answer{}, nil), `{"action":"cancel"}`, view.Cancelled, ""},
		{"failed", askCity, answering(acpclient.Answer{}, errors.New("no screen")), `{"action":"cancel"}`, view.Cancelled, "acpclient: elicitation: no screen"},
		{"invalid", askCity, answering(acpclient.Answer{Action: toolset.ActionAccept, Content: city("O")}, nil), `{"action":"cancel"}`, view.Cancelled, `field "city" must have a number of characters that is at least 2`},
		{"unknown", askCity, answering(acpclient.Answer{Action: "later"}, nil), `{"action":"cancel"}`, view.Cancelled, `unknown action "later"`},
		{"panicked", askCity, func(context.Context, *acpclient.Elicitation) (acpclient.Answer, error) { panic("boom") }, `{"action":"cancel"}`, view.Cancelled, "the callback panicked: boom"},
		{"opened", askURL, answering(acpclient.Answer{Action: toolset.ActionAccept}, nil), `{"action":"accept"}`, view.Running, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got message
			s := begin(t, acpclient.Config{Elicitation: c.answer}, func(a *raw) {
				a.open()
				a.turn(func() { got = a.call("elicitation/create", c.ask) })
			})
			_, err := s.Say(t.Context(), "go")
			require.NoError(t, err)
			require.Nil(t, got.Error)
			require.JSONEq(t, c.want, string(got.Result))
			q := questions(s)
			require.Len(t, q, 1)
			require.Equal(t, c.status, q[0].Status)
			if c.problem == "" {
				require.Empty(t, problems(s.Client()))
			}
			requireProblem(t, s.Client(), c.problem)
		})
	}
}

func questions(s *acpclient.Session) []*view.Entity {
	return slices.Collect(s.Snapshot().Of(view.Question))
}

func TestElicitationIsAnnouncedIfThereIsACallback(t *testing.T) {
	for _, callback := range []acpclient.ElicitationFunc{nil, answering(acpclient.Answer{}, nil)} {
		var hello, refused message
		s := begin(t, acpclient.Config{Elicitation: callback}, func(a *raw) {
			hello = a.await("initialize")
			a.answer(hello, `{"protocolVersion":1,"agentCapabilities":{}}`)
			a.answer(a.await("session/new"), `{"sessionId":"s"}`)
			a.turn(func() { refused = a.call("elicitation/create", askCity) })
		})
		_, err := s.Say(t.Context(), "go")
		require.NoError(t, err)
		announced := strings.Contains(string(hello.Params), `"elicitation":{"form":{},"url":{}}`)
		require.Equal(t, callback != nil, announced)
		require.Equal(t, callback == nil, refused.Error != nil)
	}
}

func TestVisitEndsWhenTheAgentSaysSo(t *testing.T) {
	s := begin(t, acpclient.Config{Elicitation: answering(acpclient.Answer{Action: toolset.ActionAccept}, nil)}, func(a *raw) {
		a.open()
		a.turn(func() {
			a.call("elicitation/create", askURL)
			a.write(`{"jsonrpc":"2.0","method":"elicitation/complete","params":{"elicitationId":"other"}}`)
			a.write(`{"jsonrpc":"2.0","method":"elicitation/complete","params":{"elicitationId":"v1"}}`)
			a.write(`{"jsonrpc":"2.0","method":"elicitation/complete","params":{"elicitationId":"v1"}}`)
			a.call("elicitation/create", strings.ReplaceAll(askURL, "v1", "v2"))
		})
	})
	_, err := s.Say(t.Context(), "go")
	require.NoError(t, err)
	for _, err := range s.Cursor(nil).All(t.Context()) { // until it has been told
		require.NoError(t, err)
		if questions(s)[0].Status == view.Completed {
			break
		}
	}
	require.Equal(t, view.Running, questions(s)[1].Status)
}

func TestElicitationEndsWithItsTurn(t *testing.T) {
	asked := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	var got message
	s := begin(t, acpclient.Config{Elicitation: func(ctx context.Context, _ *acpclient.Elicitation) (acpclient.Answer, error) {
		close(asked)
		<-ctx.Done()
		return acpclient.Answer{Action: toolset.ActionAccept, Content: city("Oslo")}, nil
	}}, func(a *raw) {
		a.open()
		p := a.await("session/prompt")
		got = a.call("elicitation/create", askCity)
		a.answer(p, `{"stopReason":"cancelled"}`)
	})
	go func() { <-asked; cancel() }()
	_, err := s.Say(ctx, "go")
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Client().NewSession(t.Context(), acpclient.SessionConfig{Cwd: "/repo"}) // the agent is gone
	require.Error(t, err)
	require.JSONEq(t, `{"action":"cancel"}`, string(got.Result))
}

func TestElicitationOutsideOfSessions(t *testing.T) {
	var got message
	var seen acpclient.Elicitation
	s := begin(t, acpclient.Config{Elicitation: func(_ context.Context, e *acpclient.Elicitation) (acpclient.Answer, error) {
		seen = *e
		return acpclient.Answer{Action: toolset.ActionAccept, Content: city("Oslo")}, nil
	}}, func(a *raw) {
		a.hello(`{}`)
		p := a.await("session/new")
		got = a.call("elicitation/create", strings.Replace(askCity, `"sessionId":"s"`, `"requestId":`+string(p.ID), 1))
		a.answer(p, `{"sessionId":"s"}`)
	})
	require.Nil(t, seen.Session)
	require.JSONEq(t, `{"action":"accept","content":{"city":"Oslo"}}`, string(got.Result))
	require.Empty(t, questions(s))
}

// An agent of Serve asks, and a client of this package answers with an asker.
func TestAgentAndClientAskAndAnswer(t *testing.T) {
	type none struct{}
	var told string
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		if last := req.Messages[len(req.Messages)-1].Parts[0]; last.Kind == model.PartToolReturn {
			told = last.Text
			return model.Response(model.Text("ok")), nil
		}
		return model.Response(model.ToolCall("1", "plan", "{}")), nil
	})
	plan := toolset.Func("plan", "", func(ctx context.Context, run *toolset.RunContext[deps.ACPDeps], _ none) (string, error) {
		reply, err := run.Ask(ctx, toolset.Question{Message: "Where to?", Schema: json.RawMessage(`{"properties":{"city":{"type":"string"}}}`)})
		return string(reply.Content), err
	})
	a, err := agent.New(agent.Config[deps.ACPDeps, string]{Model: m, Tools: []*toolset.Tool[deps.ACPDeps]{plan}})
	require.NoError(t, err)
	var asked toolset.Question
	asker := toolset.AskerFuncs{OnAnswer: func(_ context.Context, q toolset.Question) (toolset.Reply, error) {
		asked = q
		return toolset.Reply{Action: toolset.ActionAccept, Content: json.RawMessage(`{"city":"Oslo"}`)}, nil
	}}
	toAgent, fromClient := acp.Pipe()
	toClient, fromAgent := acp.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- acpbridge.Serve(context.Background(), acpbridge.Config[deps.ACPDeps, string]{
			Host: host.Config[deps.ACPDeps, string]{
				Agent:  a,
				Logger: slog.New(slog.DiscardHandler),
			},
			Options: acpbridge.Options{
				In:  toAgent,
				Out: fromAgent,
			},
		})
	}()
	c, err := acpclient.Connect(t.Context(), toClient, fromClient, acpclient.Config{Elicitation: acpclient.AnswerWith(asker)})
	require.NoError(t, err)
	s, err := c.NewSession(t.Context(), acpclient.SessionConfig{Cwd: "/repo"})
	require.NoError(t, err)
	_, err = s.Say(t.Context(), "go")
	require.NoError(t, err)
	require.Equal(t, `{"city":"Oslo"}`, told)
	require.Equal(t, "Where to?", asked.Message)
	require.Equal(t, "plan", asked.Tool)
	require.JSONEq(t, `{"type":"object","properties":{"city":{"type":"string"}}}`, string(asked.Schema))
	require.Empty(t, problems(c))
	require.NoError(t, c.Close())
	require.NoError(t, <-served)
}

func TestNobodyToAnswerCancelsTheQuestion(t *testing.T) {
	a, err := acpclient.AnswerWith(toolset.AskerFuncs{})(t.Context(), &acpclient.Elicitation{URL: "https://example.com"})
	require.NoError(t, err)
	require.Equal(t, acpclient.Answer{Action: toolset.ActionCancel}, a)
}
