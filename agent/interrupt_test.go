// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

var errCancelled = errors.New("the user pressed escape")

func TestCancellationInTheModelKeepsTheHistory(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	m := modeltest.Func(func(ctx context.Context, _ *model.Request) (*model.Message, error) {
		cancel(errCancelled)
		return nil, fmt.Errorf("request: %w", ctx.Err())
	})
	for name, do := range map[string]func(a *agent.Agent[deps, string]) error{
		"Run":    func(a *agent.Agent[deps, string]) error { _, err := a.Run(ctx, deps{}, "go"); return err },
		"Stream": func(a *agent.Agent[deps, string]) error { _, err := a.Stream(ctx, deps{}, "go").Result(); return err },
	} {
		t.Run(name, func(t *testing.T) {
			err := do(newAgent(t, cfg{Model: m}))
			require.ErrorIs(t, err, errCancelled, "the cause of the cancellation")
			require.Equal(t, "request\n  user: go\n", dump(asRunError(t, err).Messages))
		})
	}
}

func TestCancellationInToolsKeepsCompletedResultsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errCancelled) })
		script := modeltest.Script(modeltest.Say(call("1", "slow"), call("2", "hi")), modeltest.SayText("continued"))
		a := newAgent(t, cfg{Model: script}, sleeper("slow", time.Hour), says("hi", "hi"))
		_, err := a.Run(ctx, deps{}, "go")
		require.ErrorIs(t, err, errCancelled)
		history := asRunError(t, err).Messages
		require.Equal(t, "request interrupted\n  tool_return 2 hi: hi\n", last(history))

		// It can be continued: with a new prompt, or as it is.
		for _, prompt := range []string{"go on", ""} {
			script := modeltest.Script(modeltest.SayText("continued"))
			res, err := newAgent(t, cfg{Model: script}).Run(t.Context(), deps{}, prompt, agent.WithHistory(history))
			require.NoError(t, err)
			require.Equal(t, "continued", res.Output)
			sent := dump(script.Requests()[0].Messages)
			require.Contains(t, sent, "request interrupted\n  tool_return 2 hi: hi\n  tool_return 1 slow interrupted: Interrupted before a result was produced. It is not known whether the call had any effect.\n")
		}
	})
}

func TestCancelledRunMakesNoFurtherRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	script := modeltest.Script(modeltest.Say(call("1", "stop")), modeltest.SayText("never"))
	a := newAgent(t, cfg{Model: script}, tool("stop", func(context.Context, *toolset.RunContext[deps]) (string, error) { cancel(); return "done", nil }))
	_, err := a.Run(ctx, deps{}, "go")
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, script.Requests(), 1)
	require.Equal(t, "request\n  tool_return 1 stop: done\n", last(asRunError(t, err).Messages))
}

// conversation is a history with every kind of message.
func conversation() (cfg, []modeltest.Step, []*toolset.Tool[deps]) {
	return cfg{Instructions: "Be exact.", ToolRetries: new(3)}, []modeltest.Step{
			modeltest.Say(model.Thinking("hm"), add("1", 1, 2), add("2", 3, 4), add("3", 1, 200)),
			modeltest.Say(call("1", "hi")),
			modeltest.Say(),
			modeltest.Say(add("1", 5, 6)),
			modeltest.SayText("all done"),
		}, []*toolset.Tool[deps]{
			addTool(), says("hi", "hello"),
		}
}

func TestRunCanBeResumedByAnotherProcessFromAnyPoint(t *testing.T) {
	config, steps, tools := conversation()
	whole, _, _ := run(t, config, steps, tools...)
	for cut := 1; cut < len(whole.Messages); cut++ {
		data, err := json.Marshal(whole.Messages[:cut])
		require.NoError(t, err)
		var history []*model.Message
		require.NoError(t, json.Unmarshal(data, &history))
		asked := 0
		for _, m := range history {
			if m.Kind == model.KindResponse {
				asked++
			}
		}
		res, runErr, _ := runWith(t, config, steps[asked:], "", []agent.RunOption{agent.WithHistory(history), agent.WithResume()}, tools...)
		require.Nil(t, runErr)
		require.Equal(t, whole.Output, res.Output)
		require.Equal(t, dump(whole.Messages), dump(res.Messages), "cut at %d", cut)
	}
}

func TestRunStoppedAnywhereCanBeContinuedWithAPrompt(t *testing.T) {
	config, steps, tools := conversation()
	for after := range 200 {
		config.Model = modeltest.Script(steps...)
		s := newAgent(t, config, tools...).Stream(context.Background(), deps{}, "go")
		n, ended := 0, false
		for e := range s.Events() {
			if ended = e.Kind == agent.EventRunEnd; n == after {
				break
			}
			n++
		}
		if ended {
			require.Greater(t, after, 20)
			return
		}
		_, err := s.Result()
		require.ErrorIs(t, err, agent.ErrStopped)
		require.False(t, ended)
		res, runErr, script := runWith(t, cfg{}, []modeltest.Step{modeltest.SayText("ok")}, "go on", []agent.RunOption{agent.WithHistory(asRunError(t, err).Messages)})
		require.Nil(t, runErr, "stopped after event %d", after)
		require.Equal(t, "ok", res.Output)
		requireAnswered(t, script.Requests()[0].Messages)
	}
	t.Fatal("the run never ended")
}

// requireAnswered checks that every call is answered exactly once, by the request that follows it.
func requireAnswered(t *testing.T, messages []*model.Message) {
	t.Helper()
	open := map[string]bool{}
	for _, m := range messages {
		if m.Kind == model.KindResponse {
			require.Empty(t, open, "calls without an answer in\n%s", dump(messages))
		}
		for i := range m.Parts {
			switch p := &m.Parts[i]; {
			case p.Kind == model.PartToolCall:
				open[p.CallID] = true
			case p.Kind == model.PartToolReturn, p.Kind == model.PartRetry && p.CallID != "":
				require.True(t, open[p.CallID], "answer without a call: %s in\n%s", dumpPart(p), dump(messages))
				delete(open, p.CallID)
			}
		}
	}
	require.Empty(t, open)
}

func TestNewPromptMayFollowAnInterruptedResponse(t *testing.T) {
	interrupted := model.Response(add("1", 1, 2))
	interrupted.Interrupted = true
	_, err, script := runWith(t, cfg{}, []modeltest.Step{modeltest.SayText("ok")}, "go on", []agent.RunOption{agent.WithHistory([]*model.Message{model.UserText("go"), interrupted})}, addTool())
	require.Nil(t, err)
	require.Equal(t, "request\n  user: go\nresponse interrupted\n  tool_call 1 add {\"x\":1,\"y\":2}\nrequest interrupted\n"+
		"  tool_return 1 add interrupted: Interrupted before a result was produced. It is not known whether the call had any effect.\nrequest\n  user: go on\n", dump(script.Requests()[0].Messages))
}
