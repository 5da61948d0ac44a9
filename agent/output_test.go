// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

type cityCfg = agent.Config[deps, city]

const (
	paris    = `{"city":"Paris","population":2100000}`
	badParis = `{"city":"Paris","population":0}`
)

func TestStructOutputIsAnOutputTool(t *testing.T) {
	res, _, script := run(t, cityCfg{}, []modeltest.Step{modeltest.Say(final("1", paris))})
	require.Equal(t, city{"Paris", 2100000}, res.Output)
	def := script.Requests()[0].Tools[0]
	require.Equal(t, "final_result", def.Name)
	require.NotEmpty(t, def.Description)
	require.Equal(t, "request\n  tool_return 1 final_result: Final result processed.\n", last(res.Messages), "the history can be continued")
	require.Zero(t, res.Usage.ToolCalls, "output tools never count")
}

func TestOutputToolCanBeNamed(t *testing.T) {
	_, _, script := run(t, cityCfg{Output: agent.Output{Name: "answer", Description: "The city."}}, []modeltest.Step{modeltest.Say(model.ToolCall("1", "answer", paris))})
	require.Equal(t, "answer", script.Requests()[0].Tools[0].Name)
	require.Equal(t, "The city.", script.Requests()[0].Tools[0].Description)
}

func TestOutputToolNameMustNotClashWithATool(t *testing.T) {
	mine := toolset.Named(toolset.Of(says("final_result", "")), "mine")
	_, err := agent.New(cityCfg{Toolsets: []toolset.Toolset[deps]{mine}})
	var clash *toolset.NameClashError
	require.ErrorAs(t, err, &clash)
	require.Equal(t, toolset.NameClashError{Tool: "final_result", First: "the agent's output", Second: "mine"}, *clash)

	later := toolset.PerRun("later", func(context.Context, *toolset.RunContext[deps]) (toolset.Toolset[deps], error) { return mine, nil })
	_, runErr, _ := run(t, cityCfg{Toolsets: []toolset.Toolset[deps]{later}}, nil)
	require.ErrorAs(t, runErr, &clash)
}

func TestInvalidOutputIsARetryThatTheModelCanActOn(t *testing.T) {
	res, _, script := run(t, cityCfg{}, []modeltest.Step{modeltest.Say(final("1", badParis)), modeltest.Say(final("2", paris))})
	require.Equal(t, 2100000, res.Output.Population)
	require.Equal(t, "request\n  retry 1 final_result: population: must be at least 1, got 0\n", last(script.Requests()[1].Messages))
}

func TestOutputBudgetIsOneByDefault(t *testing.T) {
	_, err, _ := run(t, cityCfg{}, []modeltest.Step{modeltest.Say(final("1", badParis)), modeltest.Say(final("2", `{"population":1}`))})
	var budget *agent.BudgetError
	require.ErrorAs(t, err, &budget)
	require.Equal(t, "final_result", budget.Tool)
	require.Equal(t, agent.StageOutput, err.Stage)
	var invalid *toolset.ValidationError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, "city", invalid.Problems[0].Path)

	res, _, _ := run(t, cityCfg{OutputRetries: new(2)}, []modeltest.Step{modeltest.Say(final("1", badParis)), modeltest.Say(final("2", badParis)), modeltest.Say(final("3", paris))})
	require.Equal(t, "Paris", res.Output.City)
}

func TestNonObjectOutputIsWrappedForTheModel(t *testing.T) {
	res, _, script := run(t, agent.Config[deps, []int]{}, []modeltest.Step{modeltest.Say(final("1", `{"value":[1,2]}`))})
	require.Equal(t, []int{1, 2}, res.Output)
	require.Contains(t, string(script.Requests()[0].Tools[0].Schema), `"value"`)
	flag, _, _ := run(t, agent.Config[deps, bool]{}, []modeltest.Step{modeltest.Say(final("1", `{"value":true}`))})
	require.True(t, flag.Output)
}

