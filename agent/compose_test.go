package agent_test

import (
	"context"
	"errors"
	"fmt"
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
	two := placeConfig()
	for name, c := range map[string]struct {
		config agent.Config[deps, place]
		want   string
	}{
		"same name":     {agent.Config[deps, place]{Alternatives: append(two.Alternatives, two.Alternatives[0])}, `two alternatives are called "city"`},
		"text twice":    {agent.Config[deps, place]{Alternatives: []agent.Alternative[deps, place]{text, text}}, "text is given twice"},
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

func TestMessageSentIntoARunIsReadWithTheNextRequest(t *testing.T) {
	var inbox agent.Inbox
	steer := tool("steer", func(context.Context, *toolset.RunContext[deps]) (string, error) {
		inbox.SendAtEnd(model.User("and then?"))
		inbox.Send(model.User("hurry"), model.Media("image/png", []byte{1}))
		inbox.Send(model.User("please"))
		return "ok", nil
	})
	script := modeltest.Script(modeltest.Say(call("1", "steer")), modeltest.SayText("first answer"), modeltest.SayText("second answer"))
	s := newAgent(t, cfg{Model: script}, steer).Stream(context.Background(), deps{}, "go", agent.WithInbox(&inbox))
	var events []string
	outputs := 0
	for e := range s.Events() {
		switch e.Kind {
		case agent.EventMessage:
			events = append(events, e.Message.Parts[0].Text)
		case agent.EventOutput:
			outputs++
		}
	}
	res, err := s.Result()
	require.NoError(t, err)
	require.Equal(t, "second answer", res.Output)
	require.Equal(t, []string{"hurry", "please", "and then?"}, events)
	require.Equal(t, 1, outputs)
	require.Equal(t, "request\n  tool_return 1 steer: ok\nrequest\n  user: hurry\n  media: \nrequest\n  user: please\nresponse\n  text: first answer\nrequest\n  user: and then?\nresponse\n  text: second answer\n",
		dump(res.Messages[2:]))
	inbox.Send(model.User("too late"))
	require.Len(t, inbox.Left(), 1)
	require.Empty(t, inbox.Left())
}

func TestOutputToolIsFollowedByWhatCameIn(t *testing.T) {
	var inbox agent.Inbox
	inbox.SendAtEnd(model.User("smaller"))
	res, err := newAgent(t, cityCfg{Model: modeltest.Script(modeltest.Say(final("1", paris)), modeltest.Say(final("2", `{"city":"Nice","population":1}`)))}).
		Run(context.Background(), deps{}, "go", agent.WithInbox(&inbox))
	require.NoError(t, err)
	require.Equal(t, "Nice", res.Output.City)
	requireAnswered(t, res.Messages)
}

func TestHistoryProcessorsReplaceTheHistory(t *testing.T) {
	redact := func(_ context.Context, _ *toolset.RunContext[deps], messages []*model.Message) ([]*model.Message, error) {
		out := make([]*model.Message, len(messages))
		for i, m := range messages {
			out[i] = m.Clone()
			for j := range out[i].Parts {
				out[i].Parts[j].Text = strings.ReplaceAll(out[i].Parts[j].Text, "secret", "***")
			}
		}
		return out, nil
	}
	keepLast := func(_ context.Context, run *toolset.RunContext[deps], messages []*model.Message) ([]*model.Message, error) {
		if len(messages) != len(run.Messages) {
			return nil, errors.New("the run context has another history")
		}
		return messages[max(0, len(messages)-3):], nil
	}
	history := []*model.Message{model.UserText("old"), model.Response(model.Text("old")), model.UserText("older secret"), model.Response(model.Text("yes"))}
	config := cfg{Instructions: "Do.", History: []agent.HistoryProcessor[deps]{redact, keepLast}}
	res, _, script := runWith(t, config, []modeltest.Step{modeltest.Say(call("1", "hi")), modeltest.SayText("done")}, "a secret", []agent.RunOption{agent.WithHistory(history)}, says("hi", "the secret"))
	require.Equal(t, "request\n  user: older ***\nresponse\n  text: yes\nrequest [Do.]\n  user: a ***\n", dump(script.Requests()[0].Messages))
	require.Equal(t, "request [Do.]\n  user: a ***\nresponse\n  tool_call 1 hi {}\nrequest [Do.]\n  tool_return 1 hi: the ***\n", dump(script.Requests()[1].Messages))
	require.Equal(t, dump(res.Messages), dump(res.NewMessages()), "what was dropped is gone, what is new is told by its run")
	require.Equal(t, "older secret", history[2].Parts[0].Text, "messages are never changed")
}

func TestHistoryProcessorMustLeaveAHistoryThatEndsInARequest(t *testing.T) {
	for want, process := range map[string]agent.HistoryProcessor[deps]{
		"left no message": func(context.Context, *toolset.RunContext[deps], []*model.Message) ([]*model.Message, error) {
			return nil, nil
		},
		"does not end in a request": func(_ context.Context, _ *toolset.RunContext[deps], m []*model.Message) ([]*model.Message, error) {
			return append(m, model.Response()), nil
		},
		"history processor 0: boom": func(context.Context, *toolset.RunContext[deps], []*model.Message) ([]*model.Message, error) {
			return nil, errBoom
		},
		"panic: ouch": func(context.Context, *toolset.RunContext[deps], []*model.Message) ([]*model.Message, error) {
			panic("ouch")
		},
	} {
		_, err, script := run(t, cfg{History: []agent.HistoryProcessor[deps]{process}}, nil)
		require.ErrorContains(t, err, want)
		require.Empty(t, script.Requests())
		require.Equal(t, "request\n  user: go\n", dump(err.Messages), "nothing is lost")
	}
}

func TestHooksWrapRunRequestAndCallOutermostFirst(t *testing.T) {
	var log []string
	hooks := func(name string) agent.Hooks[deps] {
		return agent.Hooks[deps]{
			Run: func(ctx context.Context, run *toolset.RunContext[deps], next func(context.Context) (*agent.Summary, error)) error {
				log = append(log, name+" run")
				s, err := next(ctx)
				log = append(log, fmt.Sprintf("%s run ends with %v after %d requests, %v", name, s.Output, s.Usage.Requests, err))
				return err
			},
			Request: func(ctx context.Context, run *toolset.RunContext[deps], req *model.Request, next func(context.Context, *model.Request) (*model.Message, error)) (*model.Message, error) {
				log = append(log, fmt.Sprintf("%s request %d", name, run.Step))
				changed := *req
				changed.Instructions += name
				return next(ctx, &changed)
			},
			Call: func(ctx context.Context, run *toolset.RunContext[deps], args model.RawArgs, next func(context.Context) (toolset.Result, error)) (toolset.Result, error) {
				log = append(log, fmt.Sprintf("%s call %s %s", name, run.Call.Tool, args))
				res, err := next(ctx)
				res.Text += name
				return res, err
			},
		}
	}
	script := modeltest.Script(modeltest.Say(add("1", 1, 2)), modeltest.SayText("ok"))
	res, err := newAgent(t, cfg{Model: script, Hooks: []agent.Hooks[deps]{hooks("A"), {}, hooks("B")}}, addTool()).Run(context.Background(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, "ok", res.Output)
	require.Equal(t, []string{
		"A run", "B run", "A request 1", "B request 1", `A call add {"x":1,"y":2}`, `B call add {"x":1,"y":2}`, "A request 2", "B request 2",
		"B run ends with ok after 2 requests, <nil>", "A run ends with ok after 2 requests, <nil>",
	}, log)
	require.Equal(t, "AB", script.Requests()[0].Instructions)
	require.Equal(t, "request\n  tool_return 1 add: 3BA\n", dump(script.Requests()[1].Messages[2:]))
}

func TestRunHookCannotTurnFailureIntoSuccess(t *testing.T) {
	swallow := agent.Hooks[deps]{Run: func(ctx context.Context, _ *toolset.RunContext[deps], next func(context.Context) (*agent.Summary, error)) error {
		_, _ = next(ctx)
		return nil
	}}
	_, err, _ := run(t, cfg{Hooks: []agent.Hooks[deps]{swallow}}, []modeltest.Step{modeltest.Fail(errBoom)})
	require.ErrorIs(t, err, errBoom)

	replace := agent.Hooks[deps]{Run: func(ctx context.Context, _ *toolset.RunContext[deps], next func(context.Context) (*agent.Summary, error)) error {
		_, _ = next(ctx)
		return errors.New("audit failed")
	}}
	_, err, _ = run(t, cfg{Hooks: []agent.Hooks[deps]{replace}}, []modeltest.Step{modeltest.SayText("ok")})
	require.ErrorContains(t, err, "audit failed")
	require.Equal(t, "request\n  user: go\nresponse\n  text: ok\n", dump(err.Messages), "nothing is lost")

	refuse := agent.Hooks[deps]{Run: func(context.Context, *toolset.RunContext[deps], func(context.Context) (*agent.Summary, error)) error {
		return errBoom
	}}
	_, err, script := run(t, cfg{Hooks: []agent.Hooks[deps]{refuse}}, nil)
	require.ErrorIs(t, err, errBoom)
	require.Empty(t, script.Requests())

	panicking := agent.Hooks[deps]{Run: func(context.Context, *toolset.RunContext[deps], func(context.Context) (*agent.Summary, error)) error {
		panic("ouch")
	}}
	_, err, _ = run(t, cfg{Hooks: []agent.Hooks[deps]{panicking}}, nil)
	var p *agent.PanicError
	require.ErrorAs(t, err, &p)
}

func TestRunHookThatNeverCallsNextIsAnError(t *testing.T) {
	lazy := agent.Hooks[deps]{Run: func(context.Context, *toolset.RunContext[deps], func(context.Context) (*agent.Summary, error)) error {
		return nil
	}}
	_, err := newAgent(t, cfg{Model: modeltest.Script(), Hooks: []agent.Hooks[deps]{lazy}}).Run(context.Background(), deps{}, "go")
	require.ErrorContains(t, err, "a Run hook did not run the agent")
}

func TestObserverIsToldWithoutAStream(t *testing.T) {
	var log []string
	note := func(e agent.Event) { log = append(log, e.Kind.String()) }
	o := &agent.Observer{Request: note, Response: note, ToolCall: note, ToolResult: note, Retry: note, End: note}
	streamed := false
	m := modeltest.Script(modeltest.Say(add("1", 1, 200)), modeltest.SayText("ok"))
	_, err := newAgent(t, cfg{Observer: o, Model: model.Func(model.Info{}, func(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
		streamed = streamed || sink != nil
		return m.Generate(ctx, req, sink)
	})}, addTool()).Run(context.Background(), deps{}, "go")
	require.NoError(t, err)
	require.False(t, streamed)
	require.Equal(t, []string{"request start", "response", "tool call", "tool result", "retry", "request start", "response", "run end"}, log)
	_, err = newAgent(t, cfg{Observer: &agent.Observer{}, Model: modeltest.Script(modeltest.SayText("ok"))}).Run(context.Background(), deps{}, "go")
	require.NoError(t, err)
}

func TestPolicyTurnsToolErrorsIntoOutcomes(t *testing.T) {
	policy := func(as func(string, ...any) error) cfg {
		return cfg{ToolError: func(_ context.Context, run *toolset.RunContext[deps], err error) error {
			return as("%s: %v", run.Call.Tool, err)
		}}
	}
	for want, as := range map[string]func(string, ...any) error{
		"tool_return 1 t failed: t: boom": toolset.Failed, "tool_return 1 t denied: t: boom": toolset.Denied, "retry 1 t: t: boom": toolset.Retry,
	} {
		_, _, script := run(t, policy(as), []modeltest.Step{modeltest.Say(call("1", "t")), modeltest.SayText("ok")}, fails("t", errBoom))
		require.Equal(t, "request\n  "+want+"\n", last(script.Requests()[1].Messages))
	}
	_, err, _ := run(t, policy(fmt.Errorf), []modeltest.Step{modeltest.Say(call("1", "t"))}, fails("t", errBoom))
	require.ErrorContains(t, err, "t: boom")
	_, _, script := run(t, policy(fmt.Errorf), []modeltest.Step{modeltest.Say(call("1", "t")), modeltest.SayText("ok")}, fails("t", toolset.Failed("as it is")))
	require.Contains(t, last(script.Requests()[1].Messages), "failed: as it is", "outcomes are not errors")
}

func TestRetriesOfARunComeBetweenToolAndAgent(t *testing.T) {
	m := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		return model.Response(call("1", "t")), nil
	})
	for _, c := range []struct {
		opts []toolset.Option
		want int
	}{{nil, 4}, {[]toolset.Option{toolset.Retries(2)}, 2}} {
		broken := tool("t", func(context.Context, *toolset.RunContext[deps]) (string, error) { return "", toolset.Retry("no") }, c.opts...)
		_, err := newAgent(t, cfg{Model: m, ToolRetries: new(3)}, broken).Run(context.Background(), deps{}, "go", agent.WithToolRetries(4))
		var budget *agent.BudgetError
		require.ErrorAs(t, err, &budget)
		require.Equal(t, c.want, budget.Retries)
	}
}

func TestOverridesBeatRunOptionsWithinTheirScope(t *testing.T) {
	agentModel, optionModel := modeltest.Script(modeltest.SayText("agent")), modeltest.Script(modeltest.SayText("option"))
	over := modeltest.Script(modeltest.Say(call("1", "look")), modeltest.SayText("override"))
	a := newAgent(t, cfg{Model: agentModel}, says("hi", ""))
	var seen int
	look := tool("look", func(_ context.Context, run *toolset.RunContext[deps]) (string, error) {
		seen = run.Deps.base
		return "", nil
	})
	ctx := a.Override(context.Background(), agent.Overrides[deps]{Model: over, Deps: &deps{base: 7}, Toolsets: []toolset.Toolset[deps]{toolset.Of(look)}})
	res, err := a.Run(ctx, deps{base: 1}, "go", agent.WithModel(optionModel))
	require.NoError(t, err)
	require.Equal(t, "override", res.Output)
	require.Equal(t, 7, seen)
	require.Len(t, over.Requests()[0].Tools, 1)

	res, err = newAgent(t, cfg{Model: agentModel}).Run(ctx, deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, "agent", res.Output, "other agents are not affected")
	res, err = a.Run(context.Background(), deps{}, "go", agent.WithModel(optionModel))
	require.NoError(t, err)
	require.Equal(t, "option", res.Output, "nor other contexts")
	ctx = a.Override(context.Background(), agent.Overrides[deps]{Model: modeltest.Script(modeltest.SayText("x")), Toolsets: []toolset.Toolset[deps]{}})
	_, err = a.Run(ctx, deps{}, "go")
	require.NoError(t, err)
}

type innerDeps struct{ name string }

// expert is an agent for narrower dependencies.
func expert(t *testing.T, m model.Model, config agent.Config[innerDeps, string]) *agent.Agent[innerDeps, string] {
	config.Name, config.Model = "expert", m
	config.Toolsets = []toolset.Toolset[innerDeps]{toolset.Of(toolset.Func("whoami", "", func(_ context.Context, run *toolset.RunContext[innerDeps], _ none) (string, error) {
		return run.Deps.name, nil
	}))}
	a, err := agent.New(config)
	require.NoError(t, err)
	return a
}

func narrow(d deps) innerDeps { return innerDeps{fmt.Sprint("expert ", d.base)} }

func ask(id string) model.Part { return model.ToolCall(id, "ask", `{"prompt":"who are you?"}`) }

func TestAgentIsAToolOfAnother(t *testing.T) {
	inner := modeltest.Script(modeltest.Say(call("i", "whoami")), modeltest.SayText("I am an expert"))
	outer := modeltest.Script(modeltest.Say(ask("1")), modeltest.SayText("they are an expert"))
	a := newAgent(t, cfg{Model: outer}, agent.AsTool("ask", "Ask the expert.", expert(t, inner, agent.Config[innerDeps, string]{}), narrow))
	s := a.Stream(context.Background(), deps{base: 7}, "go")
	var nested []string
	for e := range s.Events() {
		if n, ok := e.Value.(agent.Nested); ok {
			require.Equal(t, "1", e.CallID, "events are nested under the call")
			require.Equal(t, "expert", n.Agent)
			if n.Event.Kind == agent.EventToolResult {
				nested = append(nested, n.Event.Result.Text)
			}
		}
	}
	res, err := s.Result()
	require.NoError(t, err)
	require.Equal(t, []string{"expert 7"}, nested)
	require.Equal(t, "request\n  tool_return 1 ask: I am an expert\n", dump(res.Messages[2:3]))
	require.Equal(t, 4, res.Usage.Requests, "usage is shared")
	require.Equal(t, 2, res.Usage.ToolCalls)
}

func TestLimitsBoundAnAgentAndItsToolsTogether(t *testing.T) {
	inner := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		return model.Response(call("i", "whoami")), nil
	})
	a := newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(ask("1"))), Limits: agent.Limits{Requests: 5}}, agent.AsTool("ask", "", expert(t, inner, agent.Config[innerDeps, string]{Limits: agent.Limits{Requests: 5}}), narrow))
	_, err := a.Run(context.Background(), deps{}, "go")
	var limit *agent.LimitError
	require.ErrorAs(t, err, &limit)
	require.EqualValues(t, 5, limit.Value)
	require.Equal(t, 5, asRunError(t, err).Usage.Requests)
}

