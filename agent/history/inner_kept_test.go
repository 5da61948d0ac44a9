// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability"
	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// What an inner agent finds and plans is there when its call has waited for an answer, and another process goes on, whatever processors do to
// the histories meanwhile, also if a summary fails.
func TestWhatAnInnerAgentKeepsSurvivesAnAnswer(t *testing.T) {
	all := processorsOf(1)
	all["failing summary"] = history.Summarise[none](history.Summary{
		Model:     modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) { return nil, errors.New("no") }),
		Threshold: 1000, KeepTurns: 1, KeepSteps: 1, OnError: func(context.Context, error) error { return nil },
	})
	for name, p := range all {
		t.Run(name, func(t *testing.T) {
			paid := 0
			var requests []*model.Request
			calls := slices.Concat([]model.Part{
				model.ToolCall("s1", "search_tools", `{"query":"flight"}`), model.ToolCall("p", capability.ToolUpdatePlan, `{"plan":[{"step":"fly","status":"pending"}]}`),
			}, looks(4), []model.Part{model.ToolCall("s2", "search_tools", `{"query":"email"}`)}, looks(4), []model.Part{
				model.ToolCall("b1", "book_flight", `{}`), model.ToolCall("e1", "send_email", `{}`),
			}, looks(3), []model.Part{model.ToolCall("b2", "book_flight", `{}`)})
			// process makes the agents anew. The inner model goes on where its history ends.
			process := func() *agent.Agent[none, string] {
				look := toolset.Plain[none]("look", "Look.", func(context.Context, none) (string, error) { return strings.Repeat("lorem ipsum ", 100), nil })
				ask := func(context.Context, *toolset.RunContext[none], none) (*toolset.Approval, error) {
					return &toolset.Approval{}, nil
				}
				book := toolset.Func("book_flight", "Book a flight.", func(context.Context, *toolset.RunContext[none], none) (string, error) {
					paid++
					return "booked", nil
				}, toolset.Approve(ask))
				email := toolset.Plain[none]("send_email", "Send an email.", func(context.Context, none) (string, error) { return "sent", nil })
				inner := agent.Must(agent.New(agent.Config[none, string]{
					Name: "travel", Tools: []*toolset.Tool[none]{look}, History: []agent.HistoryProcessor[none]{p}, Limits: agent.Limits{Requests: agent.Unlimited},
					Toolsets:     []toolset.Toolset[none]{toolset.Searchable(toolset.Of(book, email), toolset.Search[none]{})},
					Capabilities: []agent.Capability[none]{capability.Plan[none]()},
					Model: modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
						requests = append(requests, req)
						if n := len(requests); n <= len(calls) {
							return model.Response(calls[n-1]), nil
						}
						return model.Response(model.Text("inner done")), nil
					}),
				}))
				return agent.Must(agent.New(agent.Config[none, string]{
					Model: modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
						if len(req.Messages) > 1 {
							return model.Response(model.Text("done")), nil
						}
						return model.Response(model.ToolCall("t", "travel", `{"prompt":"go"}`)), nil
					}),
					Tools: []*toolset.Tool[none]{agent.AsTool("travel", "Travels.", inner, func(d none) none { return d })},
				}))
			}
			res, err := process().Run(t.Context(), none{}, "Go.")
			for range 2 {
				var pending *agent.PendingError
				var run *agent.RunError
				require.ErrorAs(t, err, &pending)
				require.ErrorAs(t, err, &run)
				messages := reread(t, run.Messages)
				waiting := agent.PendingCalls(messages)
				require.Len(t, waiting, 1)
				res, err = process().Run(t.Context(), none{}, "", agent.WithHistory(messages), agent.WithResults(agent.DeferredResults{
					Decisions: map[string]toolset.Decision{waiting[0].Key(): toolset.Allow()},
				}))
			}
			require.NoError(t, err)
			require.Equal(t, "done", res.Output)
			require.Equal(t, 2, paid)
			for i, r := range requests {
				require.Equal(t, i > 0, slices.Contains(offered(r), "book_flight"), "request %d", i)
				require.Equal(t, i > 6, slices.Contains(offered(r), "send_email"), "request %d", i)
				for _, m := range r.Messages {
					for _, part := range m.Parts {
						require.NotContains(t, part.Text, "Unknown tool", fmt.Sprint(i))
					}
				}
			}
		})
	}
}
