// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// inStep is the run context of a step in the middle of a run.
var inStep = &toolset.RunContext[deps]{RunInfo: toolset.RunInfo{Step: 2}}

// working is a history of one turn and n steps, with usage if the provider reports it.
func working(n int, usage bool) []*model.Message {
	messages := []*model.Message{model.UserText("do it")}
	for i := range n {
		resp := model.Response(model.ToolCall(fmt.Sprint(i), "look", `{"at":"the sky"}`))
		if usage {
			resp.Usage = model.Usage{InputTokens: int64(20 * (i + 1)), OutputTokens: 10}
		}
		messages = append(messages, resp, request(model.ToolReturn(fmt.Sprint(i), "look", "it is blue")))
	}
	return messages
}

// idle are processors of every kind with nothing to do.
func idle() map[string]history.Processor[deps] {
	return map[string]history.Processor[deps]{
		"KeepLast":    history.KeepLast[deps](1, 0),
		"TokenBudget": history.TokenBudget[deps](history.Budget{Max: 1 << 30}),
		"Clear":       history.ClearResults[deps](history.Clear{Threshold: 1 << 30}),
		"Summarise":   history.Summarise[deps](history.Summary{Model: modeltest.Script(), Threshold: 1 << 30}),
		"Redact":      history.Redact[deps](history.Secrets()...),
	}
}

func TestIdleProcessorEstimatesNewMessagesOnly(t *testing.T) {
	for _, usage := range []bool{true, false} {
		estimated := 0
		p := history.TokenBudget[deps](history.Budget{Max: 1 << 30, Estimate: func(*model.Message) int {
			estimated++
			return 1
		}})
		all := working(1000, usage)
		for n := 21; n <= len(all); n += 2 {
			before := estimated
			_, err := p(context.Background(), inStep, all[:n])
			require.NoError(t, err)
			if n > 21 {
				require.LessOrEqual(t, estimated-before, 2, "usage %v, message %d", usage, n)
			}
		}
	}
}

func TestIdleProcessorRescansOnlyMovedHistories(t *testing.T) {
	estimated := 0
	p := history.TokenBudget[deps](history.Budget{Max: 1 << 30, Estimate: func(*model.Message) int {
		estimated++
		return 1
	}})
	var messages []*model.Message
	const steps = 2000
	for _, m := range working(steps, false) {
		if messages = append(messages, m); m.Kind == model.KindRequest {
			_, err := p(context.Background(), inStep, messages)
			require.NoError(t, err)
		}
	}
	require.Less(t, estimated, 2*steps*8, "a few times per message, however long the history")
}

func TestIdleProcessorAllocatesNothing(t *testing.T) {
	for name, p := range idle() {
		for _, usage := range []bool{true, false} {
			in := working(1000, usage)
			process(t, p, in)
			allocs := testing.AllocsPerRun(100, func() {
				out, err := p(context.Background(), inStep, in)
				if err != nil || !same(in, out) {
					t.Error("not idle")
				}
			})
			require.Zero(t, allocs, name)
		}
	}
}

// A run of 200 steps with idle processors costs four times a run of 50, as it does without any.
func TestCostOfARunGrowsWithItsStepsOnly(t *testing.T) {
	estimated := 0
	looks := func(*model.Message) int { estimated++; return 1 }
	run := func(steps int) int {
		estimated = 0
		n := 0
		m := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			if n++; n > steps {
				return model.Response(model.Text("done")), nil
			}
			resp := model.Response(model.ToolCall(fmt.Sprint(n), "look", `{}`))
			resp.Usage.InputTokens = int64(n * 10)
			return resp, nil
		})
		a, err := agent.New(agent.Config[deps, string]{
			Model: m, Limits: agent.Limits{Requests: -1},
			Toolsets: []toolset.Toolset[deps]{toolset.Of(toolset.Plain[deps]("look", "", func(context.Context, struct{}) (string, error) { return "blue", nil }))},
			History:  []agent.HistoryProcessor[deps]{history.TokenBudget[deps](history.Budget{Max: 1 << 30, Estimate: looks})},
		})
		require.NoError(t, err)
		_, err = a.Run(context.Background(), deps{}, "go")
		require.NoError(t, err)
		return estimated
	}
	require.LessOrEqual(t, float64(run(200))/float64(run(50)), 4.1)
}

