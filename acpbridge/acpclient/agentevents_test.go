// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// A run hears of each call of an agent once, of its start and of its end, with what is known then, and of everything that is shown.
func TestEventsOfAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		working := func(ctx context.Context, a *turn) (*acp.PromptResponse, error) {
			for _, u := range []string{
				`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}`,
				`{"sessionUpdate":"tool_call","toolCallId":"a","title":"Look","name":"look","kind":"read","status":"pending","rawInput":{"n":1}}`,
				`{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"in_progress"}`,
				`{"sessionUpdate":"tool_call_update","toolCallId":"a","title":"Look more"}`,
				`{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"completed","rawOutput":"seen"}`,
				`{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"completed","rawOutput":"seen again"}`,
				`{"sessionUpdate":"tool_call","toolCallId":"b","title":"Run","kind":"execute","status":"failed","content":[{"type":"content","content":{"type":"text","text":"no"}}],"rawOutput":{"code":1}}`,
				`{"sessionUpdate":"tool_call","toolCallId":"c","title":"Think","status":"completed","rawOutput":{"code":0}}`,
				`{"sessionUpdate":"tool_call","toolCallId":"d","title":"Wait"}`,
				`{"sessionUpdate":"tool_call_update","toolCallId":"e","status":"in_progress"}`,
				`{"sessionUpdate":"plan","entries":[]}`,
			} {
				var update acp.SessionUpdate
				if err := json.Unmarshal([]byte(u), &update); err != nil {
					t.Error(err)
				}
				a.update(ctx, update)
				synctest.Wait() // each is seen
			}
			return endAgentTurn, nil
		}
		a := outer(t, start(t, &scriptedAgent{turns: []func(context.Context, *turn) (*acp.PromptResponse, error){working}}, acpclient.Config{}), agent.Config[noDeps, string]{})
		s := a.Stream(t.Context(), noDeps{}, "go")
		var got []string
		for e := range s.Events() {
			n, ok := e.Value.(agent.Nested)
			if !ok {
				continue
			}
			ev := n.Event
			line := string(ev.Kind)
			if c, ok := ev.Value.(view.Change); ok {
				line += " " + c.ID
			}
			if ev.CallID != "" {
				line += fmt.Sprintf(" %s %q %q %q %s %v", ev.CallID, ev.Tool, ev.ToolTitle, ev.ToolKind, ev.Args, ev.Valid)
			}
			if p := ev.Result; p != nil {
				line += fmt.Sprintf(" -> %s %s %q %q %q", p.Kind, p.CallID, p.Tool, p.Outcome, p.Text)
			}
			if m := ev.Message; m != nil {
				line += fmt.Sprintf(" %s %s", m.Kind, m.RunID)
			}
			if len(got) == 0 || got[len(got)-1] != line { // a message and its text may be seen at once
				got = append(got, line)
			}
			require.NoError(t, ev.Err)
		}
		_, err := s.Result()
		require.NoError(t, err)
		require.Equal(t, strings.Split(strings.TrimSpace(`
run_start
response response s1
custom message-1
custom thought-2
tool_call call:a "look" "Look" "read" {"n":1} true
custom call:a
tool_start call:a "look" "Look" "read" {"n":1} true
custom call:a
tool_result call:a "look" "Look more" "read" {"n":1} true -> tool_return call:a "look" "" "seen"
custom call:a
tool_call call:b "execute" "Run" "execute"  true
tool_start call:b "execute" "Run" "execute"  true
tool_result call:b "execute" "Run" "execute"  true -> tool_return call:b "execute" "failed" "no"
custom call:b
tool_call call:c "tool" "Think" ""  true
tool_start call:c "tool" "Think" ""  true
tool_result call:c "tool" "Think" ""  true -> tool_return call:c "tool" "" "{\"code\":0}"
custom call:c
tool_call call:d "tool" "Wait" ""  true
custom call:d
tool_call call:e "tool" "e" ""  true
tool_start call:e "tool" "e" ""  true
custom call:e
custom plan
tool_result call:d "" "" ""  false -> tool_return call:d "" "interrupted" "The agent ended its turn without the result of this call."
tool_result call:e "" "" ""  false -> tool_return call:e "" "interrupted" "The agent ended its turn without the result of this call."
run_end`), "\n"), got)
	})
}

