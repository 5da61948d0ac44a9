// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// taught is a toolset with instructions.
type taught struct {
	toolset.Toolset[deps]
	text string
}

func (s taught) Open(ctx context.Context, run *toolset.RunContext[deps]) (toolset.Instance[deps], error) {
	in, err := s.Toolset.Open(ctx, run)
	return taughtInstance{in, s.text}, err
}

type taughtInstance struct {
	toolset.Instance[deps]
	text string
}

func (s taughtInstance) Tools(ctx context.Context, run *toolset.RunContext[deps]) (toolset.Listing[deps], error) {
	l, err := s.Instance.Tools(ctx, run)
	l.Instructions = s.text
	return l, err
}

func dynamic(text string) agent.InstructionFunc[deps] {
	return func(context.Context, *toolset.RunContext[deps]) (string, error) { return text, nil }
}

func TestInstructionsAreStaticThenDynamicThenOfToolsets(t *testing.T) {
	res, _, script := runWith(t, agent.Config[deps, string]{
		Instructions: "Static one.",
		Dynamic:      []agent.InstructionFunc[deps]{dynamic("Dynamic one."), dynamic(""), dynamic("Dynamic two.")},
		Toolsets:     []toolset.Toolset[deps]{taught{toolset.Of(addTool()), "Add with add."}, taught{toolset.Of(says("hi", "hi")), "Greet."}},
	}, []modeltest.Step{modeltest.SayText("ok")}, "go", []agent.RunOption{agent.WithInstructions("Static two.")})
	want := "Static one.\nStatic two.\n\nDynamic one.\n\nDynamic two.\n\nAdd with add.\n\nGreet."
	require.Equal(t, want, script.Requests()[0].Instructions)
	require.Equal(t, want, res.Messages[0].Instructions, "recorded on the request")
}

func TestInstructionsAreMadeAnewForEveryRequestAndNeverReadBack(t *testing.T) {
	n := 0
	config := agent.Config[deps, string]{Dynamic: []agent.InstructionFunc[deps]{func(_ context.Context, run *toolset.RunContext[deps]) (string, error) {
		n++
		return strings.Repeat("x", run.Step), nil
	}}}
	script := modeltest.Script(modeltest.Say(add("1", 1, 2)), modeltest.SayText("3"), modeltest.SayText("again"))
	config.Model = script
	a := newAgent(t, config, addTool())
	res, err := a.Run(context.Background(), deps{}, "go")
	require.NoError(t, err)
	res, err = a.Run(context.Background(), deps{}, "more", agent.WithHistory(res.Messages))
	require.NoError(t, err)
	require.Equal(t, 3, n)
	var told []string
	for _, r := range script.Requests() {
		told = append(told, r.Instructions)
	}
	require.Equal(t, []string{"x", "xx", "x"}, told, "a history neither loses nor doubles them")
	require.Equal(t, "request [x]\n  user: more\n", dump(res.NewMessages()[:1]))
}

func TestInstructionErrorEndsTheRun(t *testing.T) {
	_, err, script := run(t, agent.Config[deps, string]{Dynamic: []agent.InstructionFunc[deps]{
		dynamic("fine"),
		func(context.Context, *toolset.RunContext[deps]) (string, error) { return "", errBoom },
	}}, []modeltest.Step{modeltest.SayText("never")})
	require.ErrorIs(t, err, errBoom)
	require.EqualError(t, err, "agent: prepare: instruction 1: boom")
	require.Empty(t, script.Requests())
	require.Equal(t, "request\n  user: go\n", dump(err.Messages))
}

func TestInstructionPanicIsAnError(t *testing.T) {
	_, err, _ := run(t, agent.Config[deps, string]{Dynamic: []agent.InstructionFunc[deps]{
		func(context.Context, *toolset.RunContext[deps]) (string, error) { panic(errBoom) },
	}}, nil)
	var p *agent.PanicError
	require.ErrorAs(t, err, &p)
	require.ErrorIs(t, err, errBoom)
	require.Contains(t, string(p.Stack), "instructions_test.go")
}

func TestNothingToAskIsAnErrorBeforeAnyRequest(t *testing.T) {
	_, err, script := runWith(t, agent.Config[deps, string]{}, []modeltest.Step{modeltest.SayText("never")}, "", nil)
	require.ErrorIs(t, err, agent.ErrNoPrompt)
	require.Empty(t, script.Requests())
}