func TestModelIsToldTheKeyOfAWrappedOutput(t *testing.T) {
	const key = `"description":"Return the result in the field \"value\"."`
	for _, written := range []string{`[1,2]`, `{"numbers":[1,2]}`, `{}`, `"1,2"`} {
		for _, mode := range []agent.OutputMode{agent.OutputTool, agent.OutputPrompted} {
			answer := func(text string) modeltest.Step {
				if mode == agent.OutputTool {
					return modeltest.Say(final("1", text))
				}
				return modeltest.SayText(text)
			}
			config := agent.Config[deps, []int]{Output: agent.Output{Mode: mode}}
			res, _, script := run(t, config, []modeltest.Step{answer(written), answer(`{"value":[1,2]}`)})
			require.Equal(t, []int{1, 2}, res.Output)
			if mode == agent.OutputTool {
				require.Contains(t, string(script.Requests()[0].Tools[0].Schema), key)
			} else {
				require.Contains(t, script.Requests()[0].Instructions, key)
			}
			told := script.Requests()[1].Messages[2].Parts[0]
			require.Equal(t, model.PartRetry, told.Kind)
			require.Contains(t, told.Text, "value", "after %s", written)
		}
	}
	type names struct{ Names []string }
	_, _, script := run(t, agent.Config[deps, names]{}, []modeltest.Step{modeltest.Say(final("1", `{"Names":[]}`))})
	require.NotContains(t, string(script.Requests()[0].Tools[0].Schema), "value", "an object is not wrapped")
}

func TestPresentZeroIsAccepted(t *testing.T) {
	type vote struct {
		Yes   bool `json:"yes" validate:"required"`
		Count int  `json:"count" validate:"required"`
	}
	var got []vote
	cast := toolset.Plain[deps]("cast", "", func(_ context.Context, v vote) (string, error) {
		got = append(got, v)
		return "", nil
	})
	const no = `{"yes":false,"count":0}`
	steps := []modeltest.Step{modeltest.Say(model.ToolCall("1", "cast", no)), modeltest.Say(final("2", `{"value":[`+no+`]}`))}
	res, _, script := run(t, agent.Config[deps, []*vote]{}, steps, cast)
	require.Equal(t, []*vote{{}}, res.Output)
	require.Equal(t, []vote{{}, {}, {}}, got, "of Run, of Stream, and elsewhere")
	require.Len(t, script.Requests(), 2, "nothing had to be corrected")
	require.NotContains(t, string(script.Requests()[0].Tools[0].Schema), "enum")
}

func TestValidatorsCheckInOrderAndMayReplaceTheOutput(t *testing.T) {
	config := cityCfg{Validators: []agent.Validator[deps, city]{
		func(_ context.Context, _ *toolset.RunContext[deps], c city) (city, error) {
			if c.City == "Atlantis" {
				return c, toolset.Retry("%s does not exist", c.City)
			}
			c.City += "!"
			return c, nil
		},
		func(_ context.Context, run *toolset.RunContext[deps], c city) (city, error) {
			c.City += fmt.Sprint(run.Step)
			return c, nil
		},
	}}
	res, _, script := run(t, config, []modeltest.Step{modeltest.Say(final("1", `{"city":"Atlantis","population":1}`)), modeltest.Say(final("2", paris))})
	require.Equal(t, "Paris!2", res.Output.City)
	require.Equal(t, "request\n  retry 1 final_result: Atlantis does not exist\n", last(script.Requests()[1].Messages))
}

func TestValidatorErrorEndsTheRun(t *testing.T) {
	config := cityCfg{Validators: []agent.Validator[deps, city]{func(context.Context, *toolset.RunContext[deps], city) (city, error) { return city{}, errBoom }}}
	_, err, _ := run(t, config, []modeltest.Step{modeltest.Say(final("1", paris))})
	require.ErrorIs(t, err, errBoom)
	require.EqualError(t, err, `agent: output "final_result" (call 1): output validator: boom`)
}

