// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// story is a random run, the same for the same seed in every process: several steps of tool calls, in parallel and alone,
// with retries, failures and approvals, and a typed output. Each execution of anything leaves a line in a file, and a mark
// in its result that no other execution leaves, so that it can be told whose results a history is made of.
type story struct {
	seed uint64
	life int
	side *os.File // nil if nobody looks
	mark atomic.Int64
}

type verdict struct {
	Score int    `json:"score" validate:"min=1,max=100"`
	Why   string `json:"why"`
}

func (s *story) random(of ...any) *rand.Rand {
	h := s.seed
	for _, c := range []byte(fmt.Sprint(of...)) {
		h = h*1099511628211 ^ uint64(c)
	}
	return rand.New(rand.NewPCG(s.seed, h))
}

// begin says that something is executed and returns the mark of the execution.
func (s *story) begin(name string) (mark string, err error) {
	mark = fmt.Sprintf("%d.%d", s.life, s.mark.Add(1))
	if s.side != nil {
		_, err = fmt.Fprintf(s.side, "%d\t%s\t%s\n", s.life, name, mark)
	}
	return mark, err
}

func (s *story) pause(r *rand.Rand) { time.Sleep(time.Duration(r.IntN(3000)) * time.Microsecond) }

type storyDeps struct{}

type storyRun = toolset.RunContext[storyDeps]

func (s *story) tool(name string, outcome func(run *storyRun, n int) error, opts ...toolset.Option) *toolset.Tool[storyDeps] {
	return toolset.Func(name, "", func(_ context.Context, run *storyRun, in number) (toolset.Result, error) {
		key := fmt.Sprintf("tool/%d/%s", run.Step, run.Call.ID)
		if run.Call.Approved {
			key += "/approved"
		}
		if want := fmt.Sprintf("%s/%d/%s", run.RunID, run.Step, run.Call.ID); run.IdempotencyKey() != want {
			return toolset.Result{}, fmt.Errorf("the key is %s, want %s", run.IdempotencyKey(), want)
		}
		mark, err := s.begin(key)
		if err != nil {
			return toolset.Result{}, err
		}
		s.pause(s.random(key))
		if err := outcome(run, in.N); err != nil {
			return toolset.Result{}, err
		}
		return toolset.Result{Text: fmt.Sprintf("%s of %d", name, in.N), Meta: fmt.Appendf(nil, "%q", mark)}, nil
	}, opts...)
}

func (s *story) agent(t testing.TB) *agent.Agent[storyDeps, verdict] {
	t.Helper()
	fine := func(*storyRun, int) error { return nil }
	guarded := s.tool("guarded", fine)
	guarded.Approval = func(_ context.Context, _ *storyRun, args any) (*toolset.Approval, error) {
		if n := args.(*number).N; n%2 == 1 {
			return &toolset.Approval{Reason: fmt.Sprint(n, " is odd")}, nil
		}
		return nil, nil
	}
	many := 1000
	a, err := agent.New(agent.Config[storyDeps, verdict]{
		Name:  "story",
		Model: model.Func(model.Info{}, s.answer),
		Toolsets: []toolset.Toolset[storyDeps]{toolset.Of(
			s.tool("work", fine), s.tool("alone", fine, toolset.Sequential()), guarded,
			s.tool("flaky", func(run *storyRun, _ int) error {
				if run.Call.Attempt%2 == 0 {
					return toolset.Retry("once more")
				}
				return nil
			}),
			s.tool("broken", func(*storyRun, int) error { return toolset.Failed("broken") }),
			s.tool("asks", func(run *storyRun, n int) error {
				if n%2 == 1 && !run.Call.Approved {
					return toolset.ApprovalRequired(toolset.Approval{Reason: "odd"})
				}
				return nil
			}),
		)},
		Asker: toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
			key := fmt.Sprintf("approve/%d/%s", r.Step, r.CallID())
			if _, err := s.begin(key); err != nil {
				return toolset.Decision{}, err
			}
			switch s.random(key).IntN(3) {
			case 0:
				return toolset.Deny("no"), nil
			case 1:
				return toolset.AllowWith(json.RawMessage(`{"n":50}`)), nil
			}
			return toolset.Allow(), nil
		}},
		Validators: []agent.Validator[storyDeps, verdict]{func(_ context.Context, run *storyRun, out verdict) (verdict, error) {
			if _, err := s.begin(fmt.Sprintf("output/%d/%s", run.Step, run.Call.ID)); err != nil {
				return out, err
			}
			if out.Score%2 == 1 {
				return out, toolset.Retry("%d is odd", out.Score)
			}
			out.Why += ", validated"
			return out, nil
		}},
		ToolRetries: &many, OutputRetries: &many, MaxParallelCalls: 1 + s.random("parallel").IntN(6),
	})
	require.NoError(t, err)
	return a
}

// answer makes the response of a step of the seed alone.
func (s *story) answer(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
	step := 1
	for _, m := range req.Messages {
		if m.Kind == model.KindResponse {
			step++
		}
	}
	mark, err := s.begin(fmt.Sprintf("model/%d/", step))
	if err != nil {
		return nil, err
	}
	r := s.random("model", step)
	s.pause(r)
	parts := []model.Part{model.Text("step " + strconv.Itoa(step))}
	if steps := 3 + s.random("steps").IntN(6); step >= steps {
		parts = append(parts, model.ToolCall("out", "final_result", fmt.Sprintf(`{"score":%d,"why":"seed %d"}`, 1+r.IntN(100), s.seed)))
	}
	names := []string{"work", "work", "work", "alone", "guarded", "flaky", "broken", "asks", "unknown"}
	for i := range 1 + r.IntN(6) {
		parts = append(parts, call(fmt.Sprint("c", i), names[r.IntN(len(names))], r.IntN(110)))
	}
	resp := model.Response(parts...)
	resp.Usage = model.Usage{InputTokens: int64(r.IntN(100)), OutputTokens: 3}
	resp.Metadata = map[string]string{"mark": mark}
	return resp, nil
}

func (s *story) options(more ...agent.RunOption) []agent.RunOption {
	return append(more, agent.WithRunID("story"), agent.WithConversationID("talk"), agent.WithLimits(agent.Limits{Requests: -1}))
}

// told is what a story came to.
type told struct {
	Output   verdict
	Requests int
	Tokens   int64
	Messages []*model.Message
}

func tell(res *agent.Result[verdict]) *told {
	return &told{res.Output, res.Usage.Requests, res.Usage.TotalTokens(), res.Messages}
}

// marks takes the marks out of a history and returns them by the names of what was executed.
func (t *told) marks() map[string]string {
	marks := map[string]string{}
	step := 0
	for _, m := range t.Messages {
		if m.Kind == model.KindResponse {
			step++
			marks[fmt.Sprintf("model/%d/", step)] = m.Metadata["mark"]
			m.Metadata = nil
		}
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Meta != nil {
				marks[fmt.Sprintf("tool/%d/%s", step, p.CallID)] = strings.Trim(string(p.Meta), `"`)
				p.Meta = nil
			}
		}
	}
	return marks
}
