// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// tokens is what a history costs the models of these tests.
func tokens(messages []*model.Message) (n int64) {
	for _, m := range messages {
		for i := range m.Parts {
			n += int64(20 + len(m.Parts[i].Text)/4 + len(m.Parts[i].Args)/4)
		}
	}
	return n
}

var errBroken = errors.New("the model is broken")

// reporter is a model that reports what a request has cost. It fails where there is no message.
func reporter(next func(*model.Request) *model.Message) model.Model {
	return model.Func(model.Info{Provider: "p", Name: "m"}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
		m := next(req)
		if m == nil {
			return nil, errBroken
		}
		m.Usage = model.Usage{InputTokens: tokens(req.Messages), OutputTokens: 5}
		return m, nil
	})
}

// summariser writes summaries.
func summariser() model.Model {
	return reporter(func(req *model.Request) *model.Message {
		m := model.Response(model.Text("They talked."))
		m.Finish = model.FinishStop
		return m
	})
}

// processorOf returns a processor that the dice choose, and its name.
func processorOf(d dice) (string, agent.HistoryProcessor[none]) {
	every := func(change func(*model.Part)) agent.HistoryProcessor[none] {
		return func(_ context.Context, _ *toolset.RunContext[none], all []*model.Message) ([]*model.Message, error) {
			made := slices.Clone(all)
			for i, m := range all {
				c := m.Clone()
				for k := range c.Parts {
					change(&c.Parts[k])
				}
				if exactly(c) != exactly(m) {
					made[i] = c
				}
			}
			return made, nil
		}
	}
	r := d.at("processor")
	switch r.IntN(10) {
	case 0:
		return "keep", history.KeepLast[none](1+r.IntN(2), r.IntN(2))
	case 1:
		return "budget", history.TokenBudget[none](history.Budget{Max: 150 + r.IntN(300), ReturnBytes: 128})
	case 2:
		return "clear", history.ClearResults[none](history.Clear{Threshold: 1000, KeepSteps: 1, MinBytes: 128, Remember: r.IntN(2) == 0, Estimate: large})
	case 3, 4:
		return "summarise", history.Summarise[none](history.Summary{Model: summariser(), Threshold: 1000, KeepTurns: 1, KeepSteps: 1, Estimate: large})
	case 5:
		return "redact", history.Redact[none](history.Rule{Name: "secret", Pattern: regexp.MustCompile(`secret-\d+`)})
	case 6:
		return "shorten", every(func(p *model.Part) { p.Text = p.Text[:min(len(p.Text), 12)] })
	case 7:
		return "replace", every(func(p *model.Part) {
			if p.Kind == model.PartToolReturn {
				p.Text = "gone"
			}
		})
	case 8:
		return "forget whose they are", func(_ context.Context, _ *toolset.RunContext[none], all []*model.Message) ([]*model.Message, error) {
			made := slices.Clone(all)
			for i, m := range all {
				if m.RunID != "" && m.Kind == model.KindRequest && !m.Pending {
					made[i] = m.Clone()
					made[i].RunID = ""
				}
			}
			return made, nil
		}
	default:
		return "drop", func(_ context.Context, _ *toolset.RunContext[none], all []*model.Message) ([]*model.Message, error) {
			return all[max(0, len(all)-3):], nil
		}
	}
}

func exactly(m *model.Message) string {
	data, err := m.MarshalJSON()
	if err != nil {
		panic(err)
	}
	return string(data)
}

// large estimates that messages are large.
func large(m *model.Message) int { return 4 * int(tokens([]*model.Message{m})) }

