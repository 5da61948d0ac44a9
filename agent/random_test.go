// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

var randomRuns = flag.Int("random-runs", 0, "how many conversations each of the randomised tests plays; 0 is a hundred or two")

func conversations(byDefault int) int {
	switch {
	case *randomRuns > 0:
		return *randomRuns
	case testing.Short():
		return byDefault / 10
	case raceEnabled: // several times as slow; the run without the detector plays them all
		return byDefault / 4
	}
	return byDefault
}

// world is a random model with random tools, and what they did.
type world struct {
	rnd      *rand.Rand // of the model, which is asked by one goroutine at a time
	steps    int
	requests atomic.Int64
	returned atomic.Int64
	valid    atomic.Int64 // the last output that was found valid
	cancel   context.CancelFunc
	problem  error
}

// errUnapproved means that a tool runs although nobody has approved it.
var errUnapproved = errors.New("runs without approval")

type randomArgs struct {
	Do string `json:"do" validate:"oneof=return retry fail deny error panic wait cancel approve defer emit"`
	N  int    `json:"n" validate:"min=0"`
}

type randomOut struct {
	N int `json:"n" validate:"min=1"`
}

func (w *world) tool(name string, opts ...toolset.Option) *toolset.Tool[deps] {
	t := toolset.Func(name, "", func(ctx context.Context, run *toolset.RunContext[deps], in randomArgs) (int, error) {
		if in.N%10 == 9 && !run.Call.Approved {
			return 0, errUnapproved
		}
		switch in.Do {
		case "retry":
			return 0, toolset.Retry("again")
		case "fail":
			return 0, toolset.Failed("no")
		case "deny":
			return 0, toolset.Denied("no")
		case "error":
			return 0, errBoom
		case "panic":
			panic("ouch")
		case "wait":
			select {
			case <-time.After(time.Duration(in.N) * 10 * time.Microsecond):
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		case "cancel":
			w.cancel()
		case "approve":
			if !run.Call.Approved {
				return 0, toolset.ApprovalRequired(toolset.Approval{})
			}
		case "defer":
			return 0, toolset.Deferred(nil)
		case "emit":
			run.Emit(in.N)
		}
		w.returned.Add(1)
		return in.N, nil
	}, opts...)
	t.Approval = func(_ context.Context, _ *toolset.RunContext[deps], args any) (*toolset.Approval, error) {
		if args.(*randomArgs).N%10 == 9 {
			return &toolset.Approval{Scope: name}, nil
		}
		return nil, nil
	}
	return t
}

// answer is a random response. Harmful actions are rare, so that runs get somewhere.
func (w *world) answer(ctx context.Context, req *model.Request) (*model.Message, error) {
	w.requests.Add(1)
	if err := wellFormed(req.Messages); err != nil && w.problem == nil {
		w.problem = err
	}
	if w.rnd.IntN(40) == 0 {
		return nil, errBoom
	}
	resp := model.Response()
	resp.Usage = model.Usage{InputTokens: 10, OutputTokens: 5}
	if w.steps--; w.steps <= 0 || w.rnd.IntN(12) == 0 {
		resp.Parts = append(resp.Parts, final("", fmt.Sprintf(`{"n":%d}`, w.rnd.IntN(4))))
	}
	for range w.rnd.IntN(4) {
		resp.Parts = append(resp.Parts, randomCall(w.rnd))
	}
	if w.rnd.IntN(10) == 0 {
		resp.Parts = append(resp.Parts, model.Text("text"))
	}
	w.rnd.Shuffle(len(resp.Parts), func(i, j int) { resp.Parts[i], resp.Parts[j] = resp.Parts[j], resp.Parts[i] })
	if w.rnd.IntN(20) == 0 {
		resp.Finish = model.FinishLength
	}
	return resp, nil
}

// randomCall is a call of a random tool, now and then of one that does not exist or with arguments that are no JSON. Ids may
// be missing or taken.
func randomCall(rnd *rand.Rand) model.Part {
	actions := []string{"return", "return", "return", "wait", "wait", "emit", "retry", "fail", "deny", "approve", "defer"}
	if rnd.IntN(30) == 0 {
		actions = []string{"error", "panic", "cancel", "nonsense"}
	}
	args := fmt.Sprintf(`{"do":%q,"n":%d}`, actions[rnd.IntN(len(actions))], rnd.IntN(20)-1)
	if rnd.IntN(30) == 0 {
		args = args[:rnd.IntN(len(args))]
	}
	name := []string{"a", "b", "sequential", "unknown"}[min(rnd.IntN(10), 3)%4]
	if rnd.IntN(15) != 0 && name == "unknown" {
		name = "a"
	}
	return model.ToolCall([]string{"", "x", "y"}[rnd.IntN(3)], name, args)
}

// wellFormed says what is wrong with a history that is sent to a model.
func wellFormed(messages []*model.Message) error {
	open := map[string]bool{}
	for i, m := range messages {
		if m.Kind == model.KindResponse && len(open) > 0 {
			return fmt.Errorf("message %d follows unanswered calls %v:\n%s", i, open, dump(messages))
		}
		for j := range m.Parts {
			switch p := &m.Parts[j]; {
			case p.Kind == model.PartToolCall && open[p.CallID]:
				return fmt.Errorf("message %d has the call id %q twice", i, p.CallID)
			case p.Kind == model.PartToolCall:
				open[p.CallID] = true
			case p.Kind == model.PartToolReturn, p.Kind == model.PartRetry && p.CallID != "":
				if !open[p.CallID] {
					return fmt.Errorf("message %d answers %q, which is not open:\n%s", i, p.CallID, dump(messages))
				}
				delete(open, p.CallID)
			}
		}
	}
	if len(open) > 0 || len(messages) == 0 || messages[len(messages)-1].Kind != model.KindRequest {
		return fmt.Errorf("the history does not end in a request that answers all calls:\n%s", dump(messages))
	}
	return nil
}

// turn runs once, as a stream or not, left early or not.
func (w *world) turn(a *agent.Agent[deps, randomOut], rnd *rand.Rand, prompt string, opts []agent.RunOption) (*agent.Result[randomOut], error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w.cancel = cancel
	if rnd.IntN(2) == 0 {
		return a.Run(ctx, deps{}, prompt, opts...)
	}
	s := a.Stream(ctx, deps{}, prompt, opts...)
	leave := rnd.IntN(400)
	for range s.Events() {
		if leave--; leave == 0 {
			break
		}
	}
	return s.Result()
}

// takeUp runs a run with a journal again: a few times if it failed or was stopped, until it ends, and once more when it has
// ended, which must give the same and do nothing.
func (w *world) takeUp(
	t *testing.T, a *agent.Agent[deps, randomOut], rnd *rand.Rand, prompt string, opts []agent.RunOption, res *agent.Result[randomOut], err error,
) (*agent.Result[randomOut], error, bool) {
	t.Helper()
	ended := func() bool { return err == nil || errors.As(err, new(*agent.PendingError)) }
	takenUp := false
	for life := 0; life < 3 && !ended(); life++ {
		takenUp = true
		res, err = w.turn(a, rnd, prompt, opts)
	}
	if !ended() {
		return res, err, takenUp
	}
	requests, returned, steps := w.requests.Load(), w.returned.Load(), w.steps
	again, errAgain := a.Run(context.Background(), deps{}, prompt, opts...)
	require.Equal(t, requests, w.requests.Load(), "the model is not asked again")
	require.Equal(t, returned, w.returned.Load(), "no tool runs again")
	require.Equal(t, steps, w.steps)
	require.Equal(t, res, again)
	if err != nil {
		failed, failedAgain := asRunError(t, err), asRunError(t, errAgain)
		require.Equal(t, failed.Messages, failedAgain.Messages)
		require.Equal(t, failed.Usage, failedAgain.Usage)
		require.EqualError(t, errAgain, err.Error())
	} else {
		require.NoError(t, errAgain)
	}
	return res, err, takenUp
}

// TestRandomRunsKeepTheInvariants drives the loop with random models, tools, errors, cancellations and resumptions: every
// call is answered exactly once, a history can always be continued, no goroutine is left, usage adds up, and an output
// comes out only if it is valid. A third of the runs keep a journal: they are resumed when they fail, and run again when
// they have ended. Another third has each task taken through JSON.
func TestRandomRunsKeepTheInvariants(t *testing.T) {
	before := runtime.NumGoroutine()
	ends := map[string]int{}
	for seed := range uint64(conversations(200)) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		w := &world{rnd: rand.New(rand.NewPCG(seed, 2)), steps: 1 + rnd.IntN(8)}
		config := agent.Config[deps, randomOut]{
			Model: modeltest.Func(w.answer), ToolRetries: new(rnd.IntN(4)), OutputRetries: new(rnd.IntN(3)), MaxParallelCalls: rnd.IntN(3),
			EndStrategy: []agent.EndStrategy{agent.EndGraceful, agent.EndEarly, agent.EndExhaustive}[rnd.IntN(3)],
			Validators: []agent.Validator[deps, randomOut]{func(_ context.Context, _ *toolset.RunContext[deps], o randomOut) (randomOut, error) {
				if o.N == 2 {
					return o, toolset.Retry("not two")
				}
				w.valid.Store(int64(o.N))
				return o, nil
			}},
		}
		if rnd.IntN(2) == 0 {
			config.Asker = approves(func(toolset.ApprovalRequest) toolset.Decision {
				return []toolset.Decision{toolset.Allow(), toolset.Deny(""), toolset.Defer(), toolset.AllowWith(json.RawMessage(`{"do":"return","n":4}`))}[rnd.IntN(4)]
			})
		}
		a := newAgent(t, config, w.tool("a"), w.tool("b"), w.tool("sequential", toolset.Sequential()))
		prompt, opts := "go", []agent.RunOption(nil)
		for n := range 4 { // a conversation of a few runs
			w.requests.Store(0)
			w.returned.Store(0)
			takenUp := false
			if seed%3 == 0 {
				opts = append(opts, agent.WithJournal(new(journal.Memory)), agent.WithRunID(fmt.Sprintf("run-%d-%d", seed, n)))
			}
			if seed%3 == 1 {
				opts = append(opts, onEngine(agent.NewWorker(a, deps{}), seed%2 == 0))
			}
			res, err := w.turn(a, rnd, prompt, opts)
			if seed%3 == 0 {
				res, err, takenUp = w.takeUp(t, a, rnd, prompt, opts, res, err)
			}
			require.NoError(t, w.problem, "seed %d", seed)
			var messages []*model.Message
			var usage toolset.Usage
			if err == nil {
				ends["output"]++
				require.EqualValues(t, w.valid.Load(), res.Output.N, "seed %d", seed)
				require.NotContains(t, []int{0, 2}, res.Output.N, "seed %d", seed)
				messages, usage = res.Messages, res.Usage
				require.NoError(t, wellFormed(messages), "seed %d", seed)
				prompt, opts = "more", []agent.RunOption{agent.WithHistory(messages)}
			} else {
				failed := asRunError(t, err)
				messages, usage = failed.Messages, failed.Usage
				prompt, opts = resume(t, rnd, failed, ends)
			}
			if takenUp {
				ends["resumed"]++
			} else {
				require.EqualValues(t, w.requests.Load(), usage.Requests, "seed %d", seed)
			}
			reported := reported(messages, res, err)
			if (err != nil || takenUp) && usage.InputTokens == reported+10 {
				reported += 10 // of a response that was cut off with nothing to keep
			}
			require.Equal(t, reported, usage.InputTokens, "seed %d", seed)
			opts = append(opts, throughJSON(t, messages))
			w.steps = 1 + rnd.IntN(8)
		}
	}
	t.Logf("%d runs of up to 4 turns ended: %v", conversations(200), ends)
	for _, how := range []string{"output", "pending", "cancelled", "stopped", "failed", "resumed", "written instead"} {
		require.Positive(t, ends[how], how)
	}
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+2 }, time.Minute, 10*time.Millisecond, "no goroutine is left")
}

