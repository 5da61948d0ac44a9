// SPDX-License-Identifier: Apache-2.0

//go:build unix

package realmodel_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

// patience is how long a request or a run may take: many times what it needs on two idle cores.
const patience = 5 * time.Minute

// newModel returns the real model.
func newModel(t testing.TB) *openaimodel.Model {
	t.Helper()
	m, err := openaimodel.New(openaimodel.Config{Name: name, BaseURL: realServer(t).url, APIKey: key, Provider: "llamacpp", ContextWindow: contextWindow})
	require.NoError(t, err)
	return m
}

// patient returns a ctx that ends before the patience of whoever watches the tests.
func patient(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// settings make the model answer the same every time.
func settings(maxTokens int) *model.Settings {
	return &model.Settings{MaxTokens: maxTokens, Temperature: new(0.0), Seed: new(int64(1))}
}

func ask(text string, maxTokens int) *model.Request {
	return &model.Request{Messages: []*model.Message{model.UserText(text)}, Settings: settings(maxTokens)}
}

// generate asks the model and shows what it said.
func generate(t testing.TB, m model.Model, req *model.Request, sink model.Sink) *model.Message {
	t.Helper()
	start := time.Now()
	msg, err := m.Generate(patient(t), req, sink)
	require.NoError(t, err)
	show(t, msg, time.Since(start))
	return msg
}

func show(t testing.TB, msg *model.Message, took time.Duration) {
	t.Helper()
	for i := range msg.Parts {
		p := &msg.Parts[i]
		switch p.Kind {
		case model.PartToolCall:
			t.Logf("model: calls %s %s", p.Tool, p.Args)
		default:
			t.Logf("model: %s", p.Text)
		}
	}
	t.Logf("       (%s, %d tokens in of which %d cached, %d out, %.1f s)", msg.Finish, msg.Usage.InputTokens, msg.Usage.CacheReadTokens,
		msg.Usage.OutputTokens, took.Seconds())
}

// heard is a sink that keeps what it is told.
type heard struct {
	text, args strings.Builder
	deltas     int
	usage      model.Usage
}

func (h *heard) sink(d model.Delta) error {
	h.deltas++
	switch d.Kind {
	case model.PartText:
		h.text.WriteString(d.Text)
	case model.PartToolCall:
		h.args.WriteString(d.Text)
	}
	if d.Usage != nil {
		h.usage = *d.Usage
	}
	return nil
}

var lookUp = model.ToolDef{
	Name: "get_weather", Description: "Current weather of a city.",
	Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","description":"Name of the city"}},"required":["city"],"additionalProperties":false}`),
}

var tellTime = model.ToolDef{
	Name: "get_time", Description: "Current time of a city.",
	Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","description":"Name of the city"}},"required":["city"],"additionalProperties":false}`),
}

func TestAnAnswerIsTheSameStreamedAndWhole(t *testing.T) {
	m := newModel(t)
	const question = "Name three colours of the rainbow, in one short sentence."
	whole := generate(t, m, ask(question, 40), nil)
	var h heard
	streamed := generate(t, m, ask(question, 40), h.sink)

	for _, msg := range []*model.Message{whole, streamed} {
		assert.Equal(t, model.KindResponse, msg.Kind)
		assert.Equal(t, model.FinishStop, msg.Finish)
		assert.Equal(t, "llamacpp", msg.Provider)
		assert.Equal(t, name, msg.Model)
		assert.NotEmpty(t, msg.ResponseID)
		assert.Positive(t, msg.Usage.InputTokens)
		assert.Positive(t, msg.Usage.OutputTokens)
	}
	assert.NotEmpty(t, whole.Text())
	assert.Equal(t, whole.Text(), streamed.Text())
	assert.Equal(t, streamed.Text(), h.text.String(), "the deltas say what the message says")
	assert.Greater(t, h.deltas, 3, "the answer came in pieces")
	assert.Equal(t, streamed.Usage, h.usage, "the last usage of the stream is the message's")
	assert.Positive(t, streamed.Usage.CacheReadTokens, "the second time, the server knew the question")
}

func TestATokenLimitAndAStopStringAreKept(t *testing.T) {
	m := newModel(t)
	cut := generate(t, m, ask("Count from one to one hundred in words.", 8), nil)
	assert.Equal(t, model.FinishLength, cut.Finish)
	assert.EqualValues(t, 8, cut.Usage.OutputTokens)

	req := ask("Count from 1 to 9, with a blank between the numbers. Say nothing else.", 40)
	req.Settings.Stop = []string{"5"}
	stopped := generate(t, m, req, nil)
	assert.Equal(t, model.FinishStop, stopped.Finish)
	assert.NotContains(t, stopped.Text(), "5")
}

func TestToolsAreCalledAndTheirResultsUnderstood(t *testing.T) {
	m := newModel(t)
	for _, c := range []struct {
		rule   string
		tools  []model.ToolDef
		choice model.ToolChoice
		stream bool
	}{
		{"because it has to", []model.ToolDef{lookUp, tellTime}, model.ToolChoice{Mode: model.ToolChoiceRequired}, false},
		{"because it has to, streamed", []model.ToolDef{lookUp, tellTime}, model.ToolChoice{Mode: model.ToolChoiceRequired}, true},
		{"the one that is named", []model.ToolDef{lookUp}, model.ToolChoice{Mode: model.ToolChoiceTool, Tool: lookUp.Name}, true},
		{"of its own will", []model.ToolDef{lookUp, tellTime}, model.ToolChoice{}, true},
	} {
		t.Run(c.rule, func(t *testing.T) {
			req := ask("What is the weather in Oslo?", 100)
			req.Tools, req.ToolChoice = c.tools, c.choice
			var h heard
			var sink model.Sink
			if c.stream {
				sink = h.sink
			}
			msg := generate(t, m, req, sink)
			require.True(t, msg.HasToolCalls())
			assert.Equal(t, model.FinishToolCalls, msg.Finish)
			call := msg.Parts[len(msg.Parts)-1]
			assert.Equal(t, lookUp.Name, call.Tool)
			assert.NotEmpty(t, call.CallID)
			assert.JSONEq(t, `{"city":"Oslo"}`, string(call.Args))
			if c.stream {
				assert.Equal(t, string(call.Args), h.args.String(), "the deltas say what the call says")
			}

			// The history with the call and its result is one that the server takes.
			req.Messages = append(req.Messages, msg, &model.Message{Kind: model.KindRequest, Parts: []model.Part{
				model.ToolReturn(call.CallID, call.Tool, `{"celsius":-7,"sky":"snow"}`),
			}})
			req.ToolChoice = model.ToolChoice{Mode: model.ToolChoiceNone}
			answer := generate(t, m, req, nil)
			assert.False(t, answer.HasToolCalls(), "tool calls were forbidden")
			assert.NotEmpty(t, answer.Text())
		})
	}
}

func TestAToolCannotBeNamedAmongOthers(t *testing.T) {
	req := ask("What is the weather in Oslo?", 100)
	req.Tools = []model.ToolDef{lookUp, tellTime}
	req.ToolChoice = model.ToolChoice{Mode: model.ToolChoiceTool, Tool: tellTime.Name}
	_, err := newModel(t).Generate(patient(t), req, nil)
	assert.ErrorIs(t, err, model.ErrUnsupported, "llama.cpp takes the name for \"auto\", so it is refused before")
}

func TestTheServerBindsTheAnswerToASchema(t *testing.T) {
	req := ask("In Oslo it snows at -7 degrees.", 100)
	req.Output = &model.OutputSchema{Name: "weather", Strict: true, Schema: json.RawMessage(`{"type":"object","properties":{
		"city":{"type":"string"},"celsius":{"type":"integer"},"sky":{"type":"string","enum":["clear","clouds","rain","snow"]}},
		"required":["city","celsius","sky"],"additionalProperties":false}`)}
	msg := generate(t, newModel(t), req, func(model.Delta) error { return nil })
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(msg.Text()), &got))
	assert.Equal(t, map[string]any{"city": "Oslo", "celsius": -7.0, "sky": "snow"}, got)
}