// talker returns an agent of random calls, whose results are all different.
func talker(d dice, results *[]string) *agent.Agent[none, string] {
	steps, made := 0, 0
	says := func(*model.Request) *model.Message {
		steps++
		r := d.at("step", steps)
		if r.IntN(10) == 0 {
			return nil
		}
		parts := []model.Part{model.Text(fmt.Sprint("I say ", steps, ". ", strings.Repeat("Word. ", r.IntN(40))))}
		for n := range r.IntN(3) {
			parts = append(parts, model.ToolCall(choice(r, "a", "b")+fmt.Sprint(n), choice(r, "look", "look", "pay"), `{}`))
		}
		return model.Response(parts...)
	}
	result := func(context.Context, *toolset.RunContext[none], none) (string, error) {
		made++
		text := fmt.Sprintf("result %d, secret-%d. %s", made, made, strings.Repeat("More. ", d.at("result", made).IntN(100)))
		*results = append(*results, text)
		return text, nil
	}
	paying := toolset.Approved(toolset.Of(toolset.Func("pay", "Pay.", result)), func(context.Context, *toolset.RunContext[none], *toolset.Tool[none], any) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Pay"}, nil
	})
	_, processor := processorOf(d)
	return agent.Must(agent.New(agent.Config[none, string]{
		Model: reporter(says), Tools: []*toolset.Tool[none]{toolset.Func("look", "Look.", result)}, Toolsets: []toolset.Toolset[none]{paying},
		History: []agent.HistoryProcessor[none]{processor}, MaxParallelCalls: 1,
	}))
}

// What is shown, and the history of the next request, are the same in the process that has the turns
// and in those that read the session, whatever processors make of the history. Nothing that a tool
// has returned leaves the session.
func TestProcessorsChangeNothingThatIsShown(t *testing.T) {
	for seed := range dice(60) {
		synctest.Test(t, func(t *testing.T) {
			name, _ := processorOf(seed)
			s := openShown(t, new(session.Memory), true)
			var results []string
			a := talker(seed, &results)
			hidden := func(text string) string { return text }
			if name == "redact" { // what is not to be stored is shown once
				secret := regexp.MustCompile(`secret-\d+`)
				hidden = func(text string) string { return secret.ReplaceAllString(text, "[redacted secret]") }
			}
			for n := range 5 {
				r := seed.at("turn", n)
				text := fmt.Sprint("prompt ", n, ", secret-0. ", strings.Repeat("Please. ", r.IntN(30)))
				var opts []agent.RunOption
				if calls := agent.PendingCalls(s.c.Messages()); len(calls) > 0 && r.IntN(3) > 0 {
					text = ""
					var given agent.DeferredResults
					for i := range calls {
						given.Decide(calls[i].Key(), choice(r, toolset.Deny("no"), toolset.Allow()))
						require.NoError(t, s.c.Answer(t.Context(), &calls[i], given))
					}
					opts = append(opts, agent.WithResults(given))
				}
				inbox := new(agent.Inbox)
				if r.IntN(3) == 0 {
					inbox.Send(model.User("by the way, secret-1"))
				}
				err := promptShown(s, a, text, nil, append(opts, agent.WithInbox(inbox))...)
				if err != nil && !errors.Is(err, errBroken) {
					require.ErrorAs(t, err, new(*agent.PendingError), "seed %d, %s", seed, name)
				}
				require.Equal(t, hidden(textOf(s.fold)), hidden(textOf(readShown(t, s.store))), "seed %d, %s, turn %d", seed, name, n)
				require.Equal(t, exact(t, s.c.Messages()), exact(t, read(t, s.store).Messages()), "seed %d, %s, turn %d", seed, name, n)
				all := exported(t, s.store)
				for _, text := range results {
					require.Contains(t, hidden(all), hidden(strings.TrimSpace(text)), "seed %d, %s, turn %d", seed, name, n)
				}
				past, err := transcript.Past(t.Context(), s.store, "s")
				require.NoError(t, err)
				last := past[len(past)-1]
				require.False(t, slices.ContainsFunc(last.Messages, func(m *model.Message) bool { return m.Metadata[history.MetaSummary] != "" }))
				steps := 0
				for _, m := range last.Messages {
					if m.Kind == model.KindResponse {
						require.Greater(t, m.Step, steps, "seed %d, %s, turn %d", seed, name, n)
						steps = m.Step
					}
				}
			}
			require.NoError(t, s.w.Close(t.Context()))
		})
	}
}

