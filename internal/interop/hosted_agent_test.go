// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
)

// perRequest is what each request of the hosted agent costs.
var perRequest = model.Prices{"hosted": {Request: 0.25}}

// hosted is an agent whose prompts say how a turn goes: "show" shows what tools can show, "ask" asks an agent inside a call, "cut", "filter",
// "loop" and "fail" end the turn in other ways than well, and everything else is answered after a thought.
func hosted() acpbridge.Config[deps.ACPDeps, string] {
	inner := agent.Must(agent.New(agent.Config[deps.ACPDeps, string]{Name: "guide", Model: talks{}}))
	a := agent.Must(agent.New(agent.Config[deps.ACPDeps, string]{
		Model: talks{}, Limits: agent.Limits{Requests: 5},
		Tools: []*toolset.Tool[deps.ACPDeps]{
			toolset.Func("show", "", func(_ context.Context, run *toolset.RunContext[deps.ACPDeps], _ noArguments) (string, error) {
				text := []view.Content{{Kind: view.Text, Text: "They said hello."}}
				for _, e := range []view.Entity{
					{ID: "plan", Kind: view.Plan, Steps: []view.Step{{Text: "Look"}}}, {ID: "b", Kind: view.Plan, Steps: []view.Step{{Text: "Rest"}}},
					{ID: "n", Kind: view.Notice, Class: "warning", Title: "Nearly full"},
					{ID: "c", Kind: view.Compaction, Status: view.Running}, {ID: "c", Kind: view.Compaction, Status: view.Completed, Content: text},
				} {
					run.Emit(view.Change{Op: view.Upsert, ID: e.ID, Entity: &e})
				}
				run.Emit(view.Change{Op: view.Remove, ID: "b", Entity: &view.Entity{ID: "b", Kind: view.Plan}})
				return "shown", nil
			}),
			agent.AsTool("ask", "", inner, func(d deps.ACPDeps) deps.ACPDeps { return d }),
			toolset.Func("loop", "", func(context.Context, *toolset.RunContext[deps.ACPDeps], noArguments) (string, error) {
				return "again", nil
			}),
		},
	}))
	return acpbridge.Config[deps.ACPDeps, string]{
		Host: host.Config[deps.ACPDeps, string]{
			Agent:    a,
			Logger:   slog.New(slog.DiscardHandler),
			Info:     &model.Info{ContextWindow: 1000},
			Prices:   perRequest,
			Store:    new(session.Memory),
			Modes:    host.Modes(),
			Commands: host.BuiltIns(perRequest),
		},
		Options: acpbridge.Options{Unstable: true},
	}
}

// talks is the model of the hosted agent.
type talks struct{}

func (talks) Info() model.Info {
	return model.Info{Provider: "test", Name: "hosted", ContextWindow: 1000}
}

func (talks) Generate(_ context.Context, r *model.Request, sink model.Sink) (*model.Message, error) {
	last := &r.Messages[len(r.Messages)-1].Parts[0]
	word, _, _ := strings.Cut(last.Text, " ")
	var m *model.Message
	switch {
	case last.Kind == model.PartToolReturn && last.Text != "again":
		m = model.Response(model.Text(last.Text))
	case word == "show":
		m = model.Response(model.ToolCall("1", "show", "{}"))
	case word == "ask":
		m = model.Response(model.ToolCall("1", "ask", `{"prompt":"Hello?"}`))
	case word == "loop", word == "again":
		m = model.Response(model.ToolCall("1", "loop", "{}"))
	case word == "cut":
		m = model.Response(model.Text("This is cut"))
		m.Finish = model.FinishLength
	case word == "filter":
		m = model.Response()
		m.Finish = model.FinishContentFilter
	case word == "fail":
		return nil, errors.New("the provider\nis on fire")
	default:
		m = model.Response(model.Thinking("Hm."), model.Text(fmt.Sprintf("You said %q.", last.Text)))
	}
	m.Provider, m.Model = "test", "hosted"
	m.Usage = model.Usage{InputTokens: 10, OutputTokens: 5}
	for i := range m.Parts {
		if p := &m.Parts[i]; sink != nil && (p.Kind == model.PartText || p.Kind == model.PartThinking) {
			if err := sink(model.Delta{Part: i, Kind: p.Kind, Text: p.Text}); err != nil {
				return m, err
			}
		}
	}
	return m, nil
}