func TestValidatorsCheckTextAsWell(t *testing.T) {
	config := cfg{Validators: []agent.Validator[deps, string]{func(_ context.Context, _ *toolset.RunContext[deps], s string) (string, error) {
		if s == "bad" {
			return s, toolset.Retry("be good")
		}
		return s + "!", nil
	}}}
	res, _, script := run(t, config, []modeltest.Step{modeltest.SayText("bad"), modeltest.SayText("good")})
	require.Equal(t, "good!", res.Output)
	require.Equal(t, "request\n  retry: be good\n", last(script.Requests()[1].Messages))
	_, err, _ := run(t, config, []modeltest.Step{modeltest.SayText("bad"), modeltest.SayText("bad")})
	var budget *agent.BudgetError
	require.ErrorAs(t, err, &budget)
	require.Empty(t, budget.Tool)
}

func TestTextWhereAnOutputToolWasExpectedIsARetry(t *testing.T) {
	res, _, script := run(t, cityCfg{}, []modeltest.Step{modeltest.SayText("Paris"), modeltest.Say(final("1", paris))})
	require.Equal(t, "Paris", res.Output.City)
	require.Equal(t, "request\n  retry: Plain text responses are not accepted. Call the tool final_result to respond.\n", last(script.Requests()[1].Messages))
}

func TestEmptyAnswersAreARetry(t *testing.T) {
	for name, parts := range map[string][]model.Part{
		"no parts": nil, "empty": {model.Text("")}, "blank": {model.Text(" \n\t")}, "thinking only": {model.Thinking("hm")},
	} {
		res, _, script := run(t, cfg{}, []modeltest.Step{modeltest.Say(parts...), modeltest.SayText("ok")})
		require.Equal(t, "ok", res.Output, name)
		require.Equal(t, "request\n  retry: Your answer was empty. Answer with text.\n", last(script.Requests()[1].Messages), name)
	}
	_, err, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(), modeltest.Say()}, addTool())
	var budget *agent.BudgetError
	require.ErrorAs(t, err, &budget)
	require.Equal(t, "request\n  retry: Your answer was empty. Answer with text, or call a tool.\n", last(err.Messages))
}

func TestFinishReasonWithNothingUsableIsATypedError(t *testing.T) {
	for _, c := range []struct {
		reason model.FinishReason
		parts  []model.Part
		want   error
	}{
		{model.FinishLength, nil, agent.ErrTokenLimit},
		{model.FinishLength, []model.Part{model.Thinking("so much")}, agent.ErrTokenLimit},
		{model.FinishContentFilter, []model.Part{model.Text("")}, agent.ErrContentFilter},
		{model.FinishLength, []model.Part{model.ToolCall("1", "add", `{"x":1,"y`)}, agent.ErrIncompleteToolCall},
	} {
		_, err, _ := run(t, cfg{}, []modeltest.Step{modeltest.Finish(c.reason, c.parts...)}, addTool())
		require.ErrorIs(t, err, c.want)
	}
	_, err, _ := run(t, cityCfg{}, []modeltest.Step{modeltest.Finish(model.FinishLength, model.Text("The city"))})
	require.ErrorIs(t, err, agent.ErrTokenLimit, "text is not usable where a struct is wanted")
}

func TestCutOffTextIsStillAnAnswer(t *testing.T) {
	res, _, _ := run(t, cfg{}, []modeltest.Step{modeltest.Finish(model.FinishLength, model.Text("once upon"))})
	require.Equal(t, "once upon", res.Output)
}

func TestCompleteCallRunsThoughTheLimitWasReached(t *testing.T) {
	res, _, _ := run(t, cfg{}, []modeltest.Step{modeltest.Finish(model.FinishLength, add("1", 1, 2)), modeltest.SayText("3")}, addTool())
	require.Equal(t, 1, res.Usage.ToolCalls)
}

func TestIncompleteCallLeavesAHistoryThatCanBeContinued(t *testing.T) {
	_, err, _ := run(t, cfg{}, []modeltest.Step{modeltest.Finish(model.FinishLength, model.ToolCall("1", "add", `{"x":1,"y`))}, addTool())
	res, _, script := runWith(t, cfg{}, []modeltest.Step{modeltest.SayText("ok")}, "go on", []agent.RunOption{agent.WithHistory(err.Messages)}, addTool())
	require.Equal(t, "ok", res.Output)
	require.Contains(t, dump(script.Requests()[0].Messages), "tool_return 1 add interrupted")
}