// The tokens of a turn are those that the agent tells, made to fit each other: what is read from a cache is a part of the input, which the
// total may tell, and thoughts are a part of the output.
func TestTokensOfTurns(t *testing.T) {
	for usage, want := range map[string]model.Usage{
		`null`: {},
		`{"inputTokens":10,"outputTokens":5,"totalTokens":15}`:                                                                  {InputTokens: 10, OutputTokens: 5},
		`{"inputTokens":10,"outputTokens":5,"totalTokens":45,"cachedReadTokens":20,"cachedWriteTokens":10}`:                     {InputTokens: 40, OutputTokens: 5, CacheReadTokens: 20, CacheWriteTokens: 10},
		`{"inputTokens":10,"outputTokens":5,"totalTokens":15,"cachedReadTokens":8,"cachedWriteTokens":8,"thoughtTokens":4}`:     {InputTokens: 10, OutputTokens: 5, CacheReadTokens: 8, CacheWriteTokens: 2, ReasoningTokens: 4},
		`{"inputTokens":10,"outputTokens":5,"totalTokens":15,"cachedReadTokens":18,"cachedWriteTokens":8,"thoughtTokens":9}`:    {InputTokens: 10, OutputTokens: 5, CacheReadTokens: 10, ReasoningTokens: 5},
		`{"inputTokens":-1,"outputTokens":-5,"totalTokens":-2,"cachedReadTokens":-8,"cachedWriteTokens":-1,"thoughtTokens":-9}`: {},
		`{"inputTokens":0,"outputTokens":0,"totalTokens":7,"cachedWriteTokens":3}`:                                              {InputTokens: 7, CacheWriteTokens: 3},
	} {
		s := begin(t, acpclient.Config{}, func(a *raw) {
			a.open()
			a.answer(a.await("session/new"), `{"sessionId":"m"}`)
			a.answer(a.await("session/prompt"), `{"stopReason":"end_turn","usage":`+usage+`}`)
			a.wait()
		})
		m := acpclient.NewModel(acpclient.Agent{Client: s.Client(), Session: acpclient.SessionConfig{Cwd: "/repo"}})
		resp, err := m.Generate(t.Context(), &model.Request{Messages: []*model.Message{model.UserText("x")}}, nil)
		require.NoError(t, err)
		require.Equal(t, want, resp.Usage, usage)
		require.NoError(t, m.Close())
	}
}

// What an agent says is told as it comes, by parts: what it thinks and says, and nothing of what it does or repeats.
func TestDeltasOfAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := modelOf(t)
		s.turns = append(s.turns, func(ctx context.Context, a *turn) (*acp.PromptResponse, error) {
			for _, u := range []acp.SessionUpdate{
				acp.TextChunk("one "), acp.TextChunk("two"), {UserMessageChunk: &acp.ContentChunk{Content: acp.TextBlock("aside")}},
				{ToolCall: &acp.ToolCall{ToolCallID: "c", Title: "Do", Content: []acp.ToolCallContent{{Content: &acp.Content{Content: acp.TextBlock("done")}}}}},
				acp.ThoughtChunk("hm"), acp.TextChunk(""), acp.TextChunk("three"), acp.ThoughtChunk(""), acp.ThoughtChunk("so"),
				{Plan: &acp.Plan{Entries: []acp.PlanEntry{{Content: "plan"}}}},
			} {
				a.update(ctx, u)
				synctest.Wait()
			}
			return endAgentTurn, nil
		}, says("last"))
		var got []string
		resp, err := m.Generate(t.Context(), &model.Request{Messages: []*model.Message{model.UserText("x")}}, func(d model.Delta) error {
			got = append(got, fmt.Sprintf("%d %s %q", d.Part, d.Kind, d.Text))
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, []string{`0 text "one "`, `0 text "two"`, `1 thinking "hm"`, `2 text "three"`, `3 thinking "so"`}, got)
		require.Equal(t, &model.Message{
			Kind: model.KindResponse, Provider: "acp", Model: "coder", ResponseID: "s1#1", Finish: model.FinishStop,
			Parts: []model.Part{model.Text("one two"), model.Thinking("hm"), model.Text("three"), model.Thinking("so")},
		}, resp)

		// A request may begin with the response whose session it continues.
		more, err := m.Generate(t.Context(), &model.Request{Messages: []*model.Message{resp, model.UserText("a"), model.UserText("b")}}, nil)
		require.NoError(t, err)
		require.Equal(t, "s1#2", more.ResponseID)
		require.Equal(t, []model.Part{model.Text("last")}, more.Parts)
		require.Equal(t, []string{"x", "a\n\nb"}, s.prompts)
		require.Empty(t, s.closed)
	})
}

// An agent has five seconds to close a session that is not needed any more.
func TestAgentsThatCloseNoSessionHoldUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := modelOf(t, "one")
		_, err := m.Generate(t.Context(), &model.Request{Messages: []*model.Message{model.UserText("x")}}, nil)
		require.NoError(t, err)
		s.deaf = true
		began := time.Now()
		require.NoError(t, m.Close())
		require.Equal(t, 5*time.Second, time.Since(began))
		require.Empty(t, s.closed)
	})
}