// A summary that has the place of a part of a turn goes with the turn, which is taken back to the
// history before it. One that has the place of whole turns stays, and they cannot be taken back.
func TestSummariesAndRewind(t *testing.T) {
	s := openShown(t, new(session.Memory), true)
	steps := 0
	a := agent.Must(agent.New(agent.Config[none, string]{
		Model: reporter(func(req *model.Request) *model.Message {
			if says := req.Messages[len(req.Messages)-1].Parts[0]; says.Text == "long" {
				steps = 8
			}
			if steps--; steps > 0 {
				return model.Response(model.ToolCall(fmt.Sprint("c", steps), "look", `{}`))
			}
			return model.Response(model.Text("Done."))
		}),
		Tools: []*toolset.Tool[none]{toolset.Func("look", "Look.", func(context.Context, *toolset.RunContext[none], none) (string, error) {
			return strings.Repeat("A long result. ", 60), nil
		})},
		History: []agent.HistoryProcessor[none]{history.Summarise[none](history.Summary{Model: summariser(), Threshold: 1000, KeepSteps: 1})},
	}))
	var ids []string
	for _, text := range []string{"one", "two", "long"} {
		require.NoError(t, promptShown(s, a, text, nil))
		ids = append(ids, s.turn.ID())
	}
	require.Len(t, summariesIn(s.c.Messages()), 1)
	_, err := s.c.Rewind(t.Context(), ids[1])
	require.ErrorIs(t, err, session.ErrInvalid)
	gone, err := s.c.Rewind(t.Context(), ids[2])
	require.NoError(t, err)
	require.Equal(t, ids[2:], gone)
	require.Len(t, s.c.Messages(), 4)
	require.Empty(t, summariesIn(s.c.Messages()))
	require.Equal(t, exact(t, s.c.Messages()), exact(t, read(t, s.store).Messages()))
	requireSame(t, s)
	require.NoError(t, promptShown(s, a, "four", nil))
	requireSame(t, s)

	made, _, err := history.Compact(t.Context(), history.Summary{Model: summariser(), Threshold: 1000}, s.c.Messages(), "", nil)
	require.NoError(t, err)
	now, err := s.c.Begin(t.Context())
	require.NoError(t, err)
	require.NoError(t, now.Finish(t.Context(), made, transcript.Done))
	requireSame(t, s)
	before := exact(t, s.c.Messages())
	_, err = s.c.Rewind(t.Context(), ids[1])
	require.ErrorIs(t, err, session.ErrInvalid)
	require.Equal(t, before, exact(t, s.c.Messages()))
	require.NoError(t, s.w.Close(t.Context()))
}

// What became of calls that waited stays when the turn that took the place of their answers is taken
// back. The summary of a part of it does not.
func TestSummarisedTurnLeavesResultsOfCallsThatWaited(t *testing.T) {
	s := openShown(t, new(session.Memory), true)
	steps := 0
	pay := toolset.Approved(toolset.Of(toolset.Func("pay", "Pay.", func(context.Context, *toolset.RunContext[none], none) (string, error) {
		return "paid", nil
	})), func(context.Context, *toolset.RunContext[none], *toolset.Tool[none], any) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Pay"}, nil
	})
	look := toolset.Func("look", "Look.", func(context.Context, *toolset.RunContext[none], none) (string, error) {
		return strings.Repeat("A long result. ", 60), nil
	})
	a := agent.Must(agent.New(agent.Config[none, string]{
		Toolsets: []toolset.Toolset[none]{pay}, Tools: []*toolset.Tool[none]{look},
		Model: reporter(func(req *model.Request) *model.Message {
			parts := req.Messages[len(req.Messages)-1].Parts
			switch parts[len(parts)-1].Text {
			case "pay":
				return model.Response(model.ToolCall("p", "pay", `{}`))
			case "long":
				steps = 8
			}
			if steps--; steps > 0 {
				return model.Response(model.ToolCall(fmt.Sprint("c", steps), "look", `{}`))
			}
			return model.Response(model.Text("Done."))
		}),
		History: []agent.HistoryProcessor[none]{history.Summarise[none](history.Summary{Model: summariser(), Threshold: 1000, KeepSteps: 1})},
	}))
	require.NoError(t, promptShown(s, a, "one", nil))
	require.True(t, errors.As(promptShown(s, a, "pay", nil), new(*agent.PendingError)))
	before := s.c.Messages()
	require.NoError(t, promptShown(s, a, "long", nil))
	require.Len(t, summariesIn(s.c.Messages()), 1)
	_, err := s.c.Rewind(t.Context(), s.turn.ID())
	require.NoError(t, err)
	n := len(before) - 1
	require.Len(t, s.c.Messages(), n+1)
	require.Equal(t, exact(t, before[:n]), exact(t, s.c.Messages()[:n]))
	require.Equal(t, "p", s.c.Messages()[n].Parts[0].CallID)
	require.Empty(t, agent.PendingCalls(s.c.Messages()))
	require.Equal(t, exact(t, s.c.Messages()), exact(t, read(t, s.store).Messages()))
	requireSame(t, s)
	require.NoError(t, promptShown(s, a, "two", nil))
	requireSame(t, s)
	require.NoError(t, s.w.Close(t.Context()))
}

