// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

type none struct{}

var errAway = errors.New("the provider is away")

// dice draws for goroutines.
type dice struct {
	mu sync.Mutex
	r  *rand.Rand
}

func newDice(seed uint64) *dice { return &dice{r: rand.New(rand.NewPCG(seed, 7))} }

func (d *dice) n(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.IntN(n)
}

func (d *dice) one(in int) bool { return d.n(in) == 0 }

func pick[T any](d *dice, all ...T) T { return all[d.n(len(all))] }

// provider is a fake provider: it says, calls, takes its time and fails at random.
type provider struct {
	*dice
	tools []string
}

func (p *provider) generate(ctx context.Context, req *model.Request) (*model.Message, error) {
	select {
	case <-time.After(time.Duration(p.n(300)) * time.Millisecond):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if p.one(15) {
		return nil, errAway
	}
	steps := 0
	for _, m := range slices.Backward(req.Messages) {
		if m.Kind == model.KindRequest && m.Text() != "" {
			break
		}
		steps++
	}
	var parts []model.Part
	if p.one(2) {
		parts = append(parts, model.Text("The sea is blue."))
	}
	if steps < 6 && !p.one(3) {
		for i := range 1 + p.n(3) {
			args := pick(p.dice, `{}`, `{"depth":3}`, `{"depth":-1}`, `{oops`)
			tool := pick(p.dice, p.tools...)
			if tool == "ask" || tool == "transfer" {
				args = `{"prompt":"go"}`
			}
			id := fmt.Sprintf("c%d-%d", len(req.Messages), i)
			parts = append(parts, model.ToolCall(id, tool, args))
		}
	}
	if len(parts) == 0 {
		parts = []model.Part{model.Text("Yes.")}
	}
	resp := model.Response(parts...)
	resp.Model, resp.Provider = "sea", "fake"
	resp.Usage = model.Usage{InputTokens: int64(10 + p.n(100)), OutputTokens: int64(p.n(50))}
	return resp, nil
}

type depth struct {
	Depth int `json:"depth,omitempty" validate:"gte=0"`
}

func sea(name string, fn func(ctx context.Context, a depth) (string, error),
	opts ...toolset.Option) *toolset.Tool[none] {
	call := func(ctx context.Context, _ *toolset.RunContext[none], a depth) (string, error) {
		return fn(ctx, a)
	}
	return toolset.Func(name, "It will "+name+".", call, opts...)
}

// tools are those of all agents. What they do is drawn, so a replay has to take their results from
// the session.
func tools(d *dice) []*toolset.Tool[none] {
	return []*toolset.Tool[none]{
		sea("look", func(context.Context, depth) (string, error) {
			return fmt.Sprint("seen ", d.n(1000)), nil
		}, toolset.OfKind(toolset.KindRead, "Look around")),
		sea("fail", func(context.Context, depth) (string, error) {
			return "", toolset.Failed("there is no sea %d", d.n(1000))
		}),
		sea("again", func(context.Context, depth) (string, error) {
			return "", toolset.Retry("look first %d", d.n(1000))
		}),
		sea("break", func(context.Context, depth) (string, error) {
			if d.one(8) {
				return "", errAway
			}
			return "whole", nil
		}),
		sea("wait", func(ctx context.Context, _ depth) (string, error) {
			select {
			case <-time.After(time.Duration(d.n(400)) * time.Millisecond):
				return "waited", nil
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}),
		sea("turn", func(context.Context, depth) (string, error) { return "turned", nil },
			toolset.Sequential()),
		sea("order", func(context.Context, depth) (string, error) {
			return "", toolset.ApprovalRequired(toolset.Approval{Title: "Order"})
		}),
		toolset.Func("picture", "It will picture.", func(context.Context, *toolset.RunContext[none],
			depth) (toolset.Result, error) {
			return toolset.Result{Text: "see", Content: []model.Part{model.User("a picture")}}, nil
		}),
	}
}

// newAgent returns an agent with another one as a tool, one that takes over, summaries, and the
// tools of a server.
func newAgent(d *dice, summariser model.Model,
	served toolset.Toolset[none]) *agent.Agent[none, string] {
	pay := sea("pay", func(context.Context, depth) (string, error) { return "paid", nil })
	paying := toolset.Approved(toolset.Of(pay), func(context.Context, *toolset.RunContext[none],
		*toolset.Tool[none], any) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Pay 5 euros"}, nil
	})
	names := []string{"look", "look", "fail", "again", "break", "wait", "turn", "picture", "pay", "nothing"}
	own := func(name string, more ...string) agent.Config[none, string] {
		p := &provider{d, append(slices.Clone(names), more...)}
		return agent.Config[none, string]{
			Name: name, Tools: tools(d), Toolsets: []toolset.Toolset[none]{paying},
			Model: model.Func(model.Info{Provider: "fake", Name: "sea"}, func(ctx context.Context,
				req *model.Request, _ model.Sink) (*model.Message, error) {
				return p.generate(ctx, req)
			}),
			Instructions: "You are " + name + ".", Limits: agent.Limits{Requests: 12},
		}
	}
	same := func(n none) none { return n }
	inner := agent.Must(agent.New(own("clerk")))
	expert := agent.Must(agent.New(own("expert")))
	c := own("lead", "ask", "transfer", "port_look", "port_fail", "port_pay")
	c.Toolsets = append(c.Toolsets, served)
	c.Tools = append(c.Tools, agent.AsTool("ask", "Ask.", inner, same))
	c.Alternatives = []agent.Alternative[none, string]{
		agent.HandOver("transfer", "Transfer.", expert, same),
		agent.Text(func(_ context.Context, _ *toolset.RunContext[none], text string) (string, error) {
			return text, nil
		}),
	}
	c.History = []agent.HistoryProcessor[none]{history.Summarise[none](history.Summary{
		Model: summariser, Threshold: 1000, KeepTurns: 1,
		Estimate: func(m *model.Message) int { return 60 * len(m.Parts) },
	})}
	return agent.Must(agent.New(c))
}

// summaries is a model that writes them.
func summaries(d *dice) model.Model {
	return model.Func(model.Info{Provider: "fake", Name: "brief"}, func(context.Context,
		*model.Request, model.Sink) (*model.Message, error) {
		resp := model.Response(model.Text(fmt.Sprintf("They spoke of the sea, %d times.", d.n(1000))))
		resp.Finish = model.FinishStop
		return resp, nil
	})
}

// store remembers what was appended, so that a session can be cut anywhere.
type store struct {
	*session.Memory
	mu      sync.Mutex
	batches [][]session.Entry
}

func (s *store) Append(ctx context.Context, l session.Lease, head int64,
	b session.Batch) (int64, error) {
	at, err := s.Memory.Append(ctx, l, head, b)
	if err == nil && len(b.Entries) > 0 {
		s.mu.Lock()
		s.batches = append(s.batches, slices.Clone(b.Entries))
		s.mu.Unlock()
	}
	return at, err
}

// cut returns a store that has what this one had after a number of appends, as if the process had
// been killed then.
func (s *store) cut(t testing.TB, n int) *store {
	cut := &store{Memory: new(session.Memory), batches: slices.Clone(s.batches[:n])}
	_, err := cut.Memory.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), cut.Memory, "s", session.Claim{})
	require.NoError(t, err)
	for _, batch := range cut.batches {
		_, err := w.Append(t.Context(), batch...)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close(t.Context()))
	return cut
}