// A session whose turn has failed, or whose sink has, is closed. The next request gets a new one.
func TestSessionsOfFailedTurnsAreClosed(t *testing.T) {
	stop := errors.New("stop")
	fails := func(context.Context, *turn) (*acp.PromptResponse, error) {
		return nil, acp.Errorf(acp.CodeInternal, "no")
	}
	m, s := modelOf(t)
	s.turns = append(s.turns, fails, func(ctx context.Context, a *turn) (*acp.PromptResponse, error) {
		a.say(ctx, "x")
		<-ctx.Done()
		return endAgentTurn, nil
	}, says("fine"))
	req := &model.Request{Messages: []*model.Message{model.UserText("x")}}
	_, err := m.Generate(t.Context(), req, nil)
	require.EqualError(t, err, "acpclient: coder: acpclient: session/prompt: no (-32603)")
	require.Equal(t, []acp.SessionID{"s1"}, s.closed)
	_, err = m.Generate(t.Context(), req, func(model.Delta) error { return stop })
	require.Equal(t, stop, err)
	require.Equal(t, []acp.SessionID{"s1", "s2"}, s.closed)
	resp, err := m.Generate(t.Context(), req, nil)
	require.NoError(t, err)
	require.Equal(t, "s3#1", resp.ResponseID)
	require.NoError(t, m.Close())
	require.Equal(t, []acp.SessionID{"s1", "s2", "s3"}, s.closed)
}

// A model says what it is and cannot do, and prints as its name alone.
func TestModelsOfAgentsIntroduceThemselves(t *testing.T) {
	secret := acpclient.Command{Path: "/bin/agent", Env: []string{"KEY=hush"}}
	for _, c := range []struct {
		agent acpclient.Agent
		name  string
	}{{acpclient.Agent{}, "agent"}, {acpclient.Agent{Command: secret}, "/bin/agent"}, {acpclient.Agent{Name: "n", Command: secret}, "n"}} {
		m := acpclient.NewModel(c.agent)
		require.Equal(t, model.Info{Provider: "acp", Name: c.name, NoForcedCalls: true}, m.Info())
		require.Equal(t, "Model("+c.name+")", fmt.Sprintf("%v", m))
		require.Equal(t, "Model("+c.name+")", fmt.Sprintf("%#v", m))
	}
}

// The history of another model is told word for word: what was said, called and returned, in order, and nothing of what was thought.
func TestHistoryIsToldWordForWord(t *testing.T) {
	m, s := modelOf(t, "done")
	_, err := m.Generate(t.Context(), &model.Request{Instructions: "Be brief.", Messages: []*model.Message{
		{Kind: model.KindRequest, Parts: []model.Part{{Kind: model.PartSystem, Text: "rules"}, model.User("look")}},
		model.Response(model.Thinking("hm"), model.Text("I look."), model.ToolCall("1", "look", `{"at":1}`)),
		{Kind: model.KindRequest, Parts: []model.Part{model.ToolReturn("1", "look", "seen"), {Kind: model.PartRetry, Text: "no money"}}},
		model.Response(model.Text("done")), model.UserText("go on"), {Kind: model.KindRequest, Parts: []model.Part{model.User(""), model.User("now")}},
	}}, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"Be brief.\n\nThis is the conversation so far.\n\nUser: rules\n\nUser: look\n\nAssistant: I look.\n\nAssistant called look: {\"at\":1}\n\nResult: seen\n\nResult: no money\n\nAssistant: done\n\nContinue it.\n\nUser: go on\n\nnow"}, s.prompts)
}

// A tool tells the run of its end also if the agent has failed, and the error.
func TestEventsOfAnAgentThatFails(t *testing.T) {
	fails := func(context.Context, *turn) (*acp.PromptResponse, error) {
		return nil, acp.Errorf(acp.CodeInternal, "no")
	}
	a := outer(t, start(t, &scriptedAgent{turns: []func(context.Context, *turn) (*acp.PromptResponse, error){fails}}, acpclient.Config{}), agent.Config[noDeps, string]{})
	s := a.Stream(t.Context(), noDeps{}, "go")
	var got []string
	for e := range s.Events() {
		if n, ok := e.Value.(agent.Nested); ok && n.Event.Kind != agent.EventCustom {
			got = append(got, fmt.Sprint(n.Agent, " ", n.Event.Kind, " ", n.Event.Err))
			if n.Event.Err != nil {
				var failed *toolset.FailedError
				require.ErrorAs(t, n.Event.Err, &failed)
			}
		}
	}
	_, err := s.Result()
	require.NoError(t, err)
	require.Equal(t, []string{"reviewer run_start <nil>", "reviewer response <nil>", "reviewer run_end failed: review failed: acpclient: session/prompt: no (-32603)"}, got)
}
