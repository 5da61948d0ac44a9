// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// modelOf is a model whose agent says the texts, one for each prompt.
func modelOf(t testing.TB, texts ...string) (*acpclient.Model, *scriptedAgent) {
	t.Helper()
	s := &scriptedAgent{}
	for _, text := range texts {
		s.turns = append(s.turns, says(text))
	}
	m := acpclient.NewModel(acpclient.Agent{Name: "coder", Client: start(t, s, acpclient.Config{}), Session: acpclient.SessionConfig{Cwd: "/repo"}})
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return m, s
}

func TestAgentIsAModel(t *testing.T) {
	m, s := modelOf(t)
	s.turns = append(s.turns, func(ctx context.Context, a *turn) (*acp.PromptResponse, error) {
		a.update(ctx, acp.ThoughtChunk("hm"))
		a.say(ctx, "one ")
		a.say(ctx, "two")
		return endAgentTurn, nil
	}, says("three"))
	var deltas []string
	req := &model.Request{Instructions: "Be brief.", Messages: []*model.Message{model.UserText("count")}}
	resp, err := m.Generate(t.Context(), req, func(d model.Delta) error {
		deltas = append(deltas, string(d.Kind)+" "+d.Text)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []model.Part{model.Thinking("hm"), model.Text("one two")}, resp.Parts)
	require.Equal(t, model.FinishStop, resp.Finish)
	require.Equal(t, "thinking hm", deltas[0])
	text := ""
	for _, d := range deltas[1:] {
		text += strings.TrimPrefix(d, "text ")
	}
	require.Equal(t, "one two", text)

	req.Messages = append(req.Messages, resp, model.UserText("more"))
	resp, err = m.Generate(t.Context(), req, nil)
	require.NoError(t, err)
	require.Equal(t, "three", resp.Text())
	require.Equal(t, []string{"Be brief.\n\ncount", "more"}, s.prompts)
	require.Equal(t, 1, s.sessions, "the conversation goes on in its session")
}

func TestLostSessionsAreToldAgain(t *testing.T) {
	m, s := modelOf(t, "three")
	_, err := m.Generate(t.Context(), &model.Request{Messages: []*model.Message{
		model.UserText("count"), {Kind: model.KindResponse, Provider: acpclient.ModelProvider, ResponseID: "gone#1", Parts: []model.Part{model.Text("one")}}, model.UserText("more"),
	}}, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"This is the conversation so far.\n\nUser: count\n\nAssistant: one\n\nContinue it.\n\nUser: more"}, s.prompts)
}

func TestModelRefusesWhatCannotBeKept(t *testing.T) {
	m, s := modelOf(t)
	one := []*model.Message{model.UserText("x")}
	temperature := 0.5
	for want, req := range map[string]*model.Request{
		"tools (read_file, grep); it has its own":    {Tools: []model.ToolDef{{Name: "read_file"}, {Name: "grep"}}},
		"a demanded tool call":                       {ToolChoice: model.ToolChoice{Mode: model.ToolChoiceRequired}},
		"an output schema; use agent.OutputPrompted": {Output: &model.OutputSchema{}},
		"the setting Temperature":                    {Settings: &model.Settings{Temperature: &temperature}},
		"media (image/png)":                          {Messages: []*model.Message{{Kind: model.KindRequest, Parts: []model.Part{model.Media("image/png", []byte{1})}}}},
	} {
		if req.Messages == nil {
			req.Messages = one
		}
		_, err := m.Generate(t.Context(), req, nil)
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorContains(t, err, "acpclient: coder: an ACP agent as a model cannot take "+want)
	}
	require.Zero(t, s.sessions)
}

type report struct {
	Title string `json:"title" validate:"required"`
	Lines int    `json:"lines" validate:"min=1"`
}

func TestTypedOutputIsAskedForAgain(t *testing.T) {
	m, s := modelOf(t, "It is fine.", `{"title":"Report","lines":0}`, "```json\n{\"title\":\"Report\",\"lines\":3}\n```")
	retries := 3
	a, err := agent.New(agent.Config[noDeps, report]{Model: m, Output: agent.Output{Mode: agent.OutputPrompted}, OutputRetries: &retries})
	require.NoError(t, err)
	res, err := a.Run(t.Context(), noDeps{}, "Report.")
	require.NoError(t, err)
	require.Equal(t, report{"Report", 3}, res.Output)
	require.Len(t, s.prompts, 3)
	require.Contains(t, s.prompts[0], "schema")
	require.NotContains(t, s.prompts[1], "Report.", "the session knows what was said")
	require.Contains(t, s.prompts[2], "lines")
	require.Equal(t, 1, s.sessions)
}

