// SPDX-License-Identifier: Apache-2.0

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
			Run: func(ctx context.Context, run *toolset.RunContext[deps], next agent.RunFunc) error {
				log = append(log, name+" run")
				s, err := next(ctx)
				log = append(log, fmt.Sprintf("%s run ends with %v after %d requests, %v", name, s.Output, s.Usage.Requests, err))
				return err
			},
			Request: func(ctx context.Context, run *toolset.RunContext[deps], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
				log = append(log, fmt.Sprintf("%s request %d", name, run.Step))
				changed := *req
				changed.Instructions += name
				return next(ctx, &changed)
			},
			Call: func(ctx context.Context, run *toolset.RunContext[deps], args any, next toolset.CallFunc) (toolset.Result, error) {
				log = append(log, fmt.Sprintf("%s call %s %s", name, run.Call.Tool, run.Call.Args))
				res, err := next(ctx, args)
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
	swallow := agent.Hooks[deps]{Run: func(ctx context.Context, _ *toolset.RunContext[deps], next agent.RunFunc) error {
		_, _ = next(ctx)
		return nil
	}}
	_, err, _ := run(t, cfg{Hooks: []agent.Hooks[deps]{swallow}}, []modeltest.Step{modeltest.Fail(errBoom)})
	require.ErrorIs(t, err, errBoom)

	replace := agent.Hooks[deps]{Run: func(ctx context.Context, _ *toolset.RunContext[deps], next agent.RunFunc) error {
		_, _ = next(ctx)
		return errors.New("audit failed")
	}}
	_, err, _ = run(t, cfg{Hooks: []agent.Hooks[deps]{replace}}, []modeltest.Step{modeltest.SayText("ok")})
	require.ErrorContains(t, err, "audit failed")
	require.Equal(t, "request\n  user: go\nresponse\n  text: ok\n", dump(err.Messages), "nothing is lost")

	refuse := agent.Hooks[deps]{Run: func(context.Context, *toolset.RunContext[deps], agent.RunFunc) error {
		return errBoom
	}}
	_, err, script := run(t, cfg{Hooks: []agent.Hooks[deps]{refuse}}, nil)
	require.ErrorIs(t, err, errBoom)
	require.Empty(t, script.Requests())

	panicking := agent.Hooks[deps]{Run: func(context.Context, *toolset.RunContext[deps], agent.RunFunc) error {
		panic("ouch")
	}}
	_, err, _ = run(t, cfg{Hooks: []agent.Hooks[deps]{panicking}}, nil)
	var p *agent.PanicError
	require.ErrorAs(t, err, &p)
}

func TestRunHookThatNeverCallsNextIsAnError(t *testing.T) {
	lazy := agent.Hooks[deps]{Run: func(context.Context, *toolset.RunContext[deps], agent.RunFunc) error {
		return nil
	}}
	_, err := newAgent(t, cfg{Model: modeltest.Script(), Hooks: []agent.Hooks[deps]{lazy}}).Run(context.Background(), deps{}, "go")
	require.ErrorContains(t, err, "a Run hook did not run the agent")
}

func TestObserverIsToldWithoutAStream(t *testing.T) {
	var log []string
	note := func(e agent.Event) { log = append(log, string(e.Kind)) }
	o := &agent.Observer{Request: note, Response: note, ToolCall: note, ToolResult: note, Retry: note, End: note}
	streamed := false
	m := modeltest.Script(modeltest.Say(add("1", 1, 200)), modeltest.SayText("ok"))
	_, err := newAgent(t, cfg{Observer: o, Model: model.Func(model.Info{}, func(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
		streamed = streamed || sink != nil
		return m.Generate(ctx, req, sink)
	})}, addTool()).Run(context.Background(), deps{}, "go")
	require.NoError(t, err)
	require.False(t, streamed)
	require.Equal(t, []string{"request_start", "response", "tool_call", "tool_result", "retry", "request_start", "response", "run_end"}, log)
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
