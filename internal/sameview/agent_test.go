// SPDX-License-Identifier: Apache-2.0

package sameview_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

type none struct{}

var errRandom = errors.New("the provider is away")

// dice makes random decisions, for goroutines.
type dice struct {
	mu    sync.Mutex
	r     *rand.Rand
	steer *uint64 // a seed, if something is said while turns run
}

// more returns at which event of a turn something more is said, 0 for none.
func (d *dice) more(turn int) int {
	if d.steer == nil {
		return 0
	}
	return rand.New(rand.NewPCG(*d.steer, uint64(turn))).IntN(40)
}

func (d *dice) n(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.IntN(n)
}

func (d *dice) one(in int) bool { return d.n(in) == 0 }

func pick[T any](d *dice, all ...T) T { return all[d.n(len(all))] }

// talker is a model that says, calls and fails at random.
type talker struct {
	*dice
	tools []string
	most  int // steps
}

func (m *talker) generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	steps := 0
	for _, msg := range slices.Backward(req.Messages) {
		if msg.Kind == model.KindRequest && msg.Text() != "" {
			break
		}
		steps++
	}
	var parts []model.Part
	say := func(kind model.PartKind, part int, words ...string) error {
		text := ""
		for _, word := range words {
			if m.one(3) {
				select {
				case <-time.After(time.Duration(m.n(300)) * time.Millisecond):
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			if err := sink(model.Delta{Part: part, Kind: kind, Text: word}); err != nil {
				return err
			}
			text += word
		}
		if text != "" {
			p := model.Text(text)
			p.Kind = kind
			parts = append(parts, p)
		}
		return nil
	}
	if m.one(3) {
		if err := say(model.PartThinking, 0, "Let ", "me ", "think."); err != nil {
			return nil, err
		}
	}
	if !m.one(4) {
		if err := say(model.PartText, 1, "It is ", "`blue`, ", "and <b>so</b> ", "is the sea."); err != nil {
			return nil, err
		}
	}
	if m.one(12) {
		return nil, errRandom
	}
	if len(parts) > 0 && m.one(5) {
		parts = append(parts, model.Part{Kind: model.PartCitation, URL: "https://example.com/sea", Name: "The sea"})
	}
	calls := 0
	if steps < m.most && !m.one(3) {
		for calls < 1+m.n(2) {
			args := pick(m.dice, `{}`, `{}`, `{"x":1}`, `{oops`)
			tool := pick(m.dice, m.tools...)
			if tool == "ask" || tool == "transfer" {
				args = `{"prompt":"go"}`
			}
			parts = append(parts, model.ToolCall(fmt.Sprintf("c%d-%d", len(req.Messages), calls), tool, args))
			calls++
		}
	}
	if len(parts) == 0 {
		parts = append(parts, model.Text("Yes."))
	}
	resp := model.Response(parts...)
	resp.Usage = model.Usage{InputTokens: int64(10 + m.n(100)), OutputTokens: int64(m.n(50))}
	if calls == 0 && m.one(8) {
		resp.Finish = model.FinishLength
	}
	return resp, nil
}

// tools are those of all agents.
func tools(d *dice) []*toolset.Tool[none] {
	tool := func(name string, f func(ctx context.Context, run *toolset.RunContext[none]) (string, error), opts ...toolset.Option) *toolset.Tool[none] {
		return toolset.Func(name, name, func(ctx context.Context, run *toolset.RunContext[none], _ none) (string, error) { return f(ctx, run) }, opts...)
	}
	return []*toolset.Tool[none]{
		tool("look", func(context.Context, *toolset.RunContext[none]) (string, error) { return pick(d, "", "seen"), nil }, toolset.OfKind(toolset.KindRead, "Look around")),
		tool("fail", func(context.Context, *toolset.RunContext[none]) (string, error) {
			return "", toolset.Failed("there is no sea")
		}),
		tool("again", func(context.Context, *toolset.RunContext[none]) (string, error) {
			return "", toolset.Retry("look first")
		}),
		tool("break", func(context.Context, *toolset.RunContext[none]) (string, error) {
			if d.one(3) {
				return "", errRandom
			}
			return "whole", nil
		}),
		tool("wait", func(ctx context.Context, _ *toolset.RunContext[none]) (string, error) {
			select {
			case <-time.After(time.Duration(d.n(400)) * time.Millisecond):
				return "waited", nil
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}),
		tool("show", func(_ context.Context, run *toolset.RunContext[none]) (string, error) {
			emit(d, run)
			return "shown", nil
		}, toolset.OfKind(toolset.KindEdit, "Show")),
	}
}

// emit shows entities, and changes the entity of the call.
func emit(d *dice, run *toolset.RunContext[none]) {
	old := "old"
	for range 1 + d.n(3) {
		switch d.n(6) {
		case 0:
			run.Emit(view.Entity{ID: "plan", Kind: view.Plan, Steps: []view.Step{{Text: "Look", Status: view.Completed, Priority: "medium"}, {Text: "Tell", Status: pick(d, view.Pending, view.Running), Priority: "high"}}})
		case 1:
			run.Emit(view.Entity{Kind: view.Notice, Class: pick(d, "info", "warning"), Title: "Mind the sea"})
		case 2:
			run.Emit(view.Entity{ID: "x", Kind: view.Compaction, Status: pick(d, view.Running, view.Completed), Content: []view.Content{{Kind: view.Text, Text: "short"}}})
		case 3:
			run.Emit(view.Entity{Kind: view.ToolCall, Title: pick(d, "Show it", "Show all of it"), Meta: json.RawMessage(`{"example.com/n":1}`)})
		case 4:
			run.Emit(view.Entity{Kind: view.ToolCall, Content: []view.Content{{Kind: view.Diff, Diff: &view.FileChange{Path: "/sea", Old: &old, New: "new"}}}, Locations: []view.Location{{Path: "/sea", Line: 2}}})
		case 5:
			run.Emit(view.Entity{Kind: view.ToolCall, Output: json.RawMessage(`{"n":2}`)})
		}
	}
}

// newAgent returns an agent with another one as a tool, and one that takes over.
func newAgent(d *dice) *agent.Agent[none, string] {
	pay := toolset.Func("pay", "Pay.", func(context.Context, *toolset.RunContext[none], none) (string, error) { return "paid", nil })
	paying := toolset.Approved(toolset.Of(pay), func(context.Context, *toolset.RunContext[none], *toolset.Tool[none], any) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Pay 5 euros", Once: d.one(2)}, nil
	})
	names := []string{"look", "fail", "again", "break", "wait", "show", "show", "pay"}
	own := func(name string, more ...string) agent.Config[none, string] {
		m := &talker{d, append(slices.Clone(names), more...), 3}
		return agent.Config[none, string]{
			Name: name, Model: model.Func(model.Info{Provider: "p", Name: name}, m.generate), Tools: tools(d), Toolsets: []toolset.Toolset[none]{paying},
			Limits: agent.Limits{Requests: 12},
		}
	}
	same := func(n none) none { return n }
	inner := agent.Must(agent.New(own("clerk")))
	expert := agent.Must(agent.New(own("expert")))
	c := own("lead", "ask", "ask", "transfer")
	c.Tools = append(c.Tools, agent.AsTool("ask", "Ask.", inner, same))
	c.Alternatives = []agent.Alternative[none, string]{agent.HandOver("transfer", "Transfer.", expert, same)}
	return agent.Must(agent.New(c))
}
