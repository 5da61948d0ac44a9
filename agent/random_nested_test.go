// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

var randomSeed = flag.Int("random-seed", -1, "the only conversation that TestRandomNestedRunsKeepTheInvariants plays")

// nestedWorld is a random agent with others inside it, and what they did.
type nestedWorld struct {
	world
	seed       uint64
	sequential bool // nothing runs in parallel
	set        lifecycle
	outer      *agent.Agent[deps, string]
	spy        *spyJournal // nil in runs without a journal

	mu       sync.Mutex
	attempts map[string]int
	// top stands for the meter that the runs share.
	top      *nestedRun
	running  int
	parallel int // most runs at a time
	supplied int // results that the turn was given, at most
	told     string
	ends     int // of outer runs, by the agent's observer
}

// nestedRun is what a run has used by the count of its models and tools. Its level is 1 for outer runs; limits of a level
// leave it as the remainder when they are divided by 4, so that they can be told apart.
type nestedRun struct {
	level     int
	limits    agent.Limits
	parent    *nestedRun
	own, tree toolset.Usage // without and with the runs inside it
	inner     []*nestedRun
	newBatch  bool // no call of the last response has begun
	summary   *agent.Summary
	err       error
}

type nestedKey struct{}

// newNestedWorld makes the agents: two or three levels of them.
func newNestedWorld(t *testing.T, seed uint64, rnd *rand.Rand) *nestedWorld {
	w := &nestedWorld{seed: seed, sequential: rnd.IntN(2) == 0, attempts: map[string]int{}}
	deeper := rnd.IntN(2) == 0
	handOver := rnd.IntN(3) == 0
	same := func(d deps) deps { return d }
	build := func(level int, delegates []string, more ...*toolset.Tool[deps]) (*agent.Agent[deps, string], agent.Config[deps, string]) {
		limits := randomLimits(rnd, level)
		config := agent.Config[deps, string]{
			Name: fmt.Sprint("level-", level), Model: w.model(level, delegates, level == 1 && handOver), Limits: limits,
			ToolRetries: new(rnd.IntN(4)), OutputRetries: new(rnd.IntN(3)), MaxParallelCalls: rnd.IntN(3),
			Toolsets: []toolset.Toolset[deps]{&w.set}, Hooks: []agent.Hooks[deps]{w.hooks(level, limits)},
		}
		if w.sequential {
			config.MaxParallelCalls = 1
		}
		if rnd.IntN(2) == 0 {
			config.Asker = approves(func(r toolset.ApprovalRequest) toolset.Decision {
				return []toolset.Decision{toolset.Allow(), toolset.Deny(""), toolset.Defer()}[len(r.Args)%3]
			})
		}
		if level == 1 {
			config.Observer = &agent.Observer{End: func(agent.Event) { w.ends++ }}
		}
		tools := append(more, w.tool("a"), w.tool("b"), w.tool("sequential", toolset.Sequential()))
		return newAgent(t, config, tools...), config
	}
	var third []*toolset.Tool[deps]
	var names []string
	if deeper {
		a, _ := build(3, nil)
		third, names = append(third, agent.AsTool("deeper", "", a, same)), []string{"deeper"}
	}
	second, _ := build(2, names, third...)
	delegates := []*toolset.Tool[deps]{agent.AsTool("ask", "", second, same)}
	names = []string{"ask"}
	if rnd.IntN(2) == 0 {
		other, _ := build(2, nil)
		delegates, names = append(delegates, agent.AsTool("consult", "", other, same, toolset.Sequential())), append(names, "consult")
	}
	a, config := build(1, names, delegates...)
	if handOver {
		var how []agent.HandOverOption
		if rnd.IntN(2) == 0 {
			how = append(how, agent.Stay())
		}
		if rnd.IntN(2) == 0 {
			how = append(how, agent.PassHistory(nil))
		}
		config.Alternatives = []agent.Alternative[deps, string]{
			agent.HandOver[deps, deps, string]("hand_over", "", second, same, how...),
			agent.Text(func(_ context.Context, _ *toolset.RunContext[deps], text string) (string, error) { return text, nil }),
		}
		config.Toolsets = config.Toolsets[:1]
		a = newAgent(t, config, append(delegates, w.tool("a"), w.tool("b"), w.tool("sequential", toolset.Sequential()))...)
	}
	w.outer = a
	return w
}

