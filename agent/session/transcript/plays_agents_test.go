// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// dice are thrown anew for each place in a play, so that a play is the same whatever order its goroutines have.
type dice uint64

func (d dice) at(where ...any) *rand.Rand {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, where...)
	return rand.New(rand.NewPCG(uint64(d), h.Sum64()))
}

func choice[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

// player is a model that thinks, says, calls and fails as the dice fall.
type player struct {
	dice
	name  string
	tools []string
}

func (m *player) generate(_ context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	last := req.Messages[len(req.Messages)-1]
	said := ""
	for i := range last.Parts {
		said += last.Parts[i].Text
	}
	steps := 0
	for _, msg := range slices.Backward(req.Messages) {
		if msg.Kind == model.KindRequest && slices.ContainsFunc(msg.Parts, func(p model.Part) bool { return p.Kind == model.PartUser }) {
			break
		}
		steps++
	}
	r := m.at(m.name, len(req.Messages), said)
	time.Sleep(time.Second)
	var parts []model.Part
	say := func(kind model.PartKind, words ...string) error {
		whole := ""
		for _, word := range words {
			time.Sleep(time.Duration(r.IntN(150)) * time.Millisecond)
			if err := sink(model.Delta{Part: len(parts), Kind: kind, Text: word}); err != nil {
				return err
			}
			whole += word
		}
		p := model.Text(whole)
		p.Kind = kind
		parts = append(parts, p)
		return nil
	}
	if r.IntN(3) == 0 {
		if err := say(model.PartThinking, "Let ", "me ", "think."); err != nil {
			return nil, err
		}
	}
	if r.IntN(3) > 0 {
		if err := say(model.PartText, "It is ", fmt.Sprint("so (", r.IntN(100), ")")); err != nil {
			return nil, err
		}
	}
	if r.IntN(15) == 0 {
		return nil, errors.New("the provider is away")
	}
	switch r.IntN(8) {
	case 0:
		parts = append(parts, model.Part{Kind: model.PartCitation, URL: "https://example.com/sea", Name: "The sea"})
	case 1:
		parts = append(parts, model.Media("image/png", []byte("x")))
	}
	calls := 0
	if steps < 4 && r.IntN(5) > 0 {
		for calls < 1+r.IntN(2) {
			tool := choice(r, m.tools...)
			args := choice(r, `{}`, `{"x":1}`, `{oops`)
			if tool == "ask" || tool == "transfer" {
				args = `{"prompt":"go"}`
			}
			parts = append(parts, model.ToolCall(fmt.Sprintf("c%d", calls), tool, args))
			calls++
		}
	}
	if len(parts) == 0 {
		parts = append(parts, model.Text("Yes."))
	}
	resp := model.Response(parts...)
	resp.Usage = model.Usage{InputTokens: int64(10 + r.IntN(100)), OutputTokens: int64(r.IntN(50))}
	if calls == 0 && r.IntN(5) == 0 {
		resp.Finish = model.FinishLength
	}
	return resp, nil
}

// playTools are the tools of all agents of a play.
func playTools(d dice, cancel *func()) []*toolset.Tool[none] {
	tool := func(name string, f func(run *toolset.RunContext[none]) (toolset.Result, error), opts ...toolset.Option) *toolset.Tool[none] {
		return toolset.Func(name, name, func(_ context.Context, run *toolset.RunContext[none], _ none) (toolset.Result, error) {
			time.Sleep(100 * time.Millisecond)
			return f(run)
		}, opts...)
	}
	return []*toolset.Tool[none]{
		tool("look", func(*toolset.RunContext[none]) (toolset.Result, error) {
			return toolset.Result{Text: "seen", Content: []model.Part{model.Media("image/png", []byte("y"))}, Meta: json.RawMessage(`{"n":1}`)}, nil
		}, toolset.OfKind(toolset.KindRead, "Look around")),
		tool("fail", func(*toolset.RunContext[none]) (toolset.Result, error) {
			return toolset.Result{}, toolset.Failed("there is no sea")
		}),
		tool("again", func(*toolset.RunContext[none]) (toolset.Result, error) {
			return toolset.Result{}, toolset.Retry("look first")
		}),
		tool("break", func(run *toolset.RunContext[none]) (toolset.Result, error) {
			if d.at("break", run.RunID, run.Step).IntN(3) == 0 {
				return toolset.Result{}, errors.New("it broke")
			}
			return toolset.Result{Text: "whole"}, nil
		}),
		tool("stop", func(*toolset.RunContext[none]) (toolset.Result, error) {
			(*cancel)()
			return toolset.Result{Text: "stopped"}, nil
		}),
		tool("later", func(*toolset.RunContext[none]) (toolset.Result, error) {
			return toolset.Result{}, toolset.Deferred(json.RawMessage(`{"job":7}`))
		}),
		tool("show", func(run *toolset.RunContext[none]) (toolset.Result, error) {
			old := "old"
			switch d.at("show", run.RunID, run.Step, run.Call.ID).IntN(5) {
			case 0:
				run.Emit(view.Entity{ID: "plan", Kind: view.Plan, Steps: []view.Step{{Text: "Look", Status: view.Completed}}})
			case 1:
				run.Emit(view.Entity{Kind: view.Notice, Class: "info", Title: "Mind the sea"})
			case 2:
				run.Emit(view.Entity{ID: "x", Kind: view.Compaction, Status: view.Completed})
			case 3:
				run.Emit(view.Entity{Kind: view.ToolCall, Title: "Show it", Content: []view.Content{{Kind: view.Diff, Diff: &view.FileChange{Path: "/sea", Old: &old, New: "new"}}}})
			case 4:
				run.Emit(view.Entity{Kind: view.ToolCall, Status: view.Completed, Output: json.RawMessage(`{"n":2}`)})
			}
			return toolset.Result{Text: "shown"}, nil
		}, toolset.OfKind(toolset.KindEdit, "Show")),
	}
}

// said is an output that the model writes as text.
func said(_ context.Context, _ *toolset.RunContext[none], text string) (string, error) {
	return text, nil
}

// playAgent returns an agent with another one as a tool, and one that takes over.
func playAgent(d dice, cancel *func()) *agent.Agent[none, string] {
	pay := toolset.Func("pay", "Pay.", func(context.Context, *toolset.RunContext[none], none) (string, error) { return "paid", nil })
	paying := toolset.Approved(toolset.Of(pay), func(_ context.Context, run *toolset.RunContext[none], _ *toolset.Tool[none], _ any) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Pay 5 euros", Basis: fmt.Sprint("b", d.at("basis", run.RunID, run.Step).IntN(2))}, nil
	})
	names := []string{"look", "fail", "again", "break", "show", "show", "later", "pay", "pay", "pay", "stop", "unknown"}
	config := func(name string, more ...string) agent.Config[none, string] {
		m := &player{d, name, append(slices.Clone(names), more...)}
		return agent.Config[none, string]{
			Name: name, Model: model.Func(model.Info{Provider: "p", Name: name}, m.generate), Tools: playTools(d, cancel), Toolsets: []toolset.Toolset[none]{paying},
			Limits: agent.Limits{Requests: 12}, MaxParallelCalls: 1,
		}
	}
	c := config("lead", "ask", "ask", "ask", "transfer", "transfer")
	c.Tools = append(c.Tools, agent.AsTool("ask", "Ask.", agent.Must(agent.New(config("clerk"))), same))
	var stays []agent.HandOverOption
	expert := config("expert", "back")
	if d%2 == 1 { // the expert keeps the conversation until it gives it back
		stays = append(stays, agent.Stay())
		expert.Alternatives = []agent.Alternative[none, string]{agent.HandBack[none, string]("back", "Give back."), agent.Text(said)}
	}
	c.Alternatives = []agent.Alternative[none, string]{agent.HandOver("transfer", "Transfer.", agent.Must(agent.New(expert)), same, stays...), agent.Text(said)}
	return agent.Must(agent.New(c))
}