func TestMessagesOfARunAreToldFromOlderOnes(t *testing.T) {
	older := turns("abcdefgh", 1)
	older = older[:len(older)-1]
	script := modeltest.Script(
		modeltest.Finish(model.FinishToolCalls, model.ToolCall("1", "look", `{}`)),
		modeltest.Finish(model.FinishToolCalls, model.ToolCall("2", "look", `{}`)),
		modeltest.SayText("done"))
	a, err := agent.New(agent.Config[deps, string]{
		Model:    script,
		Toolsets: []toolset.Toolset[deps]{toolset.Of(toolset.Plain[deps]("look", "", func(context.Context, struct{}) (string, error) { return "hush " + strings.Repeat("x", 4000), nil }))},
		History: []agent.HistoryProcessor[deps]{
			history.Redact[deps](word),
			history.Summarise[deps](history.Summary{Model: modeltest.Script(modeltest.SayText("the summary")), Threshold: 1000, Estimate: hundred}),
			history.KeepLast[deps](2, 0),
			history.TokenBudget[deps](history.Budget{Max: 1500}),
		},
	})
	require.NoError(t, err)
	res, err := a.Run(context.Background(), deps{}, "look, hush", agent.WithHistory(older))
	require.NoError(t, err)
	fresh := dump(res.NewMessages())
	require.Equal(t, "req user:look, [redacted word]\nres call:1\nreq ret:1:[redacte..1024\nres call:2\nreq ret:2:[redacte..4016\nres text:done", fresh)
	require.Equal(t, "req user:Summary ..78\n"+fresh, dump(res.Messages))
	require.NoError(t, wellFormed(res.Messages))
	require.Equal(t, 4, res.Usage.Requests, "the summary is counted")
}

func TestProcessorsKeepNoHistoryAlive(t *testing.T) {
	for name, p := range idle() {
		var kept []weak.Pointer[model.Message]
		func() {
			for range 200 { // more than are remembered without sweeping
				in := working(10, false)
				process(t, p, in)
				kept = append(kept, weak.Make(in[0]))
			}
		}()
		runtime.GC()
		alive := 0
		for _, w := range kept {
			if w.Value() != nil {
				alive++
			}
		}
		require.LessOrEqual(t, alive, 1, name)
	}
}

func TestWeakMapSweepsDeadEntries(t *testing.T) {
	var w history.WeakMap
	kept := new([64]byte)
	w.Set(kept, 1)
	for i := range 10_000 {
		w.Set(new([64]byte), i)
		if i%1000 == 0 {
			runtime.GC()
		}
	}
	require.Less(t, w.Len(), 5000)
	v, ok := w.Get(kept)
	require.True(t, ok)
	require.Equal(t, 1, v)
	runtime.KeepAlive(kept)
}

func TestRedactKnowsMessagesWhereverTheyStand(t *testing.T) {
	var in []*model.Message
	for range 500 {
		in = append(in, model.Response(model.ToolCall("1", "look", `{"at":"sky"}`)), request(model.ToolReturn("1", "look", `{"is":"blue"}`)))
	}
	p := history.Redact[deps](word)
	process(t, p, in)
	allocs := testing.AllocsPerRun(10, func() {
		if _, err := p(context.Background(), nil, slices.Clone(in)); err != nil {
			t.Error(err)
		}
	})
	require.Less(t, allocs, 20.0, "a copy of the history is not looked at again")
}

func TestProcessorsServeManyRunsAtOnce(t *testing.T) {
	all := idle()
	all["Redact"] = history.Redact[deps](history.Rule{Name: "colour", Pattern: regexp.MustCompile("blue")})
	shared := working(30, false)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			messages := shared[:len(shared):len(shared)]
			for _, m := range working(20, i%2 == 0)[1:] {
				if messages = append(messages, m); m.Kind == model.KindResponse {
					continue
				}
				for _, p := range all {
					out, err := p(context.Background(), inStep, messages)
					if err != nil {
						t.Error(err)
						return
					}
					messages = out
				}
			}
			if strings.Contains(dump(messages), "blue") {
				t.Error("not redacted")
			}
		})
	}
	wg.Wait()
}

// BenchmarkIdle measures a step in a history of 100 and of 10,000 messages: the times must be alike.
func BenchmarkIdle(b *testing.B) {
	for name, p := range idle() {
		for _, usage := range []string{"reported", "unreported"} {
			for _, n := range []int{100, 10000} {
				b.Run(fmt.Sprintf("%s/%s/%d", name, usage, n), func(b *testing.B) {
					in := working(n/2, usage == "reported")
					b.ReportAllocs()
					for b.Loop() {
						if _, err := p(context.Background(), inStep, in); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// BenchmarkRedact measures how fast text is looked at.
func BenchmarkRedact(b *testing.B) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog, and nothing is secret. ", 1000)
	p := history.Redact[deps](append(history.Secrets(), history.Emails())...)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := p(context.Background(), nil, []*model.Message{model.UserText(text)}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCut measures a budget that is exceeded by a long history.
func BenchmarkCut(b *testing.B) {
	var in []*model.Message
	for i := range 1000 {
		in = append(in, turn(fmt.Sprint(i), 2)...)
	}
	in = append(in, request(model.User("now")))
	p := history.TokenBudget[deps](history.Budget{Max: history.Estimate(in[0]) * 1000})
	begin := time.Now()
	for b.Loop() {
		if _, err := p(context.Background(), nil, in); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(time.Since(begin).Nanoseconds())/float64(b.N)/float64(len(in)), "ns/message")
}
