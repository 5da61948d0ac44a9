// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// watched is a tool that always needs approval.
func watched(name string, opts ...toolset.Option) *toolset.Tool[deps] {
	t := tool(name, func(_ context.Context, run *toolset.RunContext[deps]) (string, error) { return "did " + name, nil }, opts...)
	t.Approval = func(context.Context, *toolset.RunContext[deps], any) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Do " + name, Scope: name}, nil
	}
	return t
}

// recorder allows everything and keeps what it was asked about.
type recorder struct {
	name  string
	asked []string
	last  toolset.ApprovalRequest
}

func (r *recorder) Approve(_ context.Context, req toolset.ApprovalRequest) (toolset.Decision, error) {
	r.asked = append(r.asked, strings.Join(req.Path, "/")+" "+req.Agent+" "+req.Tool)
	r.last = req
	return toolset.Decision{Verdict: toolset.VerdictAllow, By: r.name}, nil
}

func (r *recorder) Answer(_ context.Context, q toolset.Question) (toolset.Reply, error) {
	r.asked = append(r.asked, strings.Join(q.Path, "/")+" "+q.Agent+" "+q.Tool+": "+q.Message)
	return toolset.Reply{Action: toolset.ActionAccept, Content: json.RawMessage(`{"answer":42}`)}, nil
}

func TestAskerOfTheRunComesFirst(t *testing.T) {
	config, option := &recorder{}, &recorder{}
	steps := []modeltest.Step{modeltest.Say(call("1", "x")), modeltest.SayText("ok"), modeltest.Say(call("2", "x")), modeltest.SayText("ok")}
	a := newAgent(t, cfg{Name: "a", Model: modeltest.Script(steps...), Asker: config}, watched("x", toolset.OfKind(toolset.KindEdit, "Do it")))
	_, err := a.Run(t.Context(), deps{}, "go", agent.WithRunID("r"))
	require.NoError(t, err)
	require.Equal(t, []string{"1 a x"}, config.asked)
	require.Equal(t, toolset.ApprovalRequest{
		Origin: toolset.Origin{Path: []string{"1"}, Agent: "a", RunID: "r", Step: 1, Tool: "x", Kind: toolset.KindEdit, Title: "Do it"},
		Args:   json.RawMessage(`{}`), Approval: toolset.Approval{Title: "Do x", Scope: "x"},
	}, config.last)
	_, err = a.Run(t.Context(), deps{}, "go", agent.WithAsker(option), agent.WithAsker(nil))
	require.NoError(t, err)
	_, err = newAgent(t, cfg{Name: "a", Model: modeltest.Script(steps[2:]...), Asker: config}, watched("x")).Run(t.Context(), deps{}, "go", agent.WithAsker(option))
	require.NoError(t, err)
	require.Equal(t, []string{"2 a x"}, option.asked)
	require.Equal(t, []string{"1 a x", "2 a x"}, config.asked, "a nil asker changes nothing")
}

func same(d deps) deps { return d }

