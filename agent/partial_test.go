// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

type names struct {
	Names []string `json:"names" validate:"min=2"`
}

// second panics unless there are two names, as the validate tag promises.
func second(n names) string { return n.Names[1] }

func secondConfig(mode agent.OutputMode, parts ...model.Part) cfg {
	return cfg{
		Model:        modeltest.Script(modeltest.Say(parts...)),
		Output:       agent.Output{Mode: mode},
		Alternatives: []agent.Alternative[deps, string]{agent.As[deps]("names", "Two names.", second)},
	}
}

func TestPartialsSkipValuesThatTheConversionPanicsOn(t *testing.T) {
	const written = `{"names": ["Ada", "Eve", "Zoe"]}`
	require.Equal(t, []string{"Eve"}, partials(t, secondConfig(agent.OutputTool, model.ToolCall("1", "names", written))))
	require.Equal(t, []string{"Eve"}, partials(t, secondConfig(agent.OutputPrompted, model.Text("```json\n"+written+"\n```"))))
}

// strictWord panics on text that is not complete.
type strictWord string

func (w *strictWord) UnmarshalJSON(data []byte) error {
	if !strings.HasSuffix(string(data), `!"`) {
		panic("no word: " + string(data))
	}
	return json.Unmarshal(data, (*string)(w))
}

func TestPartialsSkipValuesThatATypePanicsOn(t *testing.T) {
	type shout struct {
		Word strictWord `json:"word"`
	}
	got := partials(t, agent.Config[deps, shout]{Model: modeltest.Script(modeltest.Say(final("1", `{"word": "one two!"}`)))})
	require.Equal(t, shout{"one two!"}, got[len(got)-1])
}

func TestPartialsDoNotHideAPanicOfTheFinalConversion(t *testing.T) {
	config := secondConfig(agent.OutputTool, model.ToolCall("1", "names", `{"names": ["Ada", "Eve"]}`))
	config.Alternatives[0] = agent.As[deps]("names", "", func(names) string { panic("broken") })
	s := newAgent(t, config).Stream(t.Context(), deps{}, "go")
	require.Empty(t, slices.Collect(s.Partials()))
	_, err := s.Result()
	var panicked *agent.PanicError
	require.ErrorAs(t, err, &panicked)
	require.Equal(t, "broken", panicked.Value)
}

func TestPartialsDoNotHideAPanicOfTheRangeBody(t *testing.T) {
	config := secondConfig(agent.OutputTool, model.ToolCall("1", "names", `{"names": ["Ada", "Eve"]}`))
	s := newAgent(t, config).Stream(t.Context(), deps{}, "go")
	require.Panics(t, func() {
		for range s.Partials() {
			panic("mine")
		}
	})
}

// The usage says nothing about the output, so it is no reason to look at the output earlier than its growth is.
func TestPartialsAreNotDueToUsage(t *testing.T) {
	long := strings.Repeat("x", 320)
	m := model.Func(model.Info{}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		for _, d := range []model.Delta{
			{Kind: model.PartText, Text: long},
			{Kind: model.PartText, Text: "a"},
			{Usage: &model.Usage{InputTokens: 1}},
			{Kind: model.PartText, Text: "b"},
		} {
			if err := sink(d); err != nil {
				return nil, err
			}
		}
		return model.Response(model.Text(long + "ab")), nil
	})
	require.Equal(t, []string{long, long + "ab"}, partials(t, cfg{Model: m}))
}
