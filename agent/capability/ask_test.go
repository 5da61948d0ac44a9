// SPDX-License-Identifier: Apache-2.0

package capability_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

type none = struct{}

func call(args string) modeltest.Step {
	return modeltest.Say(model.ToolCall("1", capability.ToolAskUser, args))
}

func newAgent(c agent.Capability[none], steps ...modeltest.Step) *agent.Agent[none, string] {
	return agent.Must(agent.New(agent.Config[none, string]{
		Model: modeltest.Script(append(steps, modeltest.SayText("done"))...), Capabilities: []agent.Capability[none]{c},
	}))
}

// person answers questions in turn, and keeps them.
type person struct {
	replies []toolset.Reply
	err     error
	asked   []toolset.Question
}

func (p *person) Approve(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
	return toolset.Decision{}, toolset.ErrNobody
}

func (p *person) Answer(_ context.Context, q toolset.Question) (toolset.Reply, error) {
	p.asked = append(p.asked, q)
	if p.err != nil {
		return toolset.Reply{}, p.err
	}
	reply := p.replies[0]
	p.replies = p.replies[1:]
	return reply, nil
}

func accept(content string) toolset.Reply {
	return toolset.Reply{Action: toolset.ActionAccept, Content: json.RawMessage(content)}
}

// told returns what the model is told of the first call.
func told(t *testing.T, p *person, args string) string {
	t.Helper()
	res, err := newAgent(capability.Ask[none](capability.AskOptions{}), call(args)).Run(t.Context(), none{}, "go", agent.WithAsker(p))
	require.NoError(t, err)
	return res.Messages[2].Parts[0].Text
}

const colour = `{"question":"Which colour?","options":["red","blue"]}`

func TestUserAnswers(t *testing.T) {
	p := &person{replies: []toolset.Reply{accept(`{"answer":"Oslo"}`)}}
	require.Equal(t, "The user answered: Oslo", told(t, p, `{"question":"Which city?\u202e"}`))
	require.Equal(t, "Which city?⟨U+202E⟩", p.asked[0].Message)
	require.JSONEq(t, `{"type":"object","properties":{"answer":{"type":"string","title":"Answer"}},"required":["answer"]}`, string(p.asked[0].Schema))

	p = &person{replies: []toolset.Reply{accept(`{"answer":"blue"}`)}}
	require.Equal(t, "The user answered: blue", told(t, p, colour))
	require.Contains(t, string(p.asked[0].Schema), `"enum":["red","blue","Another answer"]`)

	p = &person{replies: []toolset.Reply{accept(`{"answer":"Another answer"}`), accept(`{"answer":"green"}`)}}
	require.Equal(t, "The user answered: green", told(t, p, colour))
	require.NotContains(t, string(p.asked[1].Schema), "enum")
}

func TestUserDoesNotAnswer(t *testing.T) {
	for want, p := range map[string]*person{
		"does not want to answer":     {replies: []toolset.Reply{{Action: toolset.ActionDecline}}},
		"closed the question":         {replies: []toolset.Reply{{Action: toolset.ActionCancel}}},
		"gave no answer":              {replies: []toolset.Reply{accept(`{"answer":"green"}`)}},
		"could not be read":           {replies: []toolset.Reply{accept(`{"answer":1}`)}},
		"No one can answer questions": {err: toolset.ErrNobody},
		"ask in your reply":           {err: errors.Join(toolset.ErrNobody, toolset.Failed("ask in your reply"))},
	} {
		require.Contains(t, told(t, p, colour), want)
	}
	require.Contains(t, told(t, &person{replies: []toolset.Reply{accept(`{"answer":" \n"}`)}}, `{"question":"x"}`), "gave no answer")

	_, err := newAgent(capability.Ask[none](capability.AskOptions{}), call(colour)).Run(t.Context(), none{}, "go", agent.WithAsker(&person{err: errors.New("lost")}))
	require.ErrorContains(t, err, "lost")
}

func TestLongAnswersAreCut(t *testing.T) {
	text := told(t, &person{replies: []toolset.Reply{accept(`{"answer":"` + strings.Repeat("x", 100<<10) + `"}`)}}, `{"question":"x"}`)
	require.Less(t, len(text), 17<<10)
	require.True(t, strings.HasSuffix(text, "[The answer is longer.]"))
}

func TestQuestionsAreChecked(t *testing.T) {
	for _, args := range []string{
		`{"question":""}`, `{}`, `{"question":"x","options":["a","a"]}`, `{"question":"x","options":["a","a "]}`, `{"question":"x","options":["Another answer"]}`,
		`{"question":"x","options":[""]}`, `{"question":"x","options":["1","2","3","4","5","6","7","8"]}`, `{"question":"` + strings.Repeat("x", 5000) + `"}`,
	} {
		p := &person{}
		told(t, p, args)
		require.Empty(t, p.asked, args)
	}
}

func TestQuestionCanBeLeftPending(t *testing.T) {
	for name, c := range map[string]agent.Capability[none]{"deferred": capability.Ask[none](capability.AskOptions{Defer: true}), "external": capability.AskExternal[none]()} {
		t.Run(name, func(t *testing.T) {
			a := newAgent(c, call(colour))
			_, err := a.Run(t.Context(), none{}, "go")
			var pending *agent.PendingError
			require.ErrorAs(t, err, &pending)
			require.Len(t, pending.Calls, 1)
			require.JSONEq(t, colour, string(pending.Calls[0].Args))
			var failed *agent.RunError
			require.ErrorAs(t, err, &failed)
			res, err := a.Run(t.Context(), none{}, "", agent.WithHistory(failed.Messages),
				agent.WithResults(toolset.DeferredResults{Results: map[string]toolset.Result{"1": {Text: "The user answered: blue"}}}))
			require.NoError(t, err)
			require.Equal(t, "The user answered: blue", res.Messages[2].Parts[0].Text)
		})
	}
}

// TestQuestionSaysThatItsCallIsDeferred, so that an asker may leave it to that.
func TestQuestionSaysThatItsCallIsDeferred(t *testing.T) {
	for _, deferred := range []bool{false, true} {
		p := &person{replies: []toolset.Reply{accept(`{"answer":"Another answer"}`), accept(`{"answer":"green"}`)}}
		_, err := newAgent(capability.Ask[none](capability.AskOptions{Defer: deferred}), call(colour)).Run(t.Context(), none{}, "go", agent.WithAsker(p))
		require.NoError(t, err)
		require.Len(t, p.asked, 2)
		for _, q := range p.asked {
			require.Equal(t, deferred, q.Deferrable)
		}
	}
}

func ExampleAsk() {
	a := agent.Must(agent.New(agent.Config[none, string]{
		Model: modeltest.Script(
			modeltest.Say(model.ToolCall("1", "ask_user", `{"question":"Which port should the server use?","options":["8080","9090"]}`)),
			modeltest.SayText("It listens on 8080."),
		),
		Capabilities: []agent.Capability[none]{capability.Ask[none](capability.AskOptions{})},
	}))
	user := toolset.AskerFuncs{OnAnswer: func(_ context.Context, q toolset.Question) (toolset.Reply, error) {
		fmt.Println(q.Message)
		return toolset.Reply{Action: toolset.ActionAccept, Content: json.RawMessage(`{"answer":"8080"}`)}, nil
	}}
	res, err := a.Run(context.Background(), none{}, "Write a server.", agent.WithAsker(user))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Output)
	// Output:
	// Which port should the server use?
	// It listens on 8080.
}
