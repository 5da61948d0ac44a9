// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
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

type none = struct{}

// keeper is an agent whose tools keep something in the history: a plan, what a search has found, and two counts.
func keeper(t *testing.T, processors []agent.HistoryProcessor[none], answer func(req *model.Request) *model.Message) *agent.Agent[none, string] {
	t.Helper()
	says := func(name, text string) *toolset.Tool[none] {
		return toolset.Plain[none](name, "Do "+name+".", func(context.Context, none) (string, error) { return text, nil })
	}
	counts := toolset.Func("count", "Count.", func(_ context.Context, _ *toolset.RunContext[none], in struct {
		Of string `json:"of"`
		N  int    `json:"n"`
	}) (toolset.Result, error) {
		return toolset.Result{Text: "ok", Meta: json.RawMessage(fmt.Sprint(in.N)), Keep: in.Of}, nil
	})
	return agent.Must(agent.New(agent.Config[none, string]{
		Model: model.Func(model.Info{}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
			return answer(req), nil
		}),
		Tools: []*toolset.Tool[none]{says("look", strings.Repeat("lorem ipsum ", 100)), counts},
		Toolsets: []toolset.Toolset[none]{
			toolset.Searchable(toolset.Of(says("book_flight", "booked"), says("send_email", "sent")), toolset.Search[none]{}),
		},
		Capabilities: []agent.Capability[none]{capability.Plan[none]()}, History: processors, Limits: agent.Limits{Requests: agent.Unlimited},
	}))
}

func offered(req *model.Request) (names []string) {
	for _, d := range req.Tools {
		names = append(names, d.Name)
	}
	return names
}

func reread(t *testing.T, messages []*model.Message) (again []*model.Message) {
	t.Helper()
	data, err := json.Marshal(messages)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &again))
	return again
}

func countsIn(messages []*model.Message) map[string]string {
	counts := map[string]string{}
	for _, p := range model.Kept(messages, "count") {
		counts[p.Keep] = string(p.Meta)
	}
	return counts
}

// turnOf makes the calls, one a step, and then answers.
func turnOf(t *testing.T, processors []agent.HistoryProcessor[none], messages []*model.Message, calls ...model.Part) (all []*model.Message, requests []*model.Request) {
	t.Helper()
	a := keeper(t, processors, func(req *model.Request) *model.Message {
		requests = append(requests, req)
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				require.NotContains(t, p.Text, "Unknown tool")
			}
		}
		if n := len(requests); n <= len(calls) {
			return model.Response(calls[n-1])
		}
		return model.Response(model.Text("done"))
	})
	res, err := a.Run(t.Context(), none{}, "Go on.", agent.WithHistory(messages))
	require.NoError(t, err)
	return reread(t, res.Messages), requests
}

func looks(n int) []model.Part {
	var calls []model.Part
	for i := range n {
		calls = append(calls, model.ToolCall(fmt.Sprint("l", i), "look", `{}`))
	}
	return calls
}

// processorsOf are processors that take messages out, or replace them, in every way there is.
func processorsOf(seed uint64) map[string]agent.HistoryProcessor[none] {
	r := rand.New(rand.NewPCG(seed, 1))
	own := func(process func(messages []*model.Message) []*model.Message) agent.HistoryProcessor[none] {
		return func(_ context.Context, _ *toolset.RunContext[none], messages []*model.Message) ([]*model.Message, error) {
			return process(messages), nil
		}
	}
	return map[string]agent.HistoryProcessor[none]{
		"KeepLast":     history.KeepLast[none](1, 0),
		"TokenBudget":  history.TokenBudget[none](history.Budget{Max: 1000}),
		"ClearResults": history.ClearResults[none](history.Clear{Threshold: 1000, MinBytes: 128, KeepSteps: 1}),
		"Summarise": history.Summarise[none](history.Summary{Model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			return model.Response(model.Text("a summary")), nil
		}), Threshold: 1000, KeepTurns: 1, KeepSteps: 1}),
		"one message": own(func([]*model.Message) []*model.Message { return []*model.Message{model.UserText("All of it.")} }),
		"the last message": own(func(messages []*model.Message) []*model.Message {
			return []*model.Message{model.UserText("Before."), model.UserText("Now.")}
		}),
		"random": own(func(messages []*model.Message) []*model.Message {
			var out []*model.Message
			for i, m := range messages {
				switch last := i == len(messages)-1; {
				case r.IntN(3) == 0 && !last:
				case r.IntN(3) == 0:
					out = append(out, m.Clone())
				default:
					out = append(out, m)
				}
			}
			if len(out) == 1 && model.Kept(out, "") != nil { // an orphan result alone
				out = append(out, model.UserText("Now."))
			}
			return append(out, model.UserText("And now."))
		}),
	}
}

