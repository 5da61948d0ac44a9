// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/toolset"
)

// Script returns the worker of [Conformance]: for engines whose tasks are executed in another process, which calls it there. Its results
// depend on the tasks alone.
func Script() engine.Worker { return script{} }

type script struct{}

// Do implements [engine.Worker].
func (s script) Do(ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done) {
	switch t.Op {
	case engine.OpPrepare:
		done.Offer = &engine.Offer{Instructions: fmt.Sprint("Step ", t.Info.Step), Text: true}
		for _, tool := range []engine.Tool{{Name: "work", Retries: 1}, {Name: "alone", Sequential: true}, {Name: "guarded", Asks: true}, {Name: "asks"}} {
			done.Offer.Tools, done.Offer.Defs = append(done.Offer.Tools, tool), append(done.Offer.Defs, model.ToolDef{Name: tool.Name, Schema: json.RawMessage(`{"type":"object"}`)})
		}
	case engine.OpStep:
		s.Do(ctx, &engine.Task{Op: engine.OpPrepare, Info: t.Info}, l, done)
		done.Response, _ = answer(t, nil)
		s.Do(ctx, &engine.Task{Op: engine.OpCheck, Info: t.Info, Checks: loop.ChecksOf(done.Response, done.Offer, t.Checks)}, l, done)
	case engine.OpModel:
		done.Response, done.Err = answer(t, l)
	case engine.OpCheck:
		done.Checked = make([]engine.Checked, len(t.Checks))
		for i, c := range t.Checks {
			switch string(c.Call.Args) {
			case "bad":
				done.Checked[i].Return = &engine.Return{Result: toolset.Result{Text: "not JSON"}, Retry: true}
			case "{}}":
				done.Checked[i].Repaired = model.RawArgs("{}")
			}
		}
	case engine.OpPreview:
		done.Return.Approval = &toolset.Approval{Reason: "guarded", Basis: "1"}
	case engine.OpApprove:
		done.Decision = &toolset.Decision{Verdict: toolset.VerdictAllow, By: "suite"}
	case engine.OpTool:
		call(t, l, done)
	case engine.OpOutput:
		data, _ := json.Marshal(t.Text)
		done.Output = &engine.Output{Data: data, Value: t.Text}
	case engine.OpInbox:
		if t.Info.Step == 2 && !t.AtEnd {
			done.Inbox = [][]model.Part{{model.User("Be brief.")}}
		}
	}
}

// answer is the response of a step.
func answer(t *engine.Task, l engine.Listener) (*model.Message, error) {
	var resp *model.Message
	switch t.Info.Step {
	case 1:
		resp = model.Response(model.Text("at work"), model.ToolCall("a", "work", "{}"), model.ToolCall("b", "work", "{}}"), model.ToolCall("c", "work", "{}"),
			model.ToolCall("d", "alone", "{}"), model.ToolCall("e", "guarded", "{}"), model.ToolCall("f", "work", "bad"))
	case 2:
		resp = model.Response(model.ToolCall("g", "asks", "{}"), model.ToolCall("h", "work", "{}"))
	default:
		resp = model.Response(model.Text("all done"))
		resp.Finish = model.FinishStop
	}
	resp.Usage = model.Usage{InputTokens: 10, OutputTokens: int64(t.Info.Step)}
	for i := range resp.Parts {
		if p := &resp.Parts[i]; t.Stream && p.Kind == model.PartText {
			for _, r := range p.Text {
				if err := l.Sink()(model.Delta{Part: i, Kind: p.Kind, Text: string(r)}); err != nil {
					return nil, err
				}
			}
		}
	}
	return resp, nil
}

// call runs a tool.
func call(t *engine.Task, l engine.Listener, done *engine.Done) {
	done.Return.Text = "ran " + t.Call.ID
	switch {
	case t.Call.Tool == "asks" && !t.Call.Approved:
		done.Return = engine.Return{Approval: &toolset.Approval{Reason: "better ask"}}
	case t.Call.ID == "b": // uses something itself
		used := toolset.Usage{Requests: 1, Usage: model.Usage{InputTokens: 100}}
		t.Info.Meter.Add(used)
		done.Used = &used
		done.Return.Text += fmt.Sprint(" with ", string(t.Call.Args))
	case t.Call.ID == "c" && t.Emits:
		var all sync.WaitGroup
		for n := range 8 {
			all.Go(func() { _ = l.Custom(t.Call, n) })
		}
		all.Wait()
	case t.Call.ID == "d" && t.Emits:
		if err := l.Custom(t.Call, "d"); err != nil {
			done.Return.Text = "was told: " + err.Error()
		}
	}
}