func TestInnerRunsAskTheOuterAsker(t *testing.T) {
	asks := func(id string) *modeltest.Scripted {
		return modeltest.Script(modeltest.Say(call(id, "x")), modeltest.SayText("done"))
	}
	delegates := func(id, tool string) *modeltest.Scripted {
		return modeltest.Script(modeltest.Say(model.ToolCall(id, tool, `{"prompt":"go"}`)), modeltest.SayText("done"))
	}
	own, outer := &recorder{}, &recorder{}
	deep := newAgent(t, cfg{Name: "deep", Model: asks("3")}, watched("x"))
	middle := newAgent(t, cfg{Name: "middle", Model: delegates("2", "deep")}, agent.AsTool("deep", "", deep, same))
	private := newAgent(t, cfg{Name: "private", Model: asks("5"), Asker: own}, watched("x"))
	by := newAgent(t, cfg{Name: "by", Model: asks("7")}, watched("x"))
	byHand := tool("by_hand", func(ctx context.Context, run *toolset.RunContext[deps]) (string, error) {
		res, err := by.Run(ctx, run.Deps, "go", agent.Within(run))
		if err != nil {
			return "", err
		}
		return res.Output, nil
	})
	top := newAgent(t, cfg{Name: "top", Model: modeltest.Script(
		modeltest.Say(model.ToolCall("1", "middle", `{"prompt":"go"}`)), modeltest.Say(model.ToolCall("4", "private", `{"prompt":"go"}`)),
		modeltest.Say(call("6", "by_hand")), modeltest.SayText("ok"),
	)}, agent.AsTool("middle", "", middle, same), agent.AsTool("private", "", private, same), byHand)
	res, err := top.Run(t.Context(), deps{}, "go", agent.WithAsker(outer))
	require.NoError(t, err)
	require.Equal(t, []string{"1/2/3 deep x", "6/7 by x"}, outer.asked)
	require.Equal(t, []string{"4/5 private x"}, own.asked, "an inner agent's own asker comes first")
	require.Equal(t, 4+2+2+2+2, res.Usage.Requests, "and Within counts on the outer meter")
}

func TestHandOverAsksTheOuterAsker(t *testing.T) {
	inner := newAgent(t, cfg{Name: "inner", Model: modeltest.Script(modeltest.Say(call("2", "x")), modeltest.SayText("done"))}, watched("x"))
	outer := &recorder{}
	a := newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "over", `{"prompt":"go"}`))), Asker: outer,
		Alternatives: []agent.Alternative[deps, string]{agent.HandOver[deps, deps, string]("over", "", inner, same)}})
	res, err := a.Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, "done", res.Output)
	require.Equal(t, []string{"1/2 inner x"}, outer.asked)
}

func TestOneQuestionIsOpenAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open, most, answered atomic.Int32
		wait := func(ctx context.Context) error {
			most.Store(max(most.Load(), open.Add(1)))
			defer open.Add(-1)
			answered.Add(1)
			select {
			case <-time.After(time.Second):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		asker := toolset.AskerFuncs{
			OnApprove: func(ctx context.Context, _ toolset.ApprovalRequest) (toolset.Decision, error) {
				return toolset.Allow(), wait(ctx)
			},
			OnAnswer: func(ctx context.Context, _ toolset.Question) (toolset.Reply, error) {
				return toolset.Reply{Action: toolset.ActionCancel}, wait(ctx)
			},
		}
		asks := tool("asks", func(ctx context.Context, run *toolset.RunContext[deps]) (string, error) {
			reply, err := run.Ask(ctx, toolset.Question{Message: "?"})
			return string(reply.Action), err
		})
		brief := tool("brief", func(ctx context.Context, run *toolset.RunContext[deps]) (string, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
			defer cancel()
			_, err := run.Ask(ctx, toolset.Question{Message: "?"})
			return fmt.Sprint(errors.Is(err, context.DeadlineExceeded)), nil
		})
		inner := newAgent(t, cfg{Model: modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
			if len(req.Messages) == 1 {
				return model.Response(call("a", "asks"), call("b", "asks"), call("c", "x")), nil
			}
			return model.Response(model.Text("done")), nil
		})}, asks, watched("x"))
		a := newAgent(t, cfg{Asker: asker, Model: modeltest.Script(
			modeltest.Say(call("1", "asks"), model.ToolCall("2", "inner", `{"prompt":"go"}`), model.ToolCall("3", "inner", `{"prompt":"go"}`), call("4", "brief")),
			modeltest.SayText("ok"),
		)}, asks, brief, agent.AsTool("inner", "", inner, same))
		res, err := a.Run(t.Context(), deps{}, "go")
		require.NoError(t, err)
		require.EqualValues(t, 1, most.Load())
		require.GreaterOrEqual(t, answered.Load(), int32(1+2*3))
		require.Equal(t, "cancel", res.Messages[2].Parts[0].Text)
		require.Equal(t, "true", res.Messages[2].Parts[3].Text, "waiting for another question ends with ctx")
	})
}

