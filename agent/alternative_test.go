// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// place is a union.
type place interface{ isPlace() }

func (city) isPlace() {}

type country struct {
	Country string `json:"country" validate:"required"`
}

func (country) isPlace() {}

type unknownPlace string

func (unknownPlace) isPlace() {}

func placeConfig() agent.Config[deps, place] {
	return agent.Config[deps, place]{Alternatives: []agent.Alternative[deps, place]{
		agent.As[deps]("", "A city.", func(c city) place { return c }),
		agent.As[deps]("nation", "A country.", func(c country) place { return c }),
	}}
}

func TestUnionHasOneOutputToolForEachType(t *testing.T) {
	res, _, script := run(t, placeConfig(), []modeltest.Step{modeltest.Say(model.ToolCall("1", "nation", `{"country":"France"}`))})
	require.Equal(t, country{"France"}, res.Output)
	tools := script.Requests()[0].Tools
	require.Len(t, tools, 2)
	require.Equal(t, "city", tools[0].Name, "named after its type")
	require.Equal(t, "A country.", tools[1].Description)
	res, _, _ = run(t, placeConfig(), []modeltest.Step{modeltest.Say(model.ToolCall("1", "city", paris))})
	require.Equal(t, city{"Paris", 2100000}, res.Output)
}

func TestBudgetsOfOutputToolsAreTheirOwn(t *testing.T) {
	res, _, _ := run(t, placeConfig(), []modeltest.Step{
		modeltest.Say(model.ToolCall("1", "nation", `{}`)), modeltest.Say(model.ToolCall("2", "city", `{}`)), modeltest.Say(model.ToolCall("3", "nation", `{"country":"France"}`)),
	})
	require.Equal(t, country{"France"}, res.Output)
}

func TestTextCanBeAnAlternative(t *testing.T) {
	config := placeConfig()
	config.Alternatives = append(config.Alternatives, agent.Text(func(_ context.Context, _ *toolset.RunContext[deps], text string) (place, error) {
		if text == "dunno" {
			return nil, toolset.Retry("think harder")
		}
		return unknownPlace(text), nil
	}))
	res, _, script := run(t, config, []modeltest.Step{modeltest.SayText("dunno"), modeltest.SayText("Atlantis")})
	require.Equal(t, unknownPlace("Atlantis"), res.Output)
	require.Equal(t, "request\n  retry: think harder\n", last(script.Requests()[1].Messages))
}

func TestMediaCanBeAnAlternative(t *testing.T) {
	picture := model.Media("image/png", []byte("cat"))
	mixed := modeltest.Say(model.Thinking("hm"), model.Text("A "), picture, model.Text("cat."), picture)
	config := agent.Config[deps, []model.Part]{OutputRetries: new(5), Alternatives: []agent.Alternative[deps, []model.Part]{
		agent.Media(func(_ context.Context, _ *toolset.RunContext[deps], media []model.Part, text string) ([]model.Part, error) {
			if text == "draft" {
				return nil, toolset.Retry("draw it again")
			}
			return append(media, model.Text(text)), nil
		}),
	}}
	res, _, script := run(t, config, []modeltest.Step{
		modeltest.SayText("I cannot draw."), modeltest.Say(), modeltest.Say(picture, model.Text("draft")), mixed,
	})
	require.Equal(t, []model.Part{picture, picture, model.Text("A cat.")}, res.Output)
	for i, told := range []string{
		"Plain text responses are not accepted. Answer with media, such as an image.",
		"Your answer was empty. Answer with media, such as an image.", "draw it again",
	} {
		require.Equal(t, "request\n  retry: "+told+"\n", last(script.Requests()[i+1].Messages))
	}

	config.Alternatives = append(config.Alternatives, agent.Text(func(_ context.Context, _ *toolset.RunContext[deps], text string) ([]model.Part, error) {
		return []model.Part{model.Text(text)}, nil
	}))
	res, _, script = run(t, config, []modeltest.Step{modeltest.Say(), modeltest.SayText("I cannot draw.")})
	require.Contains(t, last(script.Requests()[1].Messages), "text or media")
	require.Equal(t, []model.Part{model.Text("I cannot draw.")}, res.Output)

	res2, _, script := run(t, agent.Config[deps, string]{}, []modeltest.Step{modeltest.Say(picture), modeltest.SayText("A cat.")})
	require.Equal(t, "A cat.", res2.Output)
	require.Equal(t, "request\n  retry: Your answer was empty. Answer with text.\n", last(script.Requests()[1].Messages))
}