func TestInstructionsAloneAreEnough(t *testing.T) {
	res, _, script := runWith(t, agent.Config[deps, string]{Instructions: "Greet."}, []modeltest.Step{modeltest.SayText("hi")}, "", nil)
	require.Equal(t, "hi", res.Output)
	require.Len(t, script.Requests()[0].Messages, 1)
}

func TestRequestsOfARunGrowAtTheirEndOnly(t *testing.T) {
	steps := []modeltest.Step{modeltest.Say(add("1", 1, 2), add("2", 1, 2)), modeltest.Say(add("3", 1, 200)), modeltest.Say(call("4", "hi")), modeltest.SayText("ok")}
	_, _, script := run(t, agent.Config[deps, string]{Instructions: "Static."}, steps, addTool(), says("hi", "hi"))
	reqs := script.Requests()
	require.Len(t, reqs, 4)
	for i, req := range reqs[1:] {
		before := reqs[i]
		require.Equal(t, before.Instructions, req.Instructions)
		require.Equal(t, before.Tools, req.Tools, "tools keep their order")
		require.Greater(t, len(req.Messages), len(before.Messages))
		for j, m := range before.Messages {
			require.Same(t, m, req.Messages[j])
		}
	}
}

func TestHistoryThatEndsInARequestIsSentAgain(t *testing.T) {
	history := []*model.Message{model.UserText("asked before")}
	res, _, script := runWith(t, agent.Config[deps, string]{Instructions: "New."}, []modeltest.Step{modeltest.SayText("answer")}, "", []agent.RunOption{agent.WithHistory(history)})
	require.Equal(t, "request\n  user: asked before\n", dump(script.Requests()[0].Messages))
	require.Equal(t, "New.", script.Requests()[0].Instructions)
	require.Equal(t, "response\n  text: answer\n", dump(res.NewMessages()), "it is not a new message")
	require.Empty(t, history[0].Instructions, "messages that were passed in are never changed")
}

func TestHistoryThatEndsInToolCallsIsExecuted(t *testing.T) {
	history := []*model.Message{model.UserText("1+2?"), model.Response(add("1", 1, 2))}
	res, _, _ := runWith(t, agent.Config[deps, string]{}, []modeltest.Step{modeltest.SayText("3")}, "", []agent.RunOption{agent.WithHistory(history)}, addTool())
	require.Equal(t, "request\n  tool_return 1 add: 3\nresponse\n  text: 3\n", dump(res.NewMessages()))
}

func TestHistoryThatEndsInAnAnswerGivesItAgainOnResume(t *testing.T) {
	history := []*model.Message{model.UserText("1+2?"), model.Response(model.Text("3"))}
	res, _, script := runWith(t, agent.Config[deps, string]{}, nil, "", []agent.RunOption{agent.WithHistory(history), agent.WithResume()})
	require.Equal(t, "3", res.Output)
	require.Empty(t, script.Requests())
}

func TestFinishedHistoryNeedsAPrompt(t *testing.T) {
	history := []*model.Message{model.UserText("1+2?"), model.Response(model.Text("3"))}
	_, err, script := runWith(t, agent.Config[deps, string]{}, nil, "", []agent.RunOption{agent.WithHistory(history)})
	require.ErrorIs(t, err, agent.ErrFinished)
	require.ErrorContains(t, err, "the history ends in an answer and there is no prompt: give a prompt, or use WithResume to get the answer again")
	require.Empty(t, script.Requests())
	require.Equal(t, dump(history), dump(err.Messages))
	require.Empty(t, err.NewMessages())

	answer := modeltest.Say(final("1", `{"city":"Oslo","population":1}`))
	done, _, _ := run(t, agent.Config[deps, city]{}, []modeltest.Step{answer})
	_, err, script = runWith(t, agent.Config[deps, city]{}, nil, "", []agent.RunOption{agent.WithHistory(done.Messages)})
	require.ErrorIs(t, err, agent.ErrFinished, "an output tool has answered")
	require.Empty(t, script.Requests())
	again, _, script := runWith(t, agent.Config[deps, city]{}, nil, "", []agent.RunOption{agent.WithHistory(done.Messages), agent.WithResume()})
	require.Equal(t, done.Output, again.Output)
	require.Empty(t, script.Requests())
	require.Equal(t, dump(done.Messages), dump(again.Messages))
	require.Empty(t, again.NewMessages())
}