func TestMoreRequestsThanTheServerHasSlotsForAreAllAnswered(t *testing.T) {
	m := newModel(t)
	questions := map[string]string{"France": "Paris", "Norway": "Oslo", "Italy": "Rome", "Japan": "Tokyo", "Spain": "Madrid"}
	var wg sync.WaitGroup
	for country, capital := range questions {
		wg.Go(func() {
			msg, err := m.Generate(patient(t), ask("What is the capital of "+country+"? Answer with the name alone.", 10), func(model.Delta) error { return nil })
			if assert.NoError(t, err) {
				assert.Contains(t, msg.Text(), capital, "each gets the answer to its own question")
			}
		})
	}
	wg.Wait()
}

func TestACancelledStreamEndsAndTheServerGoesOn(t *testing.T) {
	m := newModel(t)
	for range slots + 1 { // an abandoned request that held a slot would block the last one
		ctx, cancel := context.WithCancelCause(patient(t))
		enough := errors.New("enough")
		deltas := 0
		_, err := m.Generate(ctx, ask("Tell a very long story about a dog.", 3000), func(model.Delta) error {
			if deltas++; deltas == 5 {
				cancel(enough)
			}
			return nil
		})
		cancel(nil)
		assert.ErrorIs(t, err, enough)
	}
	start := time.Now()
	generate(t, m, ask("What is the capital of France? Answer with the name alone.", 10), nil)
	assert.Less(t, time.Since(start), 30*time.Second, "a story of 3000 tokens would take longer")
}

func TestAnErrorOfTheSinkEndsTheRequest(t *testing.T) {
	full := errors.New("the sink is full")
	_, err := newModel(t).Generate(patient(t), ask("Tell a very long story about a dog.", 3000), func(model.Delta) error { return full })
	assert.Same(t, full, err)
}

func TestAConversationThatIsTooLongIsToldFromOtherErrors(t *testing.T) {
	m := newModel(t)
	req := ask(strings.Repeat("word ", contextWindow), 10)
	for _, sink := range []model.Sink{nil, func(model.Delta) error { return nil }} {
		_, err := m.Generate(patient(t), req, sink)
		t.Log(err)
		var api *model.APIError
		require.ErrorAs(t, err, &api)
		assert.ErrorIs(t, err, model.ErrContextLength)
		assert.Equal(t, 400, api.Status)
		assert.False(t, api.Retryable)
	}
}

func TestAWrongKeyIsToldFromOtherErrors(t *testing.T) {
	const wrong = "a-key-that-is-wrong"
	m, err := openaimodel.New(openaimodel.Config{Name: name, BaseURL: realServer(t).url, APIKey: wrong})
	require.NoError(t, err)
	_, err = m.Generate(patient(t), ask("Hello", 1), nil)
	t.Log(err)
	assert.ErrorIs(t, err, model.ErrAuth)
	assert.NotContains(t, err.Error(), wrong)
}

func TestTheServerListsItsModel(t *testing.T) {
	names, err := newModel(t).Models(patient(t))
	require.NoError(t, err)
	assert.Equal(t, []string{name}, names)
}