// What tools keep is there in the next step, the next turn and the next process, whatever processors do to the history.
func TestWhatToolsKeepSurvivesProcessors(t *testing.T) {
	for seed := range uint64(10) {
		for name, p := range processorsOf(seed) {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				ps := []agent.HistoryProcessor[none]{p}
				messages, _ := turnOf(t, ps, nil, slices.Concat(looks(2), []model.Part{
					model.ToolCall("1", capability.ToolUpdatePlan, `{"plan":[{"step":"old","status":"pending"}]}`),
					model.ToolCall("1", "count", `{"of":"sheep","n":1}`),
					model.ToolCall("1", "count", `{"of":"goats","n":7}`),
					model.ToolCall("1", "search_tools", `{"query":"flight"}`),
				}, looks(3), []model.Part{
					model.ToolCall("1", "count", `{"of":"sheep","n":2}`),
					model.ToolCall("1", capability.ToolUpdatePlan, `{"plan":[{"step":"new","status":"completed"}]}`),
					model.ToolCall("2", "book_flight", `{}`),
				})...)
				for range 3 {
					var requests []*model.Request
					messages, requests = turnOf(t, ps, messages, slices.Concat(looks(4), []model.Part{model.ToolCall("2", "book_flight", `{}`)})...)
					for _, r := range requests {
						require.Contains(t, offered(r), "book_flight")
						require.NotContains(t, offered(r), "send_email")
					}
					require.Len(t, capability.PlanOf(messages), 1)
					require.Equal(t, "new", capability.PlanOf(messages)[0].Text)
					require.Equal(t, map[string]string{"sheep": "2", "goats": "7"}, countsIn(messages))
				}
			})
		}
	}
}

// A conversation that is taken back to before a tool kept something does not know it. What was kept before is there.
func TestWhatToolsKeepIsLostWithWhatComesAfterACut(t *testing.T) {
	for name, p := range processorsOf(1) {
		if name == "one message" || name == "the last message" || name == "random" {
			continue // they leave nothing to go back to
		}
		t.Run(name, func(t *testing.T) {
			ps := []agent.HistoryProcessor[none]{p}
			messages, _ := turnOf(t, ps, nil, slices.Concat(looks(3), []model.Part{model.ToolCall("1", "count", `{"of":"sheep","n":1}`)})...)
			messages, _ = turnOf(t, ps, messages, looks(5)...)
			before := messages
			messages, _ = turnOf(t, ps, messages, slices.Concat([]model.Part{
				model.ToolCall("1", "search_tools", `{"query":"flight"}`), model.ToolCall("1", capability.ToolUpdatePlan, `{"plan":[{"step":"new","status":"pending"}]}`),
				model.ToolCall("1", "count", `{"of":"sheep","n":2}`),
			}, looks(5))...)
			require.NotNil(t, capability.PlanOf(messages))
			_, requests := turnOf(t, ps, messages)
			require.Contains(t, offered(requests[0]), "book_flight")

			run := messages[len(messages)-1].RunID
			cut := messages[:slices.IndexFunc(messages, func(m *model.Message) bool { return m.RunID == run })]
			for _, back := range [][]*model.Message{before, cut} {
				require.Nil(t, capability.PlanOf(back))
				_, requests = turnOf(t, ps, back)
				require.NotContains(t, offered(requests[0]), "book_flight")
			}
			require.Equal(t, map[string]string{"sheep": "1"}, countsIn(before))
		})
	}
}