func TestToolCallsBeatText(t *testing.T) {
	res, _, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(model.Text("let me see"), add("1", 1, 2)), modeltest.SayText("3")}, addTool())
	require.Equal(t, "3", res.Output)
}

func TestTextOfSeveralPartsIsJoined(t *testing.T) {
	res, _, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(model.Text("a"), model.Thinking("x"), model.Text("b"))})
	require.Equal(t, "ab", res.Output)
}

func TestNativeOutputBindsTheResponse(t *testing.T) {
	res, _, script := run(t, cityCfg{Output: agent.Output{Mode: agent.OutputNative, Name: "city"}}, []modeltest.Step{
		modeltest.SayText(badParis), modeltest.SayText("```json\n" + paris + "\n```"),
	})
	require.Equal(t, "Paris", res.Output.City, "markdown fences are tolerated")
	req := script.Requests()[0]
	require.Empty(t, req.Tools)
	require.Equal(t, "city", req.Output.Name)
	require.Equal(t, "request\n  retry: population: must be at least 1, got 0\n", last(script.Requests()[1].Messages))
}

func TestNativeOutputNeedsAModelThatHasIt(t *testing.T) {
	m := model.Func(model.Info{Name: "plain"}, nil)
	_, err := agent.New(cityCfg{Model: m, Output: agent.Output{Mode: agent.OutputNative}})
	require.ErrorIs(t, err, model.ErrUnsupported)
}

func TestPromptedOutputPutsTheSchemaIntoTheInstructions(t *testing.T) {
	res, _, script := run(t, cityCfg{Instructions: "Name a city.", Output: agent.Output{Mode: agent.OutputPrompted}}, []modeltest.Step{modeltest.SayText(paris)})
	require.Equal(t, "Paris", res.Output.City)
	require.Contains(t, script.Requests()[0].Instructions, "Name a city.\n\nRespond only with JSON that matches")
	require.Contains(t, script.Requests()[0].Instructions, `"population"`)
	require.Nil(t, script.Requests()[0].Output)
}

type mood string

func TestNamedStringTypeIsText(t *testing.T) {
	res, _, script := run(t, agent.Config[deps, mood]{}, []modeltest.Step{modeltest.SayText("happy")})
	require.Equal(t, mood("happy"), res.Output)
	require.Empty(t, script.Requests()[0].Tools)
}