// randomLimits are limits of which each leaves the level as the remainder when it is divided by 4.
func randomLimits(rnd *rand.Rand, level int) agent.Limits {
	l := agent.Limits{Requests: -1}
	some := func(least, factor int) int {
		if rnd.IntN(6) > 0 {
			return 0
		}
		return 4*(least+rnd.IntN(factor)) + level
	}
	l.Requests = cmp.Or(some(1, 4), -1)
	l.ToolCalls = some(1, 3)
	l.InputTokens, l.OutputTokens, l.TotalTokens = int64(some(10, 30)), int64(some(5, 30)), int64(some(15, 60))
	return l
}

func meterLimits(l agent.Limits) toolset.Limits {
	l.Requests = max(l.Requests, 0)
	return toolset.Limits(l)
}

// hooks have the runs of a level counted, and look for what is done although it is recorded.
func (w *nestedWorld) hooks(level int, limits agent.Limits) agent.Hooks[deps] {
	return agent.Hooks[deps]{
		Run: func(ctx context.Context, _ *toolset.RunContext[deps], next agent.RunFunc) error {
			n := &nestedRun{level: level, limits: limits, newBatch: true}
			w.mu.Lock()
			n.parent, _ = ctx.Value(nestedKey{}).(*nestedRun)
			if n.parent == nil {
				n.parent = w.top
			}
			n.parent.inner = append(n.parent.inner, n)
			w.running++
			w.parallel = max(w.parallel, w.running)
			w.mu.Unlock()
			summary, err := next(context.WithValue(ctx, nestedKey{}, n))
			w.mu.Lock()
			defer w.mu.Unlock()
			w.running--
			n.summary, n.err = summary, err
			return err
		},
		Request: func(ctx context.Context, run *toolset.RunContext[deps], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
			w.check(w.spy.notRecorded(run.RunID, "model", run.Step, ""))
			return next(ctx, req)
		},
		Call: func(ctx context.Context, run *toolset.RunContext[deps], args any, next toolset.CallFunc) (toolset.Result, error) {
			if !run.Call.Approved { // the first time is recorded if the call asked for approval itself
				w.check(w.spy.notRecorded(run.RunID, "tool", run.Step, run.Call.ID))
			}
			n := ctx.Value(nestedKey{}).(*nestedRun)
			w.called(n)
			res, err := next(ctx, args)
			if err == nil && res.Outcome == model.OutcomeSuccess {
				w.used(n, toolset.Usage{ToolCalls: 1})
			}
			return res, err
		},
	}
}

// life runs the outer agent once, under a meter, and verifies the run.
func (w *nestedWorld) life(t *testing.T, rnd *rand.Rand, prompt string, opts []agent.RunOption, meter *toolset.Meter, ends map[string]int) (*agent.Result[string], error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w.cancel, w.parallel, w.ends, w.top.inner = cancel, 0, 0, nil
	opts = append(opts[:len(opts):len(opts)], agent.WithMeter(meter))
	seen := &shown{before: w.told}
	var res *agent.Result[string]
	var err error
	if rnd.IntN(5) > 0 {
		s := w.outer.Stream(ctx, deps{}, prompt, opts...)
		w.watch(t, rnd, s, seen)
		res, err = s.Result()
	} else {
		res, err = w.outer.Run(ctx, deps{}, prompt, opts...)
	}
	require.NoError(t, w.problem)
	require.Equal(t, w.set.opened, w.set.closed)
	require.Zero(t, w.running)
	require.Len(t, w.top.inner, 1)
	n := w.top.inner[0]
	require.Equal(t, err == nil, n.err == nil)
	w.verify(t, n)
	id, messages := n.summary.RunID, n.summary.Messages
	if seen.events > 0 {
		seen.verify(t, id, messages)
	}
	if !seen.over {
		require.Equal(t, 1, w.ends)
	}
	throughJSON(t, messages)
	switch {
	case seen.over:
		ends["left or panicked"]++
	case err == nil:
		ends["output"]++
	case errors.As(err, new(*agent.LimitError)):
		ends["limit"]++
	}
	for _, inner := range n.inner {
		if errors.As(inner.err, new(*agent.LimitError)) {
			ends["inner limit"]++
		}
	}
	if last := messages[len(messages)-1]; last.Interrupted {
		ends["interrupted "+string(last.Kind)]++
	}
	ends["runs"]++
	return res, err
}

