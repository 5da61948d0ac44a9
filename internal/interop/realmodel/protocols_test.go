// SPDX-License-Identifier: Apache-2.0

//go:build unix

package realmodel_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	_ "github.com/ponte-go/ponte/agent/model/anthropicmodel"
	_ "github.com/ponte-go/ponte/agent/model/openaimodel"
)

// protocols are the models by string that reach the real one: llama.cpp speaks the protocols of others as well.
var protocols = []string{"llamacpp:" + name, "openai-responses:" + name, "anthropic:" + name}

// overEach runs a test for each of the protocols.
func overEach(t *testing.T, test func(t *testing.T, m model.Model)) {
	realServer(t)
	for _, ref := range protocols {
		t.Run(ref, func(t *testing.T) { test(t, open(t, ref, key)) })
	}
}

// open opens a model by its string. Nothing comes from the environment.
func open(t testing.TB, ref, key string) model.Model {
	t.Helper()
	m, err := model.OpenWith(t.Context(), ref, model.OpenOptions{
		BaseURL: realServer(t).url, APIKey: key, Getenv: func(string) string { return "" },
		Settings: &model.Settings{MaxTokens: 200},
	})
	require.NoError(t, err)
	return m
}

func plain(text string) *model.Request {
	return &model.Request{Messages: []*model.Message{model.UserText(text)}}
}

func TestEveryProtocolStreamsAnAnswer(t *testing.T) {
	var usage model.Usage
	overEach(t, func(t *testing.T, m model.Model) {
		const question = "Name three colours of the rainbow, in one short sentence."
		whole := generate(t, m, plain(question), nil)
		var h heard
		streamed := generate(t, m, plain(question), h.sink)
		for _, msg := range []*model.Message{whole, streamed} {
			assert.Equal(t, model.FinishStop, msg.Finish)
			assert.Equal(t, m.Info().Provider, msg.Provider)
			assert.Positive(t, msg.Usage.InputTokens)
			assert.Positive(t, msg.Usage.OutputTokens)
		}
		assert.NotEmpty(t, whole.Text())
		assert.Equal(t, whole.Text(), streamed.Text())
		assert.Equal(t, streamed.Text(), h.text.String())
		assert.Equal(t, whole.Usage.TotalTokens(), streamed.Usage.TotalTokens())
		if usage != (model.Usage{}) {
			assert.Equal(t, usage, streamed.Usage, "all protocols count alike, though each has its own way to say what was cached")
		}
		usage = streamed.Usage
	})
}

func TestEveryProtocolCarriesAToolCallAndItsResult(t *testing.T) {
	overEach(t, func(t *testing.T, m model.Model) {
		for _, stream := range []bool{false, true} {
			req := plain("What is the weather in Oslo?")
			req.Tools, req.ToolChoice = []model.ToolDef{lookUp}, model.ToolChoice{Mode: model.ToolChoiceRequired}
			var h heard
			var sink model.Sink
			if stream {
				sink = h.sink
			}
			msg := generate(t, m, req, sink)
			require.True(t, msg.HasToolCalls())
			assert.Equal(t, model.FinishToolCalls, msg.Finish)
			call := msg.Parts[len(msg.Parts)-1]
			assert.Equal(t, lookUp.Name, call.Tool)
			assert.JSONEq(t, `{"city":"Oslo"}`, string(call.Args))
			if stream {
				assert.Equal(t, string(call.Args), h.args.String())
			}
			req.Messages = append(req.Messages, msg, &model.Message{Kind: model.KindRequest, Parts: []model.Part{
				model.ToolReturn(call.CallID, call.Tool, `{"celsius":-7,"sky":"snow"}`),
			}})
			req.ToolChoice = model.ToolChoice{}
			answer := generate(t, m, req, sink)
			assert.False(t, answer.HasToolCalls())
			assert.Contains(t, answer.Text(), "snow", "the model has seen the result")
		}
	})
}

func TestEveryProtocolServesAnAgentWithTypedOutput(t *testing.T) {
	overEach(t, func(t *testing.T, m model.Model) {
		s := new(station)
		a := newAgent(t, func(c *agent.Config[*station, weather]) { c.Model, c.Settings = m, nil })
		res, err := a.Run(patient(t), s, question)
		require.NoError(t, err)
		assert.Equal(t, oslo, res.Output)
		assert.Contains(t, s.asked, "Oslo")
	})
}

func TestEveryProtocolIsCancelledInMidStream(t *testing.T) {
	overEach(t, func(t *testing.T, m model.Model) {
		full := errors.New("the sink is full")
		req := plain("Tell a very long story about a dog.")
		req.Settings = &model.Settings{MaxTokens: 3000}
		_, err := m.Generate(patient(t), req, func(model.Delta) error { return full })
		assert.Same(t, full, err)
	})
}

func TestEveryProtocolTellsAConversationThatIsTooLong(t *testing.T) {
	overEach(t, func(t *testing.T, m model.Model) {
		_, err := m.Generate(patient(t), plain(strings.Repeat("word ", contextWindow)), nil)
		t.Log(err)
		assert.ErrorIs(t, err, model.ErrContextLength)
	})
}

func TestEveryProtocolTellsAWrongKey(t *testing.T) {
	realServer(t)
	for _, ref := range protocols {
		t.Run(ref, func(t *testing.T) {
			_, err := open(t, ref, "a-key-that-is-wrong").Generate(patient(t), plain("Hello"), nil)
			t.Log(err)
			assert.ErrorIs(t, err, model.ErrAuth)
		})
	}
}