func TestMediaBesideCallsIsNoOutputAndHasNoPartials(t *testing.T) {
	picture := model.Media("image/png", []byte("cat"))
	config := agent.Config[deps, string]{Alternatives: []agent.Alternative[deps, string]{
		agent.Media(func(_ context.Context, _ *toolset.RunContext[deps], media []model.Part, text string) (string, error) {
			return fmt.Sprintf("%d media and %q", len(media), text), nil
		}),
		agent.As[deps]("answer", "", func(in addArgs) string { return fmt.Sprint("call ", in.X) }),
	}}
	add := toolset.Func("add", "", func(_ context.Context, _ *toolset.RunContext[deps], in addArgs) (int, error) { return in.X + in.Y, nil })
	for _, strategy := range []agent.EndStrategy{agent.EndGraceful, agent.EndEarly, agent.EndExhaustive} {
		config.EndStrategy = strategy
		res, err, script := run(t, config, []modeltest.Step{
			modeltest.Say(picture, model.ToolCall("1", "add", `{"x":1,"y":2}`)), modeltest.Say(picture, model.Text("and words")),
		}, add)
		require.Nil(t, err, strategy)
		require.Equal(t, `1 media and "and words"`, res.Output, strategy)
		require.Equal(t, "request\n  tool_return 1 add: 3\n", last(script.Requests()[1].Messages), strategy)
		res, err, _ = run(t, config, []modeltest.Step{modeltest.Say(picture, model.ToolCall("1", "answer", `{"x":7,"y":2}`))})
		require.Nil(t, err, strategy)
		require.Equal(t, "call 7", res.Output, strategy)
	}

	config.Model = modeltest.Script(modeltest.Say(model.Text("Words that are long enough to come in pieces."), picture))
	a, err := agent.New(config)
	require.NoError(t, err)
	s := a.Stream(t.Context(), deps{}, "draw")
	partials := slices.Collect(s.Partials())
	streamed, err := s.Result()
	require.NoError(t, err)
	require.Equal(t, `1 media and "Words that are long enough to come in pieces."`, streamed.Output)
	require.Equal(t, []string{streamed.Output}, partials, "the words beside media are no part of the output by themselves")

	history, err := json.Marshal(streamed.Messages)
	require.NoError(t, err)
	var read []*model.Message
	require.NoError(t, json.Unmarshal(history, &read))
	require.Equal(t, streamed.Messages, read)
}

func TestOutputFunctionMakesTheOutputOfItsArguments(t *testing.T) {
	config := agent.Config[deps, int]{Alternatives: []agent.Alternative[deps, int]{
		agent.OutputFunc("sum", "Add.", func(_ context.Context, run *toolset.RunContext[deps], in addArgs) (int, error) {
			if in.X == 0 {
				return 0, toolset.Retry("x must not be zero")
			}
			if in.X < 0 {
				return 0, errBoom
			}
			return in.X + in.Y + run.Deps.base, nil
		}),
	}}
	say := func(args string) modeltest.Step { return modeltest.Say(model.ToolCall("1", "sum", args)) }
	res, _, script := run(t, config, []modeltest.Step{say(`{"x":0,"y":1}`), say(`{"x":1,"y":2}`)})
	require.Equal(t, 3, res.Output)
	require.Equal(t, "request\n  retry 1 sum: x must not be zero\n", last(script.Requests()[1].Messages))
	_, err, _ := run(t, config, []modeltest.Step{say(`{"x":-1,"y":1}`)})
	require.ErrorIs(t, err, errBoom)
	require.Equal(t, "sum", err.Tool)
}