// turn plays one turn. With a journal it takes the run up until it ends, and then once more, which must do nothing.
func (w *nestedWorld) turn(t *testing.T, rnd *rand.Rand, name, prompt string, opts []agent.RunOption, shared *toolset.Meter, ends map[string]int) (*agent.Result[string], error) {
	t.Helper()
	if rnd.IntN(2) == 0 {
		before := shared.Usage()
		if w.seed%3 == 1 && w.sequential { // runs side by side elsewhere do not know of each other
			opts = append(opts, onEngine(nil, w.seed%2 == 0))
		}
		res, err := w.life(t, rnd, prompt, opts, shared, ends)
		addUsage(&before, w.top.inner[0].summary.Usage)
		require.Equal(t, before, shared.Usage(), "the meter counts all that its runs use")
		return res, err
	}
	w.spy = &spyJournal{}
	opts = append(opts, agent.WithJournal(w.spy), agent.WithRunID(name))
	limits, top := w.top.limits, w.top
	defer func() { w.top, w.spy = top, nil }()
	live := func() (*agent.Result[string], error) {
		w.top = &nestedRun{limits: limits}
		meter := toolset.NewMeter(meterLimits(limits))
		res, err := w.life(t, rnd, prompt, opts, meter, ends)
		require.Equal(t, w.top.inner[0].summary.Usage, meter.Usage())
		return res, err
	}
	ended := func(err error) bool { return err == nil || errors.As(err, new(*agent.PendingError)) }
	res, err := live()
	for life := 0; life < 3 && !ended(err); life++ {
		ends["resumed"]++
		res, err = live()
	}
	if !ended(err) {
		return res, err
	}
	w.top = &nestedRun{}
	again, errAgain := w.outer.Run(context.Background(), deps{}, prompt, opts...)
	require.NoError(t, w.problem)
	require.Zero(t, w.top.tree, "no model is asked and no tool runs again")
	if err != nil {
		require.EqualError(t, errAgain, err.Error())
		require.Equal(t, asRunError(t, err).Messages, asRunError(t, errAgain).Messages)
		require.Equal(t, asRunError(t, err).Usage, asRunError(t, errAgain).Usage)
		return res, err
	}
	require.NoError(t, errAgain)
	require.Equal(t, res, again)
	return res, err
}

// TestRandomNestedRunsKeepTheInvariants plays conversations of a random agent that delegates to others, with models that
// stream, limits on every level, and everything that can cut a stream off. No limit is exceeded by more than what was under
// way, each limit ends what it bounds and nothing else, what was streamed is kept, usage adds up over all levels, and what a
// journal has recorded is not done again.
func TestRandomNestedRunsKeepTheInvariants(t *testing.T) {
	before := runtime.NumGoroutine()
	ends := map[string]int{}
	seed := uint64(0)
	conversations := uint64(conversations(80))
	if *randomSeed >= 0 {
		seed, conversations = uint64(*randomSeed), uint64(*randomSeed)+1
	}
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	for ; seed < conversations; seed++ {
		rnd := rand.New(rand.NewPCG(seed, 3))
		w := newNestedWorld(t, seed, rnd)
		w.top = &nestedRun{limits: randomLimits(rnd, 0)}
		shared := toolset.NewMeter(meterLimits(w.top.limits))
		prompt, opts := "go", []agent.RunOption(nil)
		for n := range 3 {
			res, err := w.turn(t, rnd, fmt.Sprintf("run-%d", n), prompt, opts, shared, ends)
			if err == nil {
				if over := res.Messages[len(res.Messages)-1].HandOver; over != nil {
					ends["handed over"]++
					if over.Stays {
						ends["stays"]++
					}
				}
				prompt, opts = "more", []agent.RunOption{throughJSON(t, res.Messages)}
				w.supplied, w.told = 0, ""
				continue
			}
			failed := asRunError(t, err)
			w.told = suspendedText(failed.Messages)
			prompt, opts = resume(t, rnd, failed, ends)
			opts = append(opts, throughJSON(t, failed.Messages))
			var pending *agent.PendingError
			if w.supplied = 0; errors.As(err, &pending) {
				w.supplied = len(pending.Calls) // at most
			}
		}
	}
	t.Logf("%d conversations of 3 turns: %v", seed, ends)
	if *randomSeed >= 0 || testing.Short() { // too few to have each end
		return
	}
	for _, how := range []string{"output", "pending", "cancelled", "failed", "left or panicked", "resumed", "limit", "inner limit", "pending at depth 2", "pending at depth 3", "handed over", "stays", "interrupted response", "interrupted request"} {
		require.Positive(t, ends[how], how)
	}
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+2 }, time.Minute, 10*time.Millisecond, "no goroutine is left")
}
