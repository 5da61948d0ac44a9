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

// TestEndingsAndOptionsDecideTogether checks each cell of the table of endings under each option, for all kinds of calls, and with parts
// behind the call: an option changes its own cell and no other.
func TestEndingsAndOptionsDecideTogether(t *testing.T) {
	whole := agent.NewPolicy(agent.PolicyConfig[any]{Name: "whole", Whole: true})
	for _, c := range endings {
		for _, o := range []struct {
			endings agent.Endings
			whole   bool
		}{{}, {agent.Endings{NoCut: true}, false}, {agent.Endings{Filtered: true}, false}, {agent.Endings{NoCut: true, Filtered: true}, false}, {agent.Endings{Filtered: true}, true}} {
			for _, kind := range []string{"text", "act", "outside", "approved", "over", "final"} {
				for _, behind := range []string{"", "opaque", "citation", "thinking"} {
					for _, half := range []bool{false, true} {
						want := c.text
						switch {
						case kind != "text" && half:
							want = c.half
						case kind != "text":
							want = c.call
						case o.whole && c.finish == model.FinishContentFilter, o.whole && c.finish == model.FinishLength,
							o.endings.NoCut && c.finish == model.FinishLength:
							want = agent.ErrTokenLimit
							if c.finish == model.FinishContentFilter {
								want = agent.ErrContentFilter
							}
						case o.endings.Filtered && c.finish == model.FinishContentFilter:
							want = nil
						}
						args, parts := `{"prompt":"go"}`, []model.Part{model.Text("Half an answ")}
						if half {
							args = `{"prompt":"g`
						}
						if kind != "text" {
							parts = append(parts, model.ToolCall("1", kind, args))
						}
						switch behind {
						case "opaque":
							parts = append(parts, model.Part{Kind: model.PartOpaque, Text: "x"})
						case "citation":
							parts = append(parts, model.Part{Kind: model.PartCitation, Text: "x"})
						case "thinking":
							parts = append([]model.Part{model.Thinking("hm")}, parts...)
						}
						where := fmt.Sprintf("%q %s half %t before %q, %+v", c.finish, kind, half, behind, o)
						ran := 0
						type prompt struct {
							Prompt string `json:"prompt"`
						}
						counts := func(context.Context, *toolset.RunContext[deps], prompt) (string, error) { ran++; return "x", nil }
						inner := newAgent(t, cfg{Model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
							ran++
							return model.Response(model.Text("inner")), nil
						})})
						config := agent.Config[deps, string]{
							Endings: o.endings, NoRepair: true,
							Model: modeltest.Script(modeltest.Finish(c.finish, parts...), modeltest.SayText("done")),
							Asker: toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) { return toolset.Allow(), nil }},
							Alternatives: []agent.Alternative[deps, string]{textOutput(), agent.HandOver("over", "", inner, sameDeps),
								agent.OutputFunc("final", "", func(_ context.Context, _ *toolset.RunContext[deps], in prompt) (string, error) {
									ran++
									return "final", nil
								})},
						}
						if o.whole {
							config.Policies = []*agent.Policy{whole}
						}
						approve := toolset.Approve(func(context.Context, *toolset.RunContext[deps], prompt) (*toolset.Approval, error) {
							return &toolset.Approval{Reason: "why"}, nil
						})
						a := newAgent(t, config, toolset.Func("act", "", counts), toolset.Func("approved", "", counts, approve),
							toolset.ExternalTool[deps, prompt]("outside", ""))
						res, err := a.Run(t.Context(), deps{}, "go")
						switch {
						case kind == "outside" && want == nil:
							require.ErrorAs(t, err, new(*agent.PendingError), where)
						case want == nil:
							require.NoError(t, err, where)
							require.Equal(t, kind != "text", ran > 0, where)
							require.Equal(t, kind == "text" && (c.cut || c.finish == model.FinishContentFilter), res.Cut != "", where)
						case want == errRetried:
							require.NoError(t, err, where)
							require.Zero(t, ran, where)
						default:
							require.ErrorIs(t, err, want, where)
							require.Zero(t, ran, where)
							require.NotErrorAs(t, err, new(*agent.PendingError), where)
							requireInterrupted(t, asRunError(t, err).Messages, "Half an answ")
						}
					}
				}
			}
		}
	}
}
