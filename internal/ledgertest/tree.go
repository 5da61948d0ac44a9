// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
	"github.com/ponte-go/ponte/toolset"
)

// Options configures a tree.
type Options struct {
	// Background makes a capability that runs an agent outside of calls; nil for none.
	Background func(inner *agent.Agent[struct{}, string]) agent.Capability[struct{}]
	// Cancel, if not nil, is called by the provider now and then.
	Cancel context.CancelFunc
	// Window bounds the tokens of all runs; 0 does not.
	Window int64
	// Parallel bounds the calls that run side by side; 0 does not.
	Parallel int
}

// Tree is a random tree of agents.
type Tree struct {
	Agent *agent.Agent[struct{}, string]
	// Inner is the agent of the tool "inner" of Agent.
	Inner *agent.Agent[struct{}, string]
	// Book is a window that all runs of the tree have.
	Book     *Book
	provider provider
	options  Options
}

// New returns the tree of a seed.
func New(seed uint64, o Options) *Tree {
	t := &Tree{options: o}
	t.provider.rnd = rand.New(rand.NewPCG(seed, 24))
	t.provider.ledger.Happened = map[string]int{}
	t.provider.cancel = o.Cancel
	t.Book = &Book{bound: o.Window}
	t.Agent = t.agent("root", 0)
	return t
}

type runContext = toolset.RunContext[struct{}]

// Policy returns the window of the tree and its prices, for runs that another process starts.
func (t *Tree) Policy() *agent.Policy { return t.Book.policy() }

// agent returns the agent at a level of the tree.
func (t *Tree) agent(name string, level int) *agent.Agent[struct{}, string] {
	c := agent.Config[struct{}, string]{Name: name, Model: t.model(t.decide), Limits: agent.Limits{Requests: 30}}
	c.MaxParallelCalls = t.options.Parallel
	if level == 0 {
		c.Prices = prices{}
	}
	if level == 0 || t.provider.n(2) == 0 { // it works once
		c.Policies = []*agent.Policy{t.Book.policy()}
	}
	approve := toolset.Approve(func(context.Context, *runContext, struct{}) (*toolset.Approval, error) {
		return &toolset.Approval{Reason: "guarded"}, nil
	})
	c.Tools = []*toolset.Tool[struct{}]{
		toolset.Func("note", "Note.", func(context.Context, *runContext, struct{}) (string, error) { return "noted", nil }),
		toolset.Func("guarded", "Guarded.", func(context.Context, *runContext, struct{}) (string, error) { return "done", nil }, approve),
		toolset.Func("ask", "Ask.", func(ctx context.Context, run *runContext, _ struct{}) (string, error) {
			return told(run.Generate(ctx, &model.Request{Messages: []*model.Message{model.UserText("what?")}}))
		}),
		t.other(), t.judged(),
	}
	if t.provider.n(2) == 0 {
		c.Hooks = append(c.Hooks, t.hooks())
	}
	if t.provider.n(3) == 0 {
		c.Capabilities = append(c.Capabilities, t.guards())
	}
	if t.provider.n(3) == 0 {
		c.History = []agent.HistoryProcessor[struct{}]{history.Summarise[struct{}](history.Summary{
			Model: t.model(say("a summary")), Threshold: 1000, KeepTurns: 1, KeepSteps: 1,
			Estimate: func(*model.Message) int { return 400 }, OnError: func(context.Context, error) error { return nil },
		})}
	}
	if level < 2 {
		inner := func(i int) *agent.Agent[struct{}, string] { return t.agent(fmt.Sprintf("%s_%d", name, i), level+1) }
		same := func(d struct{}) struct{} { return d }
		first := inner(1)
		if level == 0 {
			t.Inner = first
		}
		c.Tools = append(c.Tools, agent.AsTool("inner", "Inner.", first, same))
		if t.provider.n(2) == 0 {
			text := agent.Text(func(_ context.Context, _ *runContext, text string) (string, error) {
				return text, nil
			})
			c.Alternatives = []agent.Alternative[struct{}, string]{text, agent.HandOver("over", "Hand over.", inner(2), same)}
		}
		if t.options.Background != nil {
			c.Capabilities = append(c.Capabilities, t.options.Background(inner(3)))
		}
	}
	return agent.Must(agent.New(c))
}

func told(resp *model.Message, err error) (string, error) {
	if err != nil {
		return "", toolset.Failed("no answer: %v", err)
	}
	return "heard " + resp.Text(), nil
}

// other returns a tool that has its own model.
func (t *Tree) other() *toolset.Tool[struct{}] {
	m := t.model(say("other"))
	return toolset.Func("other", "Other.", func(ctx context.Context, run *runContext, _ struct{}) (string, error) {
		return told(run.Meter.Generate(ctx, m, &model.Request{Messages: []*model.Message{model.UserText("what?")}}, nil))
	})
}

