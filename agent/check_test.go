// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

func TestAgentKeepsNothingOfTheCallers(t *testing.T) {
	var trace []string
	note := func(text string) { trace = append(trace, text) }
	instruction := func(text string) agent.InstructionFunc[deps] {
		return func(context.Context, *toolset.RunContext[deps]) (string, error) {
			note("dynamic " + text)
			return text, nil
		}
	}
	processor := func(text string) agent.HistoryProcessor[deps] {
		return func(_ context.Context, _ *toolset.RunContext[deps], m []*model.Message) ([]*model.Message, error) {
			note("history " + text)
			return m, nil
		}
	}
	validator := func(text string) agent.Validator[deps, string] {
		return func(_ context.Context, _ *toolset.RunContext[deps], out string) (string, error) {
			note("validator " + text)
			return out, nil
		}
	}
	hooks := func(text string) agent.Hooks[deps] {
		return agent.Hooks[deps]{Run: func(ctx context.Context, _ *toolset.RunContext[deps], next agent.RunFunc) error {
			note("hook " + text)
			_, err := next(ctx)
			return err
		}}
	}
	text := func(prefix string) agent.Alternative[deps, string] {
		return agent.Text(func(_ context.Context, _ *toolset.RunContext[deps], text string) (string, error) {
			return prefix + text, nil
		})
	}
	script := modeltest.Script(modeltest.SayText("hi"))
	settings := &model.Settings{
		Temperature: new(0.5), Stop: []string{"stop"}, ExtraHeaders: map[string]string{"A": "1"},
		ExtraBody: map[string]json.RawMessage{"k": json.RawMessage(`1`)},
	}
	config := cfg{
		Model: script, Settings: settings,
		Toolsets:     []toolset.Toolset[deps]{toolset.Of(says("mine", ""))},
		Dynamic:      []agent.InstructionFunc[deps]{instruction("mine")},
		History:      []agent.HistoryProcessor[deps]{processor("mine")},
		Validators:   []agent.Validator[deps, string]{validator("mine")},
		Alternatives: []agent.Alternative[deps, string]{text("mine ")},
		Hooks:        []agent.Hooks[deps]{hooks("mine")},
		Observer:     &agent.Observer{End: func(agent.Event) { note("observer mine") }},
		ToolRetries:  new(2), OutputRetries: new(2),
	}
	a, err := agent.New(config)
	require.NoError(t, err)

	config.Toolsets[0] = toolset.Of(says("theirs", ""))
	config.Dynamic[0] = instruction("theirs")
	config.History[0] = processor("theirs")
	config.Validators[0] = validator("theirs")
	config.Alternatives[0] = text("theirs ")
	config.Hooks[0] = hooks("theirs")
	config.Observer.End = func(agent.Event) { note("observer theirs") }
	*config.ToolRetries, *config.OutputRetries = -1, -1
	*settings.Temperature, settings.Stop[0], settings.ExtraHeaders["A"] = 2, "go", "2"
	settings.ExtraBody["k"][0] = '2'
	settings.MaxTokens = 7

	res, err := a.Run(context.Background(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, "mine hi", res.Output)
	require.Equal(t, []string{"hook mine", "history mine", "dynamic mine", "validator mine", "observer mine"}, trace)
	req := script.Requests()[0]
	require.Equal(t, "mine", req.Tools[0].Name)
	require.Equal(t, &model.Settings{
		Temperature: new(0.5), Stop: []string{"stop"}, ExtraHeaders: map[string]string{"A": "1"},
		ExtraBody: map[string]json.RawMessage{"k": json.RawMessage(`1`)},
	}, req.Settings)
}

func TestRunOptionsKeepNothingOfTheCallers(t *testing.T) {
	script := modeltest.Script(modeltest.Say(call("1", "hi")), modeltest.SayText("ok"))
	settings, metadata := model.Settings{Stop: []string{"stop"}}, map[string]string{"user": "ada"}
	parts := []model.Part{model.User("second")}
	change := tool("hi", func(context.Context, *toolset.RunContext[deps]) (string, error) {
		settings.Stop[0], metadata["user"], parts[0].Text = "go", "eve", "changed"
		return "", nil
	})
	res, err := newAgent(t, cfg{Model: script}, change).Run(context.Background(), deps{}, "first",
		agent.WithSettings(settings), agent.WithMetadata(metadata), agent.WithParts(parts...))
	require.NoError(t, err)
	require.Equal(t, []string{"stop"}, script.Requests()[1].Settings.Stop)
	require.Equal(t, "ada", res.Messages[2].Metadata["user"])
	require.Equal(t, "second", res.Messages[0].Parts[1].Text)
}

func TestNewRefusesNegativeNumbers(t *testing.T) {
	timeout, retries := addTool(toolset.Timeout(-time.Second)), addTool(toolset.Retries(-1))
	set := func(s toolset.Toolset[deps]) cfg { return cfg{Toolsets: []toolset.Toolset[deps]{s}} }
	dynamic := toolset.PerRun("later", func(context.Context, *toolset.RunContext[deps]) (toolset.Toolset[deps], error) { return nil, nil })
	for want, config := range map[string]cfg{
		`tool "add": timeout -1s must not be negative`:                         set(toolset.Of(timeout)),
		`tool "add": retries -1 must not be negative`:                          set(toolset.Prefixed(toolset.Of(retries), "")),
		`toolset later: Defaults: timeout -1s must not be negative`:            set(toolset.Defaults(dynamic, toolset.Timeout(-time.Second))),
		`toolset later: Defaults: retries -1 must not be negative`:             set(toolset.Defaults(dynamic, toolset.Retries(-1))),
		`Limits: ToolCalls is -3, must be positive, 0 (not set), Unlimited or`: {Limits: agent.Limits{ToolCalls: -3}},
		`Limits: Requests is -5, must be positive, 0 (not set) or Unlimited`:   {Limits: agent.Limits{Requests: -5}},
		`Limits: InputTokens is -2, must be positive`:                          {Limits: agent.Limits{InputTokens: -2}},
		`Limits: OutputTokens is -3, must be positive`:                         {Limits: agent.Limits{OutputTokens: -3}},
		`Limits: TotalTokens is -4, must be positive`:                          {Limits: agent.Limits{TotalTokens: -4}},
		`Limits: Cost is -0.5, must be positive`:                               {Limits: agent.Limits{Cost: -0.5}},
		`OutputRetries is -1, must not be negative`:                            {OutputRetries: new(-1)},
		`ToolRetries is -2, must not be negative`:                              {ToolRetries: new(-2)},
		`ToolTimeout is -3, must not be negative`:                              {ToolTimeout: -3},
		`MaxParallelCalls is -4, must not be negative`:                         {MaxParallelCalls: -4},
	} {
		_, err := agent.New(config)
		require.ErrorContains(t, err, want)
	}
	_, err := agent.New(cfg{Limits: agent.Limits{
		Requests: agent.Unlimited, ToolCalls: agent.Unlimited, InputTokens: agent.Unlimited, OutputTokens: agent.Unlimited,
		TotalTokens: agent.Unlimited, Cost: agent.Unlimited,
	}})
	require.NoError(t, err, "no limit")

	later := toolset.PerRun("later", func(context.Context, *toolset.RunContext[deps]) (toolset.Toolset[deps], error) {
		return toolset.Of(retries), nil
	})
	_, runErr, _ := run(t, set(later), nil)
	require.ErrorContains(t, runErr, `tool "add": retries -1`, "found when the toolset is opened")
}

func TestRunOptionsRefuseNegativeNumbers(t *testing.T) {
	for want, opt := range map[string]agent.RunOption{
		`agent: prepare: WithToolRetries: the number is -1, must not be negative`: agent.WithToolRetries(-1),
		`agent: prepare: Limits: ToolCalls is -3, must be positive`:               agent.WithLimits(agent.Limits{ToolCalls: -3}),
		`agent: prepare: ToolChoice: unknown mode "perhaps"`:                      agent.WithToolChoice(model.ToolChoice{Mode: "perhaps"}),
	} {
		_, err, script := runWith(t, cfg{}, nil, "go", []agent.RunOption{opt})
		require.ErrorContains(t, err, want)
		require.Empty(t, script.Requests())
	}
}

func TestSchemasOfToolsMustBeOfAnObject(t *testing.T) {
	raw := func(_ context.Context, _ *toolset.RunContext[deps], _ json.RawMessage) (toolset.Result, error) {
		return toolset.Result{}, nil
	}
	byHand := func(_ context.Context, _ *toolset.RunContext[deps], _ any) (toolset.Result, error) {
		return toolset.Result{}, nil
	}
	for schema, want := range map[string]string{
		``:                                  `tool "t": schema is missing; set the JSON schema of an object, at least {"type":"object"}`,
		`{`:                                 `tool "t": schema is not valid JSON: unexpected end of JSON input`,
		`true`:                              `tool "t": schema must be a JSON object, not a boolean`,
		`null`:                              `tool "t": schema must be a JSON object, not null`,
		`[{"type":"object"}]`:               `tool "t": schema must be a JSON object, not an array`,
		`"object"`:                          `tool "t": schema must be a JSON object, not a string`,
		`1`:                                 `tool "t": schema must be a JSON object, not a number`,
		`{}`:                                `tool "t": schema has no type, must have "type": "object"`,
		`{"type":"string"}`:                 `tool "t": schema must have "type": "object", not string`,
		`{"type":["object","null"]}`:        `tool "t": schema must have "type": "object", not [object null]`,
		`{"type":"object","properties":[]}`: `tool "t": schema: properties must be a JSON object, not an array`,
	} {
		def := model.ToolDef{Name: "t", Schema: json.RawMessage(schema)}
		for _, set := range []toolset.Toolset[deps]{
			toolset.Of(toolset.Raw("t", "", def.Schema, raw)),
			toolset.Of(&toolset.Tool[deps]{Def: def, Call: byHand}),
			toolset.External[deps](def),
		} {
			_, err := agent.New(cfg{Toolsets: []toolset.Toolset[deps]{set}})
			require.ErrorContains(t, err, want)
		}
	}
	for _, schema := range []string{`{"type":"object"}`, ` {"type":"object","properties":{"a":{}},"$defs":{}} `} {
		_, err := agent.New(cfg{Toolsets: []toolset.Toolset[deps]{toolset.Of(toolset.Raw("t", "", json.RawMessage(schema), raw))}})
		require.NoError(t, err)
	}
}

func TestRawKeepsNothingOfTheCallersSchema(t *testing.T) {
	schema := json.RawMessage(`{"type":"object"}`)
	raw := toolset.Raw("t", "", schema, func(context.Context, *toolset.RunContext[deps], json.RawMessage) (toolset.Result, error) {
		return toolset.Result{}, nil
	})
	external := toolset.External[deps](model.ToolDef{Name: "e", Schema: schema})
	_, _, script := func() (any, any, *modeltest.Scripted) {
		script := modeltest.Script(modeltest.SayText("ok"))
		a := newAgent(t, cfg{Model: script, Toolsets: []toolset.Toolset[deps]{external}}, raw)
		copy(schema, `{"type":"xxxxxx"}`)
		res, err := a.Run(context.Background(), deps{}, "go")
		require.NoError(t, err)
		return res, err, script
	}()
	for _, def := range script.Requests()[0].Tools {
		require.Equal(t, `{"type":"object"}`, string(def.Schema))
	}
}

func TestPreparedKeepsNothingOfTheFunctionsSchema(t *testing.T) {
	memory := []byte(`{"type":"object","title":"1"}`)
	step := byte('0')
	set := toolset.Prepared(toolset.Of(says("hi", "hi")), func(_ context.Context, _ *toolset.RunContext[deps], def model.ToolDef) (*model.ToolDef, error) {
		step++
		memory[len(memory)-3] = step
		def.Schema = memory
		return &def, nil
	})
	_, _, script := run(t, cfg{Toolsets: []toolset.Toolset[deps]{set}}, []modeltest.Step{modeltest.Say(call("1", "hi")), modeltest.SayText("ok")})
	require.Equal(t, `{"type":"object","title":"1"}`, string(script.Requests()[0].Tools[0].Schema))
	require.Equal(t, `{"type":"object","title":"2"}`, string(script.Requests()[1].Tools[0].Schema))
}

// Providers refuse such names, in the first request.
func TestNewRefusesNamesThatOutputsCannotHave(t *testing.T) {
	for want, config := range map[string]agent.Config[deps, city]{
		`output: tool name "a b": invalid character " "`:  {Output: agent.Output{Name: "a b"}},
		`output: tool name "a.b": invalid character "."`:  {Output: agent.Output{Name: "a.b", Mode: agent.OutputNative}},
		`output: tool name "größe": invalid character`:    {Output: agent.Output{Name: "größe", Mode: agent.OutputPrompted}},
		`output: tool name "ccccc`:                        {Output: agent.Output{Name: strings.Repeat("c", 65)}},
		`output: tool name "d\ne": invalid character "\n`: {Alternatives: []agent.Alternative[deps, city]{agent.As[deps]("d\ne", "", func(c city) city { return c })}},
	} {
		config.Model = modeltest.Script()
		_, err := agent.New(config)
		require.ErrorContains(t, err, want)
	}
}
