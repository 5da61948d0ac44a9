// SPDX-License-Identifier: Apache-2.0

package modeltest_test

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
)

func TestScriptTakesOneStepPerRequest(t *testing.T) {
	m := modeltest.Script(
		modeltest.SayText("hello"), modeltest.Say(model.Text("look"), model.ToolCall("1", "t", "{}")),
		modeltest.Fail(errBoom), modeltest.Finish(model.FinishLength, model.Text("cut")),
	)
	require.Equal(t, 4, m.Left())
	require.Nil(t, m.Last())
	msg := answer(t, m, ask("one"))
	require.Equal(t, "hello", msg.Text())
	require.Equal(t, model.FinishStop, msg.Finish)
	require.NotZero(t, msg.Usage)
	require.Equal(t, model.FinishToolCalls, answer(t, m, ask("two")).Finish)
	require.Equal(t, errBoom, failure(t, m, ask("three")))
	require.Equal(t, model.FinishLength, answer(t, m, ask("four")).Finish)
	require.Zero(t, m.Left())
	require.Len(t, m.Requests(), 4)
	require.Equal(t, "four", m.Last().Messages[0].Parts[0].Text)
}

func TestRequestAfterTheLastStepIsDescribed(t *testing.T) {
	m := modeltest.Script()
	req := &model.Request{
		Messages: []*model.Message{
			model.UserText("long ago"), model.Response(model.ToolCall("1", "add", "{}")),
			{Kind: model.KindRequest, Parts: []model.Part{
				model.ToolReturn("1", "add", "3"), {Kind: model.PartToolReturn, Tool: "sub", Text: "no", Outcome: model.OutcomeFailed}, model.Retry("", "", "again"),
			}},
			{Kind: model.KindRequest, Parts: []model.Part{model.User(strings.Repeat("ø", 300)), model.Media("image/png", nil)}},
		},
		Tools: []model.ToolDef{{Name: "add"}, {Name: "final_result"}},
	}
	require.EqualError(t, failure(t, m, req), `modeltest: request 1, but the script has 0 steps; the request: 4 messages, the last: `+
		`tool_return of add "3"; tool_return of sub (failed) "no"; retry "again"; user "`+strings.Repeat("ø", 200)+`…"; media image/png; tools: add, final_result`)
	require.Zero(t, m.Left())
}

func TestRequestsAreRecordedUnchanged(t *testing.T) {
	m := modeltest.Capture(modeltest.Auto())
	req := ask("one")
	answer(t, m, req)
	req.Messages = append(req.Messages[:0], model.UserText("two"))
	answer(t, m, req)
	require.Equal(t, "one", m.Requests()[0].Messages[0].Parts[0].Text)
	require.Equal(t, "two", m.Last().Messages[0].Parts[0].Text)
	require.Equal(t, "auto", m.Info().Name)
}

func TestFuncMustReturnSomething(t *testing.T) {
	m := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) { return nil, nil })
	require.EqualError(t, failure(t, m, ask("x")), "modeltest: the function returned neither a response nor an error")
}

func TestEmit(t *testing.T) {
	resp := model.Response(
		model.Thinking("a b"), model.Part{Kind: model.PartOpaque, Data: []byte("x")}, model.Text(""), model.Media("image/png", nil),
		model.ToolCall("1", "t", "{ }"), model.Text("c\nd"),
	)
	resp.Usage.InputTokens = 1
	var got []model.Delta
	require.NoError(t, modeltest.Emit(t.Context(), resp, func(d model.Delta) error {
		got = append(got, d)
		return nil
	}))
	require.Equal(t, []model.Delta{
		{Part: 0, Kind: model.PartThinking, Text: "a "}, {Part: 0, Kind: model.PartThinking, Text: "b"}, {Part: 1, Kind: model.PartText},
		{Part: 2, Kind: model.PartToolCall, CallID: "1", Tool: "t", Text: "{ "}, {Part: 2, Kind: model.PartToolCall, Text: "}"},
		{Part: 3, Kind: model.PartText, Text: "c\n"}, {Part: 3, Kind: model.PartText, Text: "d"}, {Usage: &resp.Usage},
	}, got)
}

// Func is the most flexible model.
func ExampleFunc() {
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		if len(req.Messages) > 1 {
			return nil, errors.New("too long a conversation")
		}
		return model.Response(model.Text("You said: " + req.Messages[0].Parts[0].Text)), nil
	})
	a, err := agent.New(agent.Config[struct{}, string]{Model: m})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := a.Run(context.Background(), struct{}{}, "hello")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Output)
	_, err = a.Run(context.Background(), struct{}{}, "and now?", agent.WithHistory(res.Messages))
	fmt.Println(err)
	// Output:
	// You said: hello
	// agent: model: too long a conversation
}

// A script determines the responses of the model step by step, and records the requests.
func ExampleScript() {
	m := modeltest.Script(
		modeltest.Say(model.ToolCall("1", "lookup", `{"city":"Oslo"}`)),
		modeltest.SayText("I know no such tool, sorry."),
	)
	a, err := agent.New(agent.Config[struct{}, string]{Model: m})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := a.Run(context.Background(), struct{}{}, "The weather in Oslo?")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Output, m.Left(), "steps left")
	for _, p := range m.Last().Messages[2].Parts {
		fmt.Printf("the model was told: %s\n", p.Text)
	}
	// Output:
	// I know no such tool, sorry. 0 steps left
	// the model was told: Unknown tool "lookup". No tools are available.
}
