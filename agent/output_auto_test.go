// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
	"github.com/ponte-go/ponte/toolset"
)

// unforced is a script whose model cannot be made to call a tool, as Ollama's cannot.
func unforced(steps ...modeltest.Step) (*modeltest.Scripted, model.Model) {
	script := modeltest.Script(steps...)
	info := script.Info()
	info.NoForcedCalls = true
	return script, model.Func(info, script.Generate)
}

func TestAutoOutputIsNativeWhereCallsCannotBeForced(t *testing.T) {
	for name, config := range map[string]cityCfg{
		"type":        {},
		"alternative": {Alternatives: []agent.Alternative[deps, city]{agent.As[deps]("final_result", "", func(c city) city { return c })}},
	} {
		t.Run(name, func(t *testing.T) {
			script, m := unforced(modeltest.SayText(paris))
			config.Model = m
			res, err := newAgent(t, config).Run(context.Background(), deps{}, "go")
			require.NoError(t, err)
			require.Equal(t, "Paris", res.Output.City)
			require.Empty(t, script.Requests()[0].Tools)
			require.Equal(t, "final_result", script.Requests()[0].Output.Name)
		})
	}
}

// The model that answers decides, not the one that the agent was made with.
func TestAutoOutputGoesByTheModelOfTheRun(t *testing.T) {
	tooled := modeltest.Script(modeltest.Say(final("1", paris)))
	a := newAgent(t, cityCfg{Model: tooled})
	var asked *modeltest.Scripted
	ollama := func() (m model.Model) {
		asked, m = unforced(modeltest.SayText(paris))
		return m
	}
	for name, run := range map[string]func() (*agent.Result[city], error){
		"option": func() (*agent.Result[city], error) {
			return a.Run(context.Background(), deps{}, "go", agent.WithModel(ollama()))
		},
		"override": func() (*agent.Result[city], error) {
			return a.Run(a.Override(context.Background(), agent.Overrides[deps]{Model: ollama()}), deps{}, "go")
		},
		"no model of its own": func() (*agent.Result[city], error) {
			return newAgent(t, cityCfg{}).Run(context.Background(), deps{}, "go", agent.WithModel(ollama()))
		},
	} {
		res, err := run()
		require.NoError(t, err, name)
		require.Equal(t, "Paris", res.Output.City, name)
		require.NotNil(t, asked.Requests()[0].Output, name)
	}
	res, err := a.Run(context.Background(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, "Paris", res.Output.City)
	require.Nil(t, tooled.Requests()[0].Output)
	require.Len(t, tooled.Requests()[0].Tools, 1, "what is remembered for one model is not used for another")
}

// A server that ignores tool choices may also ignore tools while it keeps to a schema.
func TestAutoOutputWithToolsBindsTextOnlyAfterText(t *testing.T) {
	steps := []modeltest.Step{modeltest.Say(add("1", 1, 2)), modeltest.SayText("It is Paris."), modeltest.SayText(paris)}
	script, m := unforced(steps...)
	res, err := newAgent(t, cityCfg{Model: m}, addTool()).Run(context.Background(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, "Paris", res.Output.City)
	requests := script.Requests()
	require.Nil(t, requests[0].Output)
	require.Nil(t, requests[1].Output)
	require.NotNil(t, requests[2].Output)
	for _, req := range requests {
		require.Len(t, req.Tools, 2, "the output tool is always there")
	}

	script, m = unforced(modeltest.SayText("Paris."), modeltest.Say(final("1", paris)))
	res, err = newAgent(t, cityCfg{Model: m}, addTool()).Run(context.Background(), deps{}, "go")
	require.NoError(t, err, "the tool still counts when text is bound to the schema")
	require.Equal(t, "Paris", res.Output.City)
	require.NotNil(t, script.Requests()[1].Output)
}

func TestAutoOutputStaysAToolWhereASchemaIsNoHelp(t *testing.T) {
	for name, change := range map[string]func(*cityCfg, *model.Info){
		"no native output": func(_ *cityCfg, info *model.Info) { info.NativeOutput = false },
		"forced calls":     func(_ *cityCfg, info *model.Info) { info.NoForcedCalls = false },
		"chosen mode":      func(c *cityCfg, _ *model.Info) { c.Output.Mode = agent.OutputTool },
		"text beside it": func(c *cityCfg, _ *model.Info) {
			c.Alternatives = []agent.Alternative[deps, city]{
				agent.As[deps]("final_result", "", func(c city) city { return c }),
				agent.Text(func(context.Context, *toolset.RunContext[deps], string) (city, error) { return city{}, nil }),
			}
		},
	} {
		script := modeltest.Script(modeltest.Say(final("1", paris)))
		info := script.Info()
		info.NoForcedCalls = true
		var config cityCfg
		change(&config, &info)
		config.Model = model.Func(info, script.Generate)
		res, err := newAgent(t, config).Run(context.Background(), deps{}, "go")
		require.NoError(t, err, name)
		require.Equal(t, "Paris", res.Output.City, name)
		require.Nil(t, script.Requests()[0].Output, name)
	}
}

func TestAutoOutputHasPartialsInEveryMode(t *testing.T) {
	const paris = `{"city": "Paris", "population": 2100000}` // streamed in four pieces
	tooled := modeltest.Script(modeltest.Say(final("1", paris)))
	_, native := unforced(modeltest.SayText(paris))
	_, either := unforced(modeltest.SayText("Paris."), modeltest.SayText(paris))
	for name, c := range map[string]struct {
		m     model.Model
		tools bool
	}{"tool": {tooled, false}, "native": {native, false}, "either": {either, true}} {
		a := newAgent(t, cityCfg{Model: c.m})
		if c.tools {
			a = newAgent(t, cityCfg{Model: c.m}, addTool())
		}
		stream := a.Stream(context.Background(), deps{}, "go")
		partials := slices.Collect(stream.Partials())
		_, err := stream.Result()
		require.NoError(t, err, name)
		require.Greater(t, len(partials), 1, name)
		require.Equal(t, city{"Paris", 2_100_000}, partials[len(partials)-1], name)
	}
}

func TestAutoOutputOfAFallbackIsWhatAllItsModelsCanDo(t *testing.T) {
	forced := modeltest.Script(modeltest.SayText(paris))
	_, ollama := unforced()
	m := modelwrap.Fallback([]model.Model{forced, ollama}, modelwrap.FallbackPolicy{})
	require.True(t, m.Info().NoForcedCalls)
	res, err := newAgent(t, cityCfg{Model: m}).Run(context.Background(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, "Paris", res.Output.City)
	require.NotNil(t, forced.Requests()[0].Output)
}