func TestAlternativesAreChecked(t *testing.T) {
	text := agent.Text(func(context.Context, *toolset.RunContext[deps], string) (place, error) { return nil, nil })
	media := agent.Media(func(context.Context, *toolset.RunContext[deps], []model.Part, string) (place, error) { return nil, nil })
	two := placeConfig()
	for name, c := range map[string]struct {
		config agent.Config[deps, place]
		want   string
	}{
		"same name":     {agent.Config[deps, place]{Alternatives: append(two.Alternatives, two.Alternatives[0])}, `two alternatives are called "city"`},
		"text twice":    {agent.Config[deps, place]{Alternatives: []agent.Alternative[deps, place]{text, text}}, "text is given twice"},
		"media twice":   {agent.Config[deps, place]{Alternatives: []agent.Alternative[deps, place]{media, media}}, "media are given twice"},
		"zero":          {agent.Config[deps, place]{Alternatives: make([]agent.Alternative[deps, place], 1)}, "alternative 0 is empty"},
		"no schema":     {agent.Config[deps, place]{Alternatives: []agent.Alternative[deps, place]{agent.As[deps]("x", "", func(chan int) place { return nil })}}, "output x:"},
		"native unions": {agent.Config[deps, place]{Alternatives: two.Alternatives, Output: agent.Output{Mode: agent.OutputNative}}, "exactly one structured type"},
	} {
		_, err := agent.New(c.config)
		require.ErrorContains(t, err, c.want, name)
	}
}

func TestPartialsAreWhatTheModelHasWrittenSoFar(t *testing.T) {
	m := model.Func(model.Info{}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		d := model.Delta{Kind: model.PartToolCall, CallID: "1", Tool: "final_result"}
		for _, d.Text = range []string{`{"ci`, `ty":"Pa`, `ris","popu`, `lation":21`, `00000}`} {
			if err := sink(d); err != nil {
				return nil, err
			}
		}
		return model.Response(final("1", paris)), nil
	})
	s := newAgent(t, cityCfg{Model: m, Validators: []agent.Validator[deps, city]{
		func(_ context.Context, _ *toolset.RunContext[deps], c city) (city, error) {
			c.City += "!"
			return c, nil
		},
	}}).Stream(context.Background(), deps{}, "go")
	var got []city
	for c := range s.Partials() {
		got = append(got, c)
	}
	require.Equal(t, []city{{}, {City: "Pa"}, {City: "Paris"}, {"Paris", 2100000}, {"Paris!", 2100000}}, got, "a full validation last")
	res, err := s.Result()
	require.NoError(t, err)
	require.Equal(t, got[4], res.Output)
}

func partials[O any](t *testing.T, config agent.Config[deps, O], tools ...*toolset.Tool[deps]) []O {
	t.Helper()
	var got []O
	s := newAgent(t, config, tools...).Stream(context.Background(), deps{}, "go")
	for o := range s.Partials() {
		got = append(got, o)
	}
	_, err := s.Result()
	require.NoError(t, err)
	return got
}

func TestPartialsOfEveryKindOfOutput(t *testing.T) {
	text := cfg{Model: modeltest.Script(modeltest.Say(call("1", "hi")), modeltest.SayText("one two"))}
	require.Equal(t, []string{"one ", "one two"}, partials(t, text, says("hi", "")))

	list := agent.Config[deps, []string]{Model: modeltest.Script(modeltest.Say(final("1", `{"value": ["a", "b"]}`)))}
	require.Equal(t, [][]string{nil, {"a"}, {"a", "b"}}, partials(t, list))

	native := cityCfg{Model: modeltest.Script(modeltest.SayText("```json\n{\"city\": \"Rome\", \"population\": 1}\n```")), Output: agent.Output{Mode: agent.OutputNative}}
	got := partials(t, native)
	require.Equal(t, city{"Rome", 1}, got[len(got)-1])
	require.Contains(t, got, city{City: "Rome"})

	union := placeConfig()
	union.Model = modeltest.Script(modeltest.Say(model.ToolCall("1", "nation", `{"country": "France"}`)))
	require.Equal(t, []place{country{}, country{"France"}}, partials(t, union))

	retried := cityCfg{Model: modeltest.Script(modeltest.Say(final("1", badParis)), modeltest.Say(final("2", paris)))}
	require.Equal(t, []city{{"Paris", 0}, {"Paris", 2100000}}, partials(t, retried))
}

func TestPartialsOfALongOutputCostInProportionToIt(t *testing.T) {
	const n = 20000
	m := model.Func(model.Info{}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		d := model.Delta{Kind: model.PartToolCall, CallID: "1", Tool: "final_result", Text: `{"value":"`}
		for i := 0; i <= n; i++ {
			if err := sink(d); err != nil {
				return nil, err
			}
			d.Text = "x"
		}
		return model.Response(final("1", `{"value":"`+strings.Repeat("x", n)+`"}`)), nil
	})
	type text struct {
		Value string `json:"value"`
	}
	got := partials(t, agent.Config[deps, text]{Model: m})
	require.Less(t, len(got), 500)
	require.Len(t, got[len(got)-1].Value, n)
}