func TestEndStrategies(t *testing.T) {
	const ok, bad = paris, badParis
	type want struct {
		ran     string // the function tools that ran
		output  bool   // that the run ended in this step
		answers string
	}
	for _, c := range []struct {
		name  string
		calls []model.Part
		want  map[agent.EndStrategy]want
	}{
		{"function before and after a valid output", []model.Part{call("a", "hi"), final("o", ok), call("b", "hi")}, map[agent.EndStrategy]want{
			agent.EndGraceful:   {"a", true, "return a, return o, skipped b"},
			agent.EndEarly:      {"", true, "skipped a, return o, skipped b"},
			agent.EndExhaustive: {"a b", true, "return a, return o, return b"},
		}},
		{"invalid output", []model.Part{call("a", "hi"), final("o", bad), call("b", "hi")}, map[agent.EndStrategy]want{
			agent.EndGraceful:   {"a b", false, "return a, retry o, return b"},
			agent.EndEarly:      {"a b", false, "return a, retry o, return b"},
			agent.EndExhaustive: {"a b", false, "return a, retry o, return b"},
		}},
		{"second output is valid", []model.Part{final("o", bad), call("a", "hi"), final("p", ok), final("q", ok)}, map[agent.EndStrategy]want{
			agent.EndGraceful:   {"a", true, "retry o, return a, return p, skipped q"},
			agent.EndEarly:      {"", true, "skipped o, skipped a, return p, skipped q"},
			agent.EndExhaustive: {"a", true, "retry o, return a, return p, skipped q"},
		}},
		{"function asks for a retry before the output", []model.Part{call("a", "again"), final("o", ok), call("b", "hi")}, map[agent.EndStrategy]want{
			agent.EndGraceful:   {"a b", false, "retry a, skipped o, return b"},
			agent.EndEarly:      {"", true, "skipped a, return o, skipped b"},
			agent.EndExhaustive: {"a b", false, "retry a, skipped o, return b"},
		}},
		{"function with invalid arguments before the output", []model.Part{add("a", 1, 200), final("o", ok)}, map[agent.EndStrategy]want{
			agent.EndGraceful:   {"", false, "retry a, skipped o"},
			agent.EndEarly:      {"", true, "skipped a, return o"},
			agent.EndExhaustive: {"", false, "retry a, skipped o"},
		}},
		{"function asks for a retry behind the output", []model.Part{final("o", ok), call("a", "again")}, map[agent.EndStrategy]want{
			agent.EndGraceful:   {"", true, "return o, skipped a"},
			agent.EndEarly:      {"", true, "return o, skipped a"},
			agent.EndExhaustive: {"a", false, "skipped o, retry a"},
		}},
		{"unknown tool does not suppress", []model.Part{call("a", "what"), final("o", ok)}, map[agent.EndStrategy]want{
			agent.EndGraceful:   {"", true, "retry a, return o"},
			agent.EndEarly:      {"", true, "skipped a, return o"},
			agent.EndExhaustive: {"", true, "retry a, return o"},
		}},
	} {
		for strategy, want := range c.want {
			t.Run(fmt.Sprintf("%s/%s", c.name, strategy), func(t *testing.T) {
				ran := ""
				note := func(name string, err error) *toolset.Tool[deps] {
					return tool(name, func(_ context.Context, run *toolset.RunContext[deps]) (string, error) {
						if ran != "" {
							ran += " "
						}
						ran += run.Call.ID
						return "", err
					}, toolset.Sequential())
				}
				script := modeltest.Script(modeltest.Say(c.calls...), modeltest.Fail(errBoom))
				a := newAgent(t, cityCfg{Model: script, EndStrategy: strategy}, note("hi", nil), note("again", toolset.Retry("once more")), addTool())
				res, err := a.Run(context.Background(), deps{}, "go")
				require.Equal(t, want.ran, ran)
				var answer *model.Message
				if want.output {
					require.NoError(t, err)
					require.Equal(t, city{"Paris", 2100000}, res.Output)
					answer = res.Messages[2]
				} else {
					require.ErrorIs(t, err, errBoom)
					answer = asRunError(t, err).Messages[2]
				}
				got := ""
				for i, p := range answer.Parts {
					if i > 0 {
						got += ", "
					}
					switch {
					case p.Kind == model.PartRetry:
						got += "retry "
					case p.Outcome == model.OutcomeSkipped:
						got += "skipped "
					default:
						got += "return "
					}
					got += p.CallID
				}
				require.Equal(t, want.answers, got)
			})
		}
	}
}

func TestHistoryAfterAnOutputToolCanBeContinued(t *testing.T) {
	res, _, _ := run(t, cityCfg{}, []modeltest.Step{modeltest.Say(call("a", "hi"), final("o", paris), call("b", "hi"))}, says("hi", "hi"))
	res, _, _ = runWith(t, cityCfg{}, []modeltest.Step{modeltest.Say(final("p", `{"city":"Rome","population":1}`))}, "another", []agent.RunOption{agent.WithHistory(res.Messages)}, says("hi", "hi"))
	require.Equal(t, "Rome", res.Output.City)
	require.Len(t, res.NewMessages(), 3)
}

func TestRetryNamesEveryOutputTool(t *testing.T) {
	output := func(name string) agent.Alternative[deps, string] {
		return agent.OutputFunc(name, "", func(context.Context, *toolset.RunContext[deps], none) (string, error) { return name, nil })
	}
	c := cfg{Alternatives: []agent.Alternative[deps, string]{output("yes"), output("no")}}
	res, _, script := run(t, c, []modeltest.Step{modeltest.SayText("well"), modeltest.Say(call("1", "no"))}, says("hi", "hello"))
	require.Equal(t, "no", res.Output)
	require.Equal(t, "request\n  retry: Plain text responses are not accepted. Call one of these tools to respond: yes, no.\n", last(script.Requests()[1].Messages))
}