// Compact and the processors keep it when they are called outside of runs, too.
func TestCompactKeepsWhatToolsKeep(t *testing.T) {
	messages, _ := turnOf(t, nil, nil, model.ToolCall("1", "search_tools", `{"query":"flight"}`), model.ToolCall("1", capability.ToolUpdatePlan, `{"plan":[{"step":"new","status":"pending"}]}`))
	messages, _ = turnOf(t, nil, messages, looks(2)...)
	short, done, err := history.Compact(t.Context(), history.Summary{Model: modeltest.Script(modeltest.SayText("s")), Threshold: 1000}, messages, "", nil)
	require.NoError(t, err)
	require.NotNil(t, done)
	require.Equal(t, capability.PlanOf(messages), capability.PlanOf(short))
	_, requests := turnOf(t, nil, reread(t, short))
	require.Contains(t, offered(requests[0]), "book_flight")
}

// What is kept is redacted like what was said.
func TestWhatToolsKeepIsRedacted(t *testing.T) {
	secret := "ghp_" + strings.Repeat("a", 36)
	step := model.ToolCall("1", capability.ToolUpdatePlan, fmt.Sprintf(`{"plan":[{"step":"Use %s","status":"pending"}]}`, secret))
	redact := history.Redact[none](history.Secrets()...)
	for _, ps := range [][]agent.HistoryProcessor[none]{{redact}, {redact, history.KeepLast[none](1, 0)}, {history.KeepLast[none](1, 0), redact}} {
		messages, _ := turnOf(t, ps, nil, step)
		for range 2 {
			messages, _ = turnOf(t, ps, messages, looks(1)...)
			require.Equal(t, "Use [redacted GitHub token]", capability.PlanOf(messages)[0].Text)
			data, err := json.Marshal(messages)
			require.NoError(t, err)
			require.NotContains(t, string(data), secret)
		}
	}
	in := []*model.Message{request(model.ToolReturn("1", "look", strings.Repeat(secret+" ", 40))), model.Response(model.ToolCall("2", "look", `{}`)), request(model.ToolReturn("2", "look", "x"))}
	clear := history.ClearResults[deps](history.Clear{Threshold: 1000, KeepSteps: 1, Remember: true, Estimate: func(m *model.Message) int { return len(m.Parts[0].Text) }})
	cleared := process(t, clear, in)
	require.Contains(t, encode(t, cleared), secret, "it is remembered")
	require.NotContains(t, encode(t, process(t, history.Redact[deps](history.Secrets()...), cleared)), secret)
}

// An agent that the conversation stays with keeps it across turns and processes, and the outer agent its own.
func TestWhatToolsKeepStaysWithTheAgentThatTookOver(t *testing.T) {
	for name, p := range processorsOf(1) {
		t.Run(name, func(t *testing.T) {
			ps := []agent.HistoryProcessor[none]{p}
			var messages []*model.Message
			for turn := range 4 {
				var requests []*model.Request
				calls := append(looks(4), model.ToolCall("b", "book_flight", `{}`))
				if turn == 0 {
					calls = append([]model.Part{model.ToolCall("s", "search_tools", `{"query":"flight"}`)}, looks(4)...)
				}
				inner := keeper(t, ps, func(req *model.Request) *model.Message {
					if requests = append(requests, req); len(requests) <= len(calls) {
						return model.Response(calls[len(requests)-1])
					}
					return model.Response(model.Text("done"))
				})
				outer := agent.Must(agent.New(agent.Config[none, string]{
					Model:        modeltest.Script(modeltest.Say(model.ToolCall("h", "travel", `{"prompt":"go"}`))),
					Alternatives: []agent.Alternative[none, string]{agent.HandOver("travel", "Books.", inner, func(d none) none { return d }, agent.Stay())},
				}))
				res, err := outer.Run(t.Context(), none{}, "Go on.", agent.WithHistory(messages))
				require.NoError(t, err)
				messages = reread(t, res.Messages)
				for i, r := range requests {
					require.Equal(t, turn > 0 || i > 0, slices.Contains(offered(r), "book_flight"))
				}
			}
		})
	}
}