func TestAgentIsANamedSubAgent(t *testing.T) {
	m, s := modelOf(t, "I am the coder.")
	coder, err := agent.New(agent.Config[noDeps, string]{Name: "coder", Model: m})
	require.NoError(t, err)
	outer, err := agent.New(agent.Config[noDeps, string]{
		Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "coder", `{"prompt":"who are you?"}`)), modeltest.SayText("done")),
		Tools: []*toolset.Tool[noDeps]{agent.AsTool("coder", "", coder, func(d noDeps) noDeps { return d })},
	})
	require.NoError(t, err)
	res, err := outer.Run(t.Context(), noDeps{}, "go")
	require.NoError(t, err)
	require.Equal(t, "I am the coder.", shownEvents(res.Messages))
	require.Equal(t, []string{"who are you?"}, s.prompts)
}

func TestModelErrors(t *testing.T) {
	m, s := modelOf(t)
	s.turns = append(s.turns,
		func(context.Context, *turn) (*acp.PromptResponse, error) {
			return nil, acp.Errorf(acp.CodeInternal, "overloaded")
		},
		func(ctx context.Context, a *turn) (*acp.PromptResponse, error) {
			a.say(ctx, "x")
			<-ctx.Done()
			return &acp.PromptResponse{StopReason: acp.StopReasonCancelled}, nil
		},
		func(context.Context, *turn) (*acp.PromptResponse, error) {
			return &acp.PromptResponse{StopReason: acp.StopReasonRefusal}, nil
		},
	)
	req := &model.Request{Messages: []*model.Message{model.UserText("x")}}
	_, err := m.Generate(t.Context(), req, nil)
	require.EqualError(t, err, "acpclient: coder: acpclient: session/prompt: overloaded (-32603)")
	stop := errors.New("stop")
	_, err = m.Generate(t.Context(), req, func(model.Delta) error { return stop })
	require.Equal(t, stop, err, "unwrapped")
	resp, err := m.Generate(t.Context(), req, nil)
	require.NoError(t, err)
	require.Equal(t, model.FinishRefusal, resp.Finish)
	require.NoError(t, m.Close())
	_, err = m.Generate(t.Context(), req, nil)
	require.ErrorIs(t, err, acpclient.ErrClosed)
}

func TestReasonsForTheEndOfATurnAreKept(t *testing.T) {
	m, s := modelOf(t)
	req := &model.Request{Messages: []*model.Message{model.UserText("x")}}
	for reason, want := range map[acp.StopReason]model.FinishReason{
		acp.StopReasonEndTurn: model.FinishStop, acp.StopReasonMaxTokens: model.FinishLength, acp.StopReasonRefusal: model.FinishRefusal,
		acp.StopReasonMaxTurnRequests: model.FinishLength, "another": model.FinishOther,
	} {
		s.turns = append(s.turns, func(ctx context.Context, a *turn) (*acp.PromptResponse, error) {
			a.say(ctx, "said")
			return &acp.PromptResponse{StopReason: reason}, nil
		})
		resp, err := m.Generate(t.Context(), req, nil)
		require.NoError(t, err, reason)
		require.Equal(t, want, resp.Finish, reason)
		require.Equal(t, "said", resp.Text())
		require.Equal(t, acpclient.ModelProvider, resp.Provider)
		require.NotEmpty(t, resp.ResponseID)
	}
	s.turns = append(s.turns, func(context.Context, *turn) (*acp.PromptResponse, error) {
		return &acp.PromptResponse{StopReason: acp.StopReasonCancelled}, nil
	})
	_, err := m.Generate(t.Context(), req, nil)
	require.EqualError(t, err, "acpclient: coder: the agent cancelled its turn")
}

func TestAgentThatCannotBeStartedIsAnError(t *testing.T) {
	m := acpclient.NewModel(acpclient.Agent{})
	defer m.Close()
	_, err := m.Generate(t.Context(), &model.Request{Messages: []*model.Message{model.UserText("x")}}, nil)
	require.ErrorContains(t, err, "acpclient: set Agent.Command or Agent.Client")
	require.Equal(t, "agent", m.Info().Name)
}

// Calls and calls' results of other models are told as text in a session that knows nothing of them.
func TestHistoryWithCallsIsToldAsText(t *testing.T) {
	m, s := modelOf(t, "done")
	_, err := m.Generate(t.Context(), &model.Request{Messages: []*model.Message{
		model.UserText("look"), model.Response(model.Thinking("hm"), model.Text("I look."), model.ToolCall("1", "look", `{"at":1}`), model.ToolCall("2", "pay", `{}`)),
		{Kind: model.KindRequest, Parts: []model.Part{model.ToolReturn("1", "look", "seen"), {Kind: model.PartRetry, CallID: "2", Tool: "pay", Text: "no money"}}},
		model.UserText("go on"),
	}}, nil)
	require.NoError(t, err)
	for _, want := range []string{"look", "I look.", `{"at":1}`, "seen", "no money", "go on"} {
		require.Contains(t, s.prompts[0], want)
	}
}