// reported adds up the input tokens of the last run's responses.
func reported(messages []*model.Message, res *agent.Result[randomOut], err error) int64 {
	id := ""
	if err == nil {
		id = res.RunID
	} else {
		var failed *agent.RunError
		errors.As(err, &failed)
		id = failed.RunID
	}
	var n int64
	for _, m := range messages {
		if m.RunID == id {
			n += m.Usage.InputTokens
		}
	}
	return n
}

// resume decides how to go on after a run that gave no output.
func resume(t *testing.T, rnd *rand.Rand, failed *agent.RunError, ends map[string]int) (string, []agent.RunOption) {
	var pending *agent.PendingError
	switch {
	case errors.As(failed, &pending):
		ends["pending"]++
		require.Equal(t, pending.Calls, agent.PendingCalls(failed.Messages))
		for _, c := range pending.Calls {
			if n := len(c.Path); n > 1 {
				ends[fmt.Sprint("pending at depth ", n)]++
			}
		}
		results := agent.DeferredResults{Decisions: map[string]toolset.Decision{}, Results: map[string]toolset.Result{}}
		instead := rnd.IntN(4) == 0
		for _, c := range pending.Calls {
			switch {
			case c.Approval == nil || rnd.IntN(4) == 0:
				results.Results[c.Key()] = toolset.Result{Text: "supplied"}
			case rnd.IntN(3) == 0:
				results.Decisions[c.Key()] = toolset.Deny("no")
			case rnd.IntN(4) == 0:
				results.Decisions[c.Key()] = toolset.AllowWith(json.RawMessage([]string{`{"do":"return","n":3}`, `{"do":"nonsense"}`}[rnd.IntN(2)]))
			default:
				results.Decisions[c.Key()] = toolset.Allow()
			}
			if instead && rnd.IntN(2) == 0 {
				delete(results.Results, c.Key())
				delete(results.Decisions, c.Key())
			}
		}
		if instead {
			ends["written instead"]++
			return "never mind", []agent.RunOption{agent.WithResults(results)}
		}
		return "", []agent.RunOption{agent.WithResults(results)}
	case errors.Is(failed, context.Canceled):
		ends["cancelled"]++
	case errors.Is(failed, agent.ErrStopped):
		ends["stopped"]++
	case errors.Is(failed, errUnapproved), errors.Is(failed, agent.ErrResults):
		require.NoError(t, failed)
	default:
		ends["failed"]++
	}
	last := failed.Messages[len(failed.Messages)-1]
	require.False(t, last.HasToolCalls(), "the history can be continued with a prompt")
	if rnd.IntN(2) == 0 && (last.Kind == model.KindRequest || last.Interrupted) {
		return "", nil // as it is
	}
	return "go on", nil
}

// throughJSON hands a history over as another process would get it.
func throughJSON(t *testing.T, messages []*model.Message) agent.RunOption {
	data, err := json.Marshal(messages)
	require.NoError(t, err)
	var back []*model.Message
	require.NoError(t, json.Unmarshal(data, &back))
	again, err := json.Marshal(back)
	require.NoError(t, err)
	require.Equal(t, string(data), string(again), "nothing is lost or changed")
	return agent.WithHistory(back)
}