func TestAskWithoutAnAskerFails(t *testing.T) {
	var got error
	asks := tool("asks", func(ctx context.Context, run *toolset.RunContext[deps]) (string, error) {
		_, got = run.Ask(ctx, toolset.Question{Message: "?"})
		return "went on", nil
	})
	for name, config := range map[string]cfg{"no asker": {}, "nobody answers": {Asker: toolset.AskerFuncs{}}} {
		got = nil
		_, failed, _ := run(t, config, []modeltest.Step{modeltest.Say(call("1", "asks")), modeltest.SayText("ok")}, asks)
		require.Nil(t, failed)
		require.ErrorIs(t, got, toolset.ErrNobody, name)
	}
	_, failed, _ := run(t, cfg{Asker: toolset.AskerFuncs{}}, []modeltest.Step{modeltest.Say(call("1", "x"))}, watched("x"))
	pendingOf(t, failed)
}

func TestToolsCanAskQuestions(t *testing.T) {
	asker := &recorder{}
	asks := tool("asks", func(ctx context.Context, run *toolset.RunContext[deps]) (string, error) {
		reply, err := run.Ask(ctx, toolset.Question{Origin: toolset.Origin{Tool: "invented"}, Message: "What is it?", Schema: json.RawMessage(`{"type":"object"}`)})
		return string(reply.Content), err
	})
	res, failed, _ := run(t, cfg{Name: "a", Asker: asker}, []modeltest.Step{modeltest.Say(call("1", "asks")), modeltest.SayText("ok")}, asks)
	require.Nil(t, failed)
	require.Equal(t, `{"answer":42}`, res.Messages[2].Parts[0].Text)
	require.Equal(t, slices.Repeat([]string{"1 a asks: What is it?"}, 3), asker.asked, "of Run, of Stream, and elsewhere")
}

func TestGenerateIsPartOfTheRun(t *testing.T) {
	var hooked []string
	var asked *model.Request
	steps := []modeltest.Step{modeltest.Say(call("1", "samples")), modeltest.SayText("a poem"), modeltest.SayText("ok")}
	samples := tool("samples", func(ctx context.Context, run *toolset.RunContext[deps]) (string, error) {
		done := make(chan string)
		var err error
		go func() {
			var resp *model.Message
			if resp, err = run.Generate(ctx, &model.Request{Messages: []*model.Message{model.UserText("Write a poem.")}, Settings: &model.Settings{MaxTokens: 7}}); err == nil {
				done <- resp.Text()
			}
			close(done)
		}()
		return <-done, err
	})
	config := cfg{
		Settings: &model.Settings{MaxTokens: 100, Temperature: new(0.5)},
		Hooks: []agent.Hooks[deps]{{Request: func(ctx context.Context, run *toolset.RunContext[deps], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
			hooked = append(hooked, fmt.Sprintf("%d %q", run.Step, run.Call.ID))
			if run.Call.ID != "" {
				asked = req
			}
			return next(ctx, req)
		}}},
	}
	config.Model = modeltest.Script(steps...)
	res, err := newAgent(t, config, samples).Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, "a poem", res.Messages[2].Parts[0].Text)
	require.Equal(t, []string{`1 ""`, `1 "1"`, `2 ""`}, hooked)
	require.Equal(t, &model.Settings{MaxTokens: 7, Temperature: new(0.5)}, asked.Settings, "what the request leaves out is the run's")
	require.Equal(t, 3, res.Usage.Requests)
	require.EqualValues(t, 30, res.Usage.InputTokens)

	config.Model, config.Limits = modeltest.Script(steps...), agent.Limits{Requests: 1}
	_, err = newAgent(t, config, samples).Run(t.Context(), deps{}, "go")
	var limit *agent.LimitError
	require.ErrorAs(t, err, &limit)
	require.Equal(t, "samples", asRunError(t, err).Tool)

	config.Model, config.Limits = modeltest.Script(steps[0], modeltest.Fail(errBoom)), agent.Limits{}
	_, err = newAgent(t, config, samples).Run(t.Context(), deps{}, "go")
	require.ErrorIs(t, err, errBoom)
}