// talk has turns in the session of a store: prompts, steering, answers, cancels, questions that are
// put off.
func talk(t testing.TB, d *dice, st *store, turns int) {
	h, err := host.New(host.Config[none, string]{
		Agent: newAgent(d, summaries(d), port(t, d)), Store: st, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, h.Close(t.Context())) }()
	s, err := h.Open(t.Context(), "s", nil)
	if errors.Is(err, session.ErrNotFound) {
		s, err = h.Create(t.Context(), session.New{ID: "s"}, nil)
	}
	require.NoError(t, err)
	for n := range turns {
		oneTurn(t, d, s, n)
	}
}

func oneTurn(t testing.TB, d *dice, s *host.Session, n int) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	left := 1000
	if d.one(3) {
		left = d.n(40)
	}
	p := host.Prompt{
		Parts: []model.Part{model.User(fmt.Sprint("prompt ", n))}, Defer: d.one(4),
		Observe: func(*agent.Event) {
			if left--; left == 0 {
				cancel()
			}
		},
		Asker: toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
			switch d.n(5) {
			case 0:
				return toolset.Decision{Verdict: toolset.VerdictDeny, Reason: "no", By: "user"}, nil
			case 1:
				return toolset.Defer(), nil
			case 2:
				return toolset.AllowWith([]byte(`{"depth":9}`)), nil
			}
			return toolset.Decision{Verdict: toolset.VerdictAllow, By: "user"}, nil
		}},
	}
	snapshot, _, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	var questions []*view.Entity
	for e := range snapshot.Of(view.Question) {
		if e.Status == view.Pending {
			questions = append(questions, e)
		}
	}
	if len(questions) > 0 && d.one(2) {
		for _, q := range questions {
			choice := pick(d, host.AllowOnce, host.RejectOnce)
			turn, err := s.Answer(ctx, q.ID, "user", host.Answer{Choice: choice, Digest: q.Digest})
			require.NoError(t, err)
			if turn != nil {
				turn.Resume(p)
			}
		}
		return
	}
	_, err = s.Prompt(ctx, p)
	require.NoError(t, err)
}