func summariesIn(all []*model.Message) (found []*model.Message) {
	for _, m := range all {
		if m.Metadata[history.MetaSummary] != "" {
			found = append(found, m)
		}
	}
	return found
}

// A change of the history by the program leaves the answers to calls that wait as they are.
func TestAnswersOutliveAChangeOfTheHistory(t *testing.T) {
	var results []string
	s := openShown(t, new(session.Memory), true)
	pay := toolset.Func("pay", "Pay.", func(context.Context, *toolset.RunContext[none], none) (string, error) {
		results = append(results, "paid")
		return "paid", nil
	})
	paying := toolset.Approved(toolset.Of(pay), func(context.Context, *toolset.RunContext[none], *toolset.Tool[none], any) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Pay"}, nil
	})
	a := agent.Must(agent.New(agent.Config[none, string]{Toolsets: []toolset.Toolset[none]{paying}, Model: reporter(func(req *model.Request) *model.Message {
		if req.Messages[len(req.Messages)-1].Parts[0].Text == "pay" {
			return model.Response(model.ToolCall("a", "pay", `{}`), model.ToolCall("b", "pay", `{}`), model.ToolCall("c", "pay", `{}`))
		}
		return model.Response(model.Text("Done."))
	})}))
	require.NoError(t, promptShown(s, a, "one", nil))
	err := promptShown(s, a, "pay", nil)
	require.True(t, errors.As(err, new(*agent.PendingError)))
	calls := agent.PendingCalls(s.c.Messages())
	require.Len(t, calls, 3)
	var given agent.DeferredResults
	given.Decide(calls[0].Key(), toolset.Deny("no"))
	require.NoError(t, s.c.Answer(t.Context(), &calls[0], given))
	require.NoError(t, s.w.Close(t.Context()))

	s = openShown(t, s.store, true)
	now, err := s.c.Begin(t.Context())
	require.NoError(t, err)
	require.NoError(t, now.Finish(t.Context(), s.c.Messages()[2:], transcript.Pending))
	requireSame(t, s)
	require.NotContains(t, textOf(s.fold), string(view.Failed))
	require.Equal(t, given, s.c.Answers())
	require.NoError(t, s.w.Close(t.Context()))
	for range 2 { // and so does one that changes nothing
		s = openShown(t, s.store, true)
		require.Equal(t, given, s.c.Answers())
		require.Len(t, agent.PendingCalls(s.c.Messages()), 3)
		now, err = s.c.Begin(t.Context())
		require.NoError(t, err)
		require.NoError(t, now.Finish(t.Context(), s.c.Messages(), transcript.Pending))
		requireSame(t, s)
		require.Equal(t, given, s.c.Answers())
		require.NoError(t, s.w.Close(t.Context()))
	}
	s = openShown(t, s.store, true)
	given.Decide(calls[1].Key(), toolset.Deny("no"))
	now, err = s.c.Begin(t.Context())
	require.NoError(t, err)
	var answered error
	var all sync.WaitGroup
	all.Go(func() { answered = s.c.Answer(t.Context(), &calls[1], given) })
	require.NoError(t, now.Finish(t.Context(), s.c.Messages(), transcript.Pending))
	all.Wait()
	require.NoError(t, answered)
	require.NoError(t, s.w.Close(t.Context()))
	s = openShown(t, s.store, true)
	require.Equal(t, given, s.c.Answers(), "it came before the end or after it")
	now, err = s.c.Begin(t.Context())
	require.NoError(t, err)
	all.Go(func() { _, _ = now.Open(t.Context(), now.ID()) })
	require.NoError(t, now.Finish(t.Context(), s.c.Messages(), transcript.Pending))
	all.Wait()
	require.NoError(t, s.w.Close(t.Context()))
}