func TestGenerateIsPriced(t *testing.T) {
	samples := tool("samples", func(ctx context.Context, run *toolset.RunContext[deps]) (string, error) {
		_, err := run.Generate(ctx, &model.Request{Messages: []*model.Message{model.UserText("x")}})
		return "", err
	})
	config := cfg{Prices: dollar, Limits: agent.Limits{Cost: 1.5}}
	config.Model = modeltest.Script(modeltest.Say(call("1", "samples")), modeltest.SayText("a poem"), modeltest.SayText("ok"))
	_, err := newAgent(t, config, samples).Run(t.Context(), deps{}, "go")
	var limit *agent.LimitError
	require.ErrorAs(t, err, &limit, "a response costs 1")
	require.Equal(t, "samples", asRunError(t, err).Tool)
}

func TestUnusedAskerCostsNothing(t *testing.T) {
	measure := func(asker toolset.Asker) float64 {
		a := newAgent(t, cfg{Model: turns(1), Instructions: "You add numbers.", Asker: asker}, addTool())
		return testing.AllocsPerRun(100, func() {
			_, err := a.Run(context.Background(), deps{}, "What is 1+2?")
			require.NoError(t, err)
		})
	}
	if !raceEnabled { // pools forget at random
		require.InDelta(t, measure(nil), measure(&recorder{}), 0.5)
	}
}

// Questions that wait for another one to be answered end with the run, and nobody is asked them.
func TestWaitingQuestionsEndWithTheRun(t *testing.T) {
	needs := toolset.Approve(func(context.Context, *toolset.RunContext[struct{}], struct{}) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Sure?"}, nil
	})
	for name, tool := range map[string]*toolset.Tool[struct{}]{
		"approvals": toolset.Func("t", "", func(context.Context, *toolset.RunContext[struct{}], struct{}) (string, error) { return "", nil }, needs),
		"questions": toolset.Func("t", "", func(ctx context.Context, run *toolset.RunContext[struct{}], _ struct{}) (string, error) {
			reply, err := run.Ask(ctx, toolset.Question{Message: "Sure?"})
			return string(reply.Action), err
		}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stop := errors.New("stop")
				ctx, cancel := context.WithCancelCause(t.Context())
				var asked atomic.Int32
				wait := func(ctx context.Context) error {
					asked.Add(1)
					<-ctx.Done()
					return context.Cause(ctx)
				}
				a := agent.Must(agent.New(agent.Config[struct{}, string]{
					Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "t", `{}`), model.ToolCall("2", "t", `{}`), model.ToolCall("3", "t", `{}`))),
					Tools: []*toolset.Tool[struct{}]{tool},
					Asker: toolset.AskerFuncs{
						OnApprove: func(ctx context.Context, _ toolset.ApprovalRequest) (toolset.Decision, error) {
							return toolset.Decision{}, wait(ctx)
						},
						OnAnswer: func(ctx context.Context, _ toolset.Question) (toolset.Reply, error) {
							return toolset.Reply{}, wait(ctx)
						},
					},
				}))
				ended := make(chan error, 1)
				go func() {
					_, err := a.Run(ctx, struct{}{}, "go")
					ended <- err
				}()
				synctest.Wait()
				require.EqualValues(t, 1, asked.Load(), "one at a time")
				cancel(stop)
				require.ErrorIs(t, <-ended, stop)
				require.EqualValues(t, 1, asked.Load())
			})
		})
	}
}