func TestFailureOfAnInnerAgentIsToldToTheModel(t *testing.T) {
	outer := modeltest.Script(modeltest.Say(ask("1")), modeltest.SayText("no answer"))
	res, err := newAgent(t, cfg{Model: outer}, agent.AsTool("ask", "", expert(t, modeltest.Script(modeltest.Fail(errBoom)), agent.Config[innerDeps, string]{}), narrow)).Run(context.Background(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, "request\n  tool_return 1 ask failed: ask failed: boom\n", dump(res.Messages[2:3]))
}

func TestCancellationReachesInnerAgentsAndIsNotTakenForAFailure(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	inner := modeltest.Func(func(ctx context.Context, _ *model.Request) (*model.Message, error) {
		cancel(errCancelled)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	_, err := newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(ask("1")))}, agent.AsTool("ask", "", expert(t, inner, agent.Config[innerDeps, string]{}), narrow)).Run(ctx, deps{}, "go")
	require.ErrorIs(t, err, errCancelled)
	require.Equal(t, "request interrupted\n", last(asRunError(t, err).Messages))
}

func TestRunIsHandedOverThroughAnOutputFunction(t *testing.T) {
	inner := modeltest.Script(modeltest.SayText("I take over"))
	config := cfg{Model: modeltest.Script(modeltest.Say(ask("1"))), Alternatives: []agent.Alternative[deps, string]{
		agent.HandOver("ask", "Hand over to the expert.", expert(t, inner, agent.Config[innerDeps, string]{}), narrow),
	}}
	res, err := newAgent(t, config).Run(context.Background(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, "I take over", res.Output)
	require.Equal(t, 2, res.Usage.Requests)
	require.Equal(t, "who are you?", inner.Requests()[0].Messages[0].Parts[0].Text)

	config.Model = modeltest.Script(modeltest.Say(ask("1")))
	config.Alternatives[0] = agent.HandOver("ask", "", expert(t, modeltest.Script(modeltest.Fail(errBoom)), agent.Config[innerDeps, string]{}), narrow)
	_, err = newAgent(t, config).Run(context.Background(), deps{}, "go")
	require.ErrorIs(t, err, errBoom)
}

func TestHistoryProcessorsCanTellWhatTheyDid(t *testing.T) {
	config := cfg{Model: modeltest.Script(modeltest.SayText("ok")), History: []agent.HistoryProcessor[deps]{
		func(_ context.Context, run *toolset.RunContext[deps], messages []*model.Message) ([]*model.Message, error) {
			run.Emit("trimmed")
			_ = append(messages, model.UserText("not kept"))
			return messages, nil
		},
	}}
	var told []any
	s := newAgent(t, config).Stream(context.Background(), deps{}, "go")
	for e := range s.Events() {
		if e.Kind == agent.EventCustom {
			told = append(told, e.Value)
		}
	}
	res, err := s.Result()
	require.NoError(t, err)
	require.Equal(t, []any{"trimmed"}, told)
	require.Equal(t, "request\n  user: go\nresponse\n  text: ok\n", dump(res.Messages))
}
