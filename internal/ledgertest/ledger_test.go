// SPDX-License-Identifier: Apache-2.0

package ledgertest_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/subagents"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/engine/enginetest"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/leaktest"
	"github.com/ponte-go/ponte/internal/ledgertest"
	"github.com/ponte-go/ponte/toolset"
)

var (
	ledgerRuns = flag.Int("ledger-runs", 100, "how many random trees of agents are compared with the ledger of their provider")
	ledgerSeed = flag.Int("ledger-seed", -1, "the only tree that is run")
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestRandomTreesCountWhatTheProviderWasAsked runs random trees of agents: sub-agents, in the background too, hand-overs, hooks that send a
// request twice or not at all, fallbacks, retries, caches, guards by models, summaries, tools that ask models, limits, windows, attempts
// that time out, cancels, and turns that go on from JSON. An eighth of them is executed by workers. What is counted is what the ledger of
// the provider says: each request once, with its tokens and its cost to a billionth; and limits and windows hold.
func TestRandomTreesCountWhatTheProviderWasAsked(t *testing.T) {
	first, last := 0, *ledgerRuns
	if *ledgerSeed >= 0 {
		first, last = *ledgerSeed, *ledgerSeed+1
	}
	happened, repeated := map[string]int{}, 0
	for seed := first; seed < last; seed++ {
		var l ledgertest.Ledger
		repeated += settled(t, func(attempt require.TestingT) { l = play(t.Context(), attempt, uint64(seed)) })
		for what, n := range l.Happened {
			happened[what] += n
		}
	}
	t.Log(happened, repeated, "played again")
	require.LessOrEqual(t, repeated, 2+(last-first)/200)
	if *ledgerSeed < 0 {
		for _, what := range []string{"sent twice", "not sent", "refused", "cut off", "unusable", "unknown cost", "cancelled", "timed out", "answered by another", "window", "pending", "limit", "done"} {
			require.Positive(t, happened[what], what)
		}
	}
}

// attempt is a [require.TestingT] that keeps what failed.
type attempt struct{ failure string }

func (a *attempt) Errorf(format string, args ...any) { a.failure = fmt.Sprintf(format, args...) }

func (*attempt) FailNow() { runtime.Goexit() }

// settled plays until nothing fails, three times at most, and returns how often it was repeated. A provider and a gate that look at
// a context at two moments may see two things: that a request has failed, and that it was ended, so that nobody knows its cost; or
// that a request is over, and that it is under way. A fault that is none of these fails each time.
func settled(t *testing.T, play func(require.TestingT)) int {
	t.Helper()
	for repeated := 0; ; repeated++ {
		var a attempt
		done := make(chan struct{})
		go func() {
			defer close(done)
			play(&a)
		}()
		<-done
		switch {
		case a.failure == "":
			return repeated
		case repeated == 2:
			t.Fatal(a.failure)
		}
	}
}

// play runs the tree of a seed for some turns: natively, or with all tasks executed by a worker that has nothing but their JSON.
func play(ctx context.Context, t require.TestingT, seed uint64) ledgertest.Ledger {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	elsewhere := seed%8 == 3
	o := ledgertest.Options{}
	if seed%2 == 0 || elsewhere {
		o.Background = background
	}
	if seed%3 == 0 && !elsewhere {
		o.Cancel = cancel
	}
	if seed%7 == 0 {
		o.Window = 10_000 + int64(seed%20)*1000
	}
	tree := ledgertest.New(seed, o)
	limits := toolset.Limits{}
	switch seed % 5 {
	case 0:
		limits.Requests = 5 + int(seed%20)
	case 1:
		limits.TotalTokens = 5000 + int64(seed%20)*1000
	}
	meter := toolset.NewMeter(limits)
	always := []agent.RunOption{agent.WithMeter(meter)}
	if elsewhere {
		w := agent.NewWorker(tree.Agent, struct{}{})
		defer func() { require.NoError(t, w.Close(context.WithoutCancel(ctx))) }()
		always = append(always, agent.WithEngine(func(_ context.Context, local engine.Worker) (engine.Engine, error) {
			remote := enginetest.NewRemote(local, func(ctx context.Context, task []byte, report func([]byte) error) ([]byte, error) {
				return engine.Execute(ctx, w, task, report)
			})
			remote.Fuse = seed%16 == 3
			return remote, nil
		}))
	}
	opts := []agent.RunOption{}
	prompt := "go"
	happened := map[string]int{}
	for leg := 0; leg < 4; leg++ {
		opts = append(opts, always...)
		var messages []*model.Message
		var err error
		var res *agent.Result[string]
		if seed%4 < 2 {
			res, err = tree.Agent.Run(ctx, struct{}{}, prompt, opts...)
		} else {
			res, err = tree.Agent.Stream(ctx, struct{}{}, prompt, opts...).Result()
		}
		require.Equal(t, tree.Ledger().Counted(), ledgertest.Of(meter.Usage()), "seed %d, turn %d: %v", seed, leg, err)
		used, held, unknown, _ := tree.Book.Used()
		require.Equal(t, tree.Ledger().Usage.TotalTokens(), used, "seed %d: the window counts what the meter counts", seed)
		require.Equal(t, int64(unknown)*ledgertest.MaxTokens, held, "seed %d: nothing stays reserved", seed)
		var failed *agent.RunError
		var pending *agent.PendingError
		switch {
		case err == nil:
			happened["done"]++
			prompt, messages = "more", res.Messages
		case errors.As(err, &pending):
			happened["pending"]++
			require.ErrorAs(t, err, &failed)
			prompt, messages = "", failed.Messages
		default:
			if errors.As(err, new(*agent.LimitError)) {
				happened["limit"]++
			}
			if errors.Is(err, ledgertest.ErrBook) {
				happened["window"]++
			}
			leg = 4
			continue
		}
		opts = []agent.RunOption{fromJSON(t, messages)}
		if pending != nil {
			var answers toolset.DeferredResults
			for _, c := range pending.Calls {
				verdict := toolset.VerdictAllow
				if seed%2 == 1 {
					verdict = toolset.VerdictDeny
				}
				answers.Decide(c.Key(), toolset.Decision{Verdict: verdict})
			}
			opts = append(opts, agent.WithResults(answers))
		}
	}
	l := tree.Ledger()
	if o.Window > 0 {
		require.LessOrEqual(t, l.Usage.TotalTokens(), o.Window, "seed %d", seed)
	}
	if limits.Requests > 0 {
		require.LessOrEqual(t, l.Requests, limits.Requests, "seed %d", seed)
	}
	if limits.TotalTokens > 0 {
		require.LessOrEqual(t, l.Usage.TotalTokens(), limits.TotalTokens+int64(l.Parallel)*ledgertest.MaxTokens, "seed %d", seed)
	}
	for what, n := range happened {
		l.Happened[what] += n
	}
	return l
}

// background has an agent as a sub-agent that may work outside of calls.
func background(inner *agent.Agent[struct{}, string]) agent.Capability[struct{}] {
	same := func(d struct{}) struct{} { return d }
	return subagents.New(subagents.Options[struct{}]{Agents: []subagents.Agent[struct{}]{subagents.Of("helper", "Helps.", inner, same)}})
}

func fromJSON(t require.TestingT, messages []*model.Message) agent.RunOption {
	data, err := json.Marshal(messages)
	require.NoError(t, err)
	var back []*model.Message
	require.NoError(t, json.Unmarshal(data, &back))
	return agent.WithHistory(back)
}

// TestReplaysOfRandomTreesCountTheSame resumes recorded runs: nothing is sent again, and what is counted is what the first run has counted.
func TestReplaysOfRandomTreesCountTheSame(t *testing.T) {
	done, repeated := 0, 0
	for seed := range uint64(*ledgerRuns) {
		ended := false
		repeated += settled(t, func(attempt require.TestingT) { ended = replay(t.Context(), attempt, seed) })
		if ended {
			done++
		}
	}
	require.Positive(t, done)
	require.LessOrEqual(t, repeated, 2+*ledgerRuns/200)
}

// replay runs the tree of a seed twice with one journal. It returns false if a request failed, which is made again.
func replay(ctx context.Context, t require.TestingT, seed uint64) bool {
	tree := ledgertest.New(seed, ledgertest.Options{})
	log := new(journal.Memory)
	run := func() (toolset.Usage, toolset.Usage, error) {
		meter := new(toolset.Meter)
		res, err := tree.Agent.Run(ctx, struct{}{}, "go", agent.WithMeter(meter), agent.WithJournal(log), agent.WithRunID("r"))
		if err != nil {
			return toolset.Usage{}, meter.Usage(), err
		}
		return res.Usage, meter.Usage(), err
	}
	first, counted, err := run()
	require.Equal(t, tree.Ledger().Counted(), ledgertest.Of(counted), "seed %d: %v", seed, err)
	if err != nil && !errors.As(err, new(*agent.PendingError)) {
		return false // a request that failed is made again
	}
	sent := tree.Ledger()
	booked, held, unknown, _ := tree.Book.Used()
	again, counted, err2 := run()
	require.Equal(t, err == nil, err2 == nil, "seed %d: %v", seed, err2)
	require.Equal(t, sent.Requests, tree.Ledger().Requests, "seed %d: nothing is sent again", seed)
	require.Equal(t, sent.Counted(), ledgertest.Of(counted), "seed %d", seed)
	require.Equal(t, first, again, "seed %d", seed)
	bookedAgain, heldAgain, unknownAgain, _ := tree.Book.Used()
	require.Equal(t, [3]int64{booked, held, int64(unknown)}, [3]int64{bookedAgain, heldAgain, int64(unknownAgain)}, "seed %d: nothing is reserved again", seed)
	return true
}
