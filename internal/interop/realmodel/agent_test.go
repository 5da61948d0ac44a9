// SPDX-License-Identifier: Apache-2.0

//go:build unix

package realmodel_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// station is what the agent's tool asks, and how often it was asked.
type station struct{ asked []string }

type place struct {
	City string `json:"city" jsonschema:"description=Name of the city" validate:"required"`
}

type weather struct {
	City    string `json:"city"`
	Celsius int    `json:"celsius" validate:"gte=-90,lte=60"`
	Sky     string `json:"sky" jsonschema:"enum=clear,enum=clouds,enum=rain,enum=snow" validate:"oneof=clear clouds rain snow"`
}

// oslo is what no model knows, so that an answer with it came from the tool.
var oslo = weather{City: "Oslo", Celsius: -17, Sky: "snow"}

func getWeather() toolset.Toolset[*station] {
	return toolset.Of(toolset.Func("get_weather", "Current weather of a city.",
		func(_ context.Context, run *toolset.RunContext[*station], p place) (weather, error) {
			run.Deps.asked = append(run.Deps.asked, p.City)
			if p.City != oslo.City {
				return weather{}, toolset.Retry("there is no station in %q, only in Oslo", p.City)
			}
			return oslo, nil
		}))
}

func newAgent[O any](t testing.TB, change func(*agent.Config[*station, O])) *agent.Agent[*station, O] {
	t.Helper()
	start := time.Now()
	config := agent.Config[*station, O]{
		Name:         "weather",
		Model:        newModel(t),
		Instructions: "Look the weather up with get_weather. Then give the answer.",
		Toolsets:     []toolset.Toolset[*station]{getWeather()},
		ToolRetries:  new(3), OutputRetries: new(3),
		Limits:   agent.Limits{Requests: 8},
		Settings: settings(200),
		Observer: &agent.Observer{
			Response:   func(e agent.Event) { show(t, e.Message, time.Since(start)) },
			ToolResult: func(e agent.Event) { t.Logf("tool:  %s", strings.Join(strings.Fields(e.Result.Text), " ")) },
		},
	}
	if change != nil {
		change(&config)
	}
	a, err := agent.New(config)
	require.NoError(t, err)
	return a
}

const question = "What is the weather in Oslo?"

func TestAnAgentCallsItsToolAndGivesATypedOutput(t *testing.T) {
	t.Logf("user:  %s", question)
	s := new(station)
	res, err := newAgent[weather](t, nil).Run(patient(t), s, question)
	require.NoError(t, err)
	assert.Equal(t, oslo, res.Output)
	assert.Contains(t, s.asked, "Oslo")
	assert.GreaterOrEqual(t, res.Usage.Requests, 2)
	assert.Positive(t, res.Usage.ToolCalls)
	assert.Positive(t, res.Usage.CacheReadTokens, "a run's requests grow at their end only, so the server knows most of each")
}

func TestAnAgentStreamsItsTypedOutput(t *testing.T) {
	s := new(station)
	stream := newAgent[weather](t, nil).Stream(patient(t), s, question)
	var last weather
	n := 0
	for partial := range stream.Partials() {
		last = partial
		n++
	}
	res, err := stream.Result()
	require.NoError(t, err)
	assert.Equal(t, oslo, res.Output)
	assert.Equal(t, oslo, last)
	assert.Greater(t, n, 1, "the output grew under the eyes of the observer")
}

func TestAnAgentCorrectsAnOutputThatAValidatorRefuses(t *testing.T) {
	refused := 0
	a := newAgent(t, func(c *agent.Config[*station, weather]) {
		c.Instructions = "Give the weather of the user's city as the final result."
		c.Toolsets = nil
		c.Validators = []agent.Validator[*station, weather]{func(_ context.Context, _ *toolset.RunContext[*station], w weather) (weather, error) {
			if w.Sky != "rain" {
				refused++
				return w, toolset.Retry("the sky is wrong: it must be rain, because it rains")
			}
			return w, nil
		}}
	})
	res, err := a.Run(patient(t), new(station), "In Oslo it snows at -7 degrees.")
	require.NoError(t, err)
	assert.Equal(t, "rain", res.Output.Sky)
	assert.Equal(t, 1, refused, "one hint is enough")
	assert.Equal(t, 2, res.Usage.Requests)
}

func TestAnAgentGivesAnOutputInTheServersOwnFormat(t *testing.T) {
	a := newAgent(t, func(c *agent.Config[*station, weather]) {
		c.Output.Mode = agent.OutputNative
		c.Instructions = "Put what the user says into the form of the answer."
		c.Toolsets = nil
	})
	res, err := a.Run(patient(t), new(station), "In Oslo it snows at -17 degrees.")
	require.NoError(t, err)
	assert.Equal(t, oslo, res.Output)
}

func TestAConversationGoesOnFromItsHistory(t *testing.T) {
	a := newAgent(t, func(c *agent.Config[*station, string]) {
		c.Instructions, c.Toolsets = "Answer in one short sentence.", nil
	})
	first, err := a.Run(patient(t), nil, "My dog is called Balthasar.")
	require.NoError(t, err)
	second, err := a.Run(patient(t), nil, "What is the name of my dog?", agent.WithHistory(first.Messages))
	require.NoError(t, err)
	assert.Contains(t, second.Output, "Balthasar")
	assert.Len(t, second.Messages, 4)
	assert.Equal(t, model.KindResponse, second.Messages[3].Kind)
}