// The output is made again of the call that gave it. No other call of its response runs again.
func TestResumeGivesTheAnswerOfAnOutputToolAgain(t *testing.T) {
	for _, end := range []agent.EndStrategy{agent.EndGraceful, agent.EndEarly, agent.EndExhaustive} {
		var ran atomic.Int32 // calls run in parallel
		count := tool("count", func(context.Context, *toolset.RunContext[deps]) (string, error) { ran.Add(1); return "ok", nil })
		invalid, answer := final("2", `{"city":"","population":1}`), final("3", `{"city":"Oslo","population":1}`)
		said := modeltest.Say(call("1", "count"), invalid, answer, final("4", `{"city":"Bergen","population":1}`), call("5", "count"))
		config := agent.Config[deps, city]{EndStrategy: end}
		done, _, _ := run(t, config, []modeltest.Step{said}, count)
		require.Equal(t, "Oslo", done.Output.City)
		before := ran.Load()
		again, err, script := runWith(t, config, nil, "", []agent.RunOption{reread(t, done.Messages), agent.WithResume()}, count)
		require.Nil(t, err, string(end))
		require.Equal(t, done.Output, again.Output)
		require.Equal(t, before, ran.Load())
		require.Empty(t, script.Requests())
		require.Equal(t, dump(done.Messages), dump(again.Messages))

		// A run that cannot make it leaves the history as it was.
		refusing := config
		refusing.Validators = []agent.Validator[deps, city]{func(context.Context, *toolset.RunContext[deps], city) (city, error) { return city{}, errBoom }}
		_, failed, _ := runWith(t, refusing, nil, "", []agent.RunOption{reread(t, done.Messages), agent.WithResume()}, count)
		require.ErrorIs(t, failed, errBoom)
		require.Equal(t, dump(done.Messages), dump(failed.Messages))
		require.Equal(t, before, ran.Load())
	}
}

func TestResumeTakesNoPrompt(t *testing.T) {
	history := []*model.Message{model.UserText("1+2?"), model.Response(model.Text("3"))}
	_, err, script := runWith(t, agent.Config[deps, string]{}, nil, "more", []agent.RunOption{agent.WithHistory(history), agent.WithResume()})
	require.ErrorContains(t, err, "WithResume continues the history as it is: leave out the prompt")
	require.Empty(t, script.Requests())
}

func TestPromptBehindUnprocessedCallsIsAnError(t *testing.T) {
	history := []*model.Message{model.UserText("1+2?"), model.Response(add("1", 1, 2))}
	_, err, _ := runWith(t, agent.Config[deps, string]{}, nil, "more", []agent.RunOption{agent.WithHistory(history)}, addTool())
	require.ErrorIs(t, err, agent.ErrUnprocessedCalls)
	require.Equal(t, dump(history), dump(err.Messages))
}

func TestRunIsFreshAndConversationIsInherited(t *testing.T) {
	config := agent.Config[deps, string]{Model: modeltest.Script(modeltest.SayText("a"), modeltest.SayText("b"), modeltest.SayText("c"))}
	a := newAgent(t, config)
	first, err := a.Run(context.Background(), deps{}, "1")
	require.NoError(t, err)
	second, err := a.Run(context.Background(), deps{}, "2", agent.WithHistory(first.Messages), agent.WithMetadata(map[string]string{"k": "v"}))
	require.NoError(t, err)
	require.NotEmpty(t, first.RunID)
	require.NotEqual(t, first.RunID, second.RunID)
	require.Equal(t, first.ConversationID, second.ConversationID)
	require.Equal(t, "request\n  user: 2\nresponse\n  text: b\n", dump(second.NewMessages()))
	require.Equal(t, "v", second.NewMessages()[0].Metadata["k"])
	third, err := a.Run(context.Background(), deps{}, "3", agent.WithConversationID("mine"), agent.WithRunID("r"))
	require.NoError(t, err)
	require.Equal(t, "mine", third.Messages[1].ConversationID)
	require.Equal(t, "r", third.RunID)
}

func TestPromptMayHoldMedia(t *testing.T) {
	image := model.Media("image/png", []byte{1})
	_, _, script := runWith(t, agent.Config[deps, string]{}, []modeltest.Step{modeltest.SayText("a cat")}, "what?", []agent.RunOption{agent.WithParts(image)})
	require.Equal(t, []model.Part{model.User("what?"), image}, script.Requests()[0].Messages[0].Parts)
}