// judged returns a tool whose own check asks a model, which refuses some calls.
func (t *Tree) judged() *toolset.Tool[struct{}] {
	m := t.model(say("judged"))
	may := &model.Request{Messages: []*model.Message{model.UserText("may it?")}}
	check := toolset.Check(func(ctx context.Context, run *runContext, _ struct{}) error {
		_, err := told(run.Meter.Generate(ctx, m, may, nil))
		if err == nil && t.provider.n(3) == 0 {
			err = toolset.Retry("not like this")
		}
		return err
	})
	return toolset.Plain[struct{}]("judged", "Judged.", func(context.Context, struct{}) (string, error) {
		return "done", nil
	}, check)
}

func say(text string) func(*model.Request) *model.Message {
	return func(*model.Request) *model.Message { return model.Response(model.Text(text)) }
}

// decide answers a request of an agent: with calls at first, later with text.
func (t *Tree) decide(req *model.Request) *model.Message {
	steps := 0
	for _, m := range req.Messages {
		if m.Kind == model.KindResponse {
			steps++
		}
	}
	p := &t.provider
	if steps > 3 || len(req.Tools) == 0 || p.n(3) == 0 {
		return model.Response(model.Text(fmt.Sprintf("done %d", p.n(1000))))
	}
	var parts []model.Part
	for i := range 1 + p.n(2) {
		tool := req.Tools[p.n(len(req.Tools))].Name
		args := `{}`
		switch tool {
		case "inner", "over":
			args = `{"prompt":"go"}`
		case "delegate":
			args = fmt.Sprintf(`{"agent":"helper","task":"go","background":%t}`, p.n(2) == 0)
		case "cancel_agent":
			args = `{"handle":"helper-1"}`
		}
		parts = append(parts, model.ToolCall(fmt.Sprintf("c%d_%d", steps, i), tool, args))
	}
	return model.Response(parts...)
}

// hooks returns hooks that send a request twice, or not at all.
func (t *Tree) hooks() agent.Hooks[struct{}] {
	return agent.Hooks[struct{}]{Request: func(ctx context.Context, _ *runContext, req *model.Request, next agent.RequestFunc) (*model.Message, error) {
		switch t.provider.n(6) {
		case 0:
			t.provider.count(func(l *Ledger) { l.Happened["not sent"]++ })
			return model.Response(model.Text("from the hook")), nil
		case 1, 2:
			t.provider.count(func(l *Ledger) { l.Happened["sent twice"]++ })
			if _, err := next(ctx, req); errors.As(err, new(*toolset.LimitError)) {
				return nil, err
			}
		}
		return next(ctx, req)
	}}
}

// guards returns guards by a model that pass nearly all.
func (t *Tree) guards() agent.Capability[struct{}] {
	judge := t.model(func(*model.Request) *model.Message {
		verdict := "pass"
		if t.provider.n(10) == 0 {
			verdict = "block"
		}
		return model.Response(model.Text(fmt.Sprintf(`{"verdict":%q,"reason":"because"}`, verdict)))
	})
	check := guardrails.ModelCheck{Policy: "Be nice.", Model: judge}
	if t.provider.n(3) == 0 {
		check.Model = nil // that of the run, which gives no verdicts
	}
	return guardrails.New(guardrails.Guard[struct{}]{
		Name: "nice", On: guardrails.Call | guardrails.Result | guardrails.Output, Check: guardrails.ByModel[struct{}](check), Open: true,
	})
}

// foreign is a wrapper that knows nothing of how requests are counted.
type foreign struct{ model.Model }

// Generate implements [model.Model].
func (f foreign) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	return f.Model.Generate(context.WithValue(ctx, foreign{}, 1), req, sink)
}

// model returns a model of the provider, perhaps within wrappers.
func (t *Tree) model(answer func(*model.Request) *model.Message) model.Model {
	leaf := func() model.Model { return t.provider.leaf(answer) }
	policy := model.RetryPolicy{Attempts: 2, Base: time.Nanosecond, Max: time.Nanosecond}
	switch t.provider.n(9) {
	case 0:
		return modelwrap.Fallback([]model.Model{leaf(), leaf(), leaf()}, modelwrap.FallbackPolicy{Check: modelwrap.Usable, Buffered: t.provider.n(2) == 0})
	case 1:
		return modelwrap.Retry(modelwrap.Fallback([]model.Model{foreign{leaf()}, leaf()}, modelwrap.FallbackPolicy{}), policy)
	case 2:
		return foreign{modelwrap.Fallback([]model.Model{leaf(), modelwrap.Retry(leaf(), policy)}, modelwrap.FallbackPolicy{Check: modelwrap.Usable})}
	case 3:
		return modelwrap.Cache(modelwrap.Limit(leaf(), 3), modelwrap.NewMemory(modelwrap.MemoryLimits{}), modelwrap.CachePolicy{Coalesce: t.provider.n(2) == 0})
	case 4:
		inner := modelwrap.Retry(leaf(), policy)
		return model.Func(inner.Info(), inner.Generate)
	case 5:
		return modelwrap.Cost(modelwrap.Break(leaf(), modelwrap.BreakPolicy{Failures: 2}), prices{}, nil)
	}
	return leaf()
}
