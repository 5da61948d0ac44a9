// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
)

// maxShown bounds the text of a result that is shown with its tool call, in bytes. The model gets all of it; a tool that has more to
// show sets the call's content itself.
const maxShown = 64 << 10

// callProjection shows the tool calls of a run. The tracker announces each once and sends changes only, whether they come from here
// or from the tool itself.
type callProjection struct {
	ctx     context.Context
	tracker *deps.Tracker
	runID   string

	early []string // the calls of the response in hand that were announced before it was complete

	mu   sync.Mutex
	open []openCall // announced and not ended
}

type openCall struct {
	id   acp.ToolCallID
	tool string
}

func (p *callProjection) id(step int, callID string) acp.ToolCallID {
	return deps.ToolCallID(p.runID, step, callID)
}

// begin announces a call as soon as the model begins to write it, if it is known what is called.
func (p *callProjection) begin(e *agent.Event) error {
	if e.Tool == "" || e.CallID == "" || e.Output || slices.Contains(p.early, e.CallID) {
		return nil
	}
	p.early = append(p.early, e.CallID)
	return p.start(e, acp.ToolCall{})
}

// settle is called with the complete response: a call that was announced and is not in it will not be made.
func (p *callProjection) settle(e *agent.Event) error {
	var errs []error
	for _, callID := range p.early {
		if !slices.ContainsFunc(e.Message.Parts, func(part model.Part) bool {
			return part.Kind == model.PartToolCall && part.CallID == callID
		}) {
			id := p.id(e.Step, callID)
			p.ended(id)
			errs = append(errs, p.tracker.Fail(p.ctx, id, "Not called after all."))
		}
	}
	p.early = p.early[:0]
	return errors.Join(errs...)
}

// call shows a call with its complete arguments. It is pending until it starts to run.
func (p *callProjection) call(e *agent.Event) error {
	if e.Output {
		return nil
	}
	args := e.Args
	if e.Repaired != nil {
		args = e.Repaired
	}
	return p.start(e, acp.ToolCall{RawInput: rawInput(args)})
}

// begun shows that a call has started, with the arguments that it runs with.
func (p *callProjection) begun(e *agent.Event) error {
	if e.Output {
		return nil
	}
	u := acp.ToolCallUpdate{ToolCallID: p.id(e.Step, e.CallID), Status: acp.ToolCallStatusInProgress}
	if d := e.Decision; d != nil {
		if len(d.Args) > 0 {
			u.RawInput = rawInput(e.Args)
		}
		if d.By != "" && d.By != byUser { // nobody has seen it
			u.Content = append(p.tracker.Snapshot(u.ToolCallID).Content, deps.TextContent(allowedBy(d)))
		}
	}
	return p.tracker.Update(p.ctx, u)
}

const allowedByPrefix = "Allowed by: "

// allowedBy says who allowed a call that the user was not asked about.
func allowedBy(d *toolset.Decision) string {
	text := allowedByPrefix + d.By
	if rule := approval.RuleOf(*d); rule != "" {
		text += ", " + rule
	}
	return show.Line(text)
}

// start announces a call, or tells what is new about it.
func (p *callProjection) start(e *agent.Event, c acp.ToolCall) error {
	c.ToolCallID = p.id(e.Step, e.CallID)
	p.opened(openCall{c.ToolCallID, e.Tool})
	c.Name, c.Title, c.Kind = &e.Tool, e.ToolTitle, acp.ToolKind(e.ToolKind)
	if c.Title == "" {
		c.Title = e.Tool
	}
	if c.Kind == "" {
		c.Kind = acp.ToolKindOther
	}
	if c.Status == "" {
		c.Status = acp.ToolCallStatusPending
	}
	return p.tracker.Start(p.ctx, c)
}

// result shows how a call ended.
func (p *callProjection) result(e *agent.Event) error {
	if e.Output {
		return nil
	}
	id := p.id(e.Step, e.CallID)
	p.ended(id)
	switch r := e.Result; {
	case r == nil: // what ended the run
		return p.tracker.Fail(p.ctx, id, failureText(e.Err))
	case r.Kind == model.PartRetry || r.Outcome != model.OutcomeSuccess:
		return p.tracker.Fail(p.ctx, id, shown(r.Text))
	case r.Text == "" || len(p.tracker.Snapshot(id).Content) > 0:
		return p.tracker.Complete(p.ctx, id)
	default:
		return p.tracker.Complete(p.ctx, id, deps.TextContent(shown(r.Text)))
	}
}

func (p *callProjection) opened(c openCall) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.open, c) {
		p.open = append(p.open, c)
	}
}

func (p *callProjection) ended(id acp.ToolCallID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = slices.DeleteFunc(p.open, func(o openCall) bool { return o.id == id })
}

// whyUnfinished is what the user is shown of calls that are open when a turn ends.
func whyUnfinished(end *ending) string {
	if end.stop == acp.StopReasonCancelled {
		return "Cancelled."
	}
	return "Not finished: the turn ended before."
}

// close ends the calls that are still open.
func (p *callProjection) close(ctx context.Context, why string) error {
	var errs []error
	p.mu.Lock()
	open := p.open
	p.open = nil
	p.mu.Unlock()
	for _, o := range open {
		errs = append(errs, p.tracker.Fail(ctx, o.id, why))
	}
	return errors.Join(append(errs, p.tracker.EndRun(ctx, p.runID))...)
}

// tools returns the names of the tools whose calls are open.
func (p *callProjection) tools() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	names := make([]string, len(p.open))
	for i, o := range p.open {
		names[i] = o.tool
	}
	return names
}

// failureText is what the user is shown of an error that ended the run.
func failureText(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.Canceled):
		return "Cancelled."
	}
	return oneLine(err.Error())
}

// rawInput returns arguments as JSON: verbatim if they are, and as a string if the model did not get that right.
func rawInput(args model.RawArgs) json.RawMessage {
	switch {
	case len(args) == 0:
		return json.RawMessage("{}")
	case json.Valid(args):
		return json.RawMessage(args)
	}
	quoted, _ := json.Marshal(string(args)) // a string always has a JSON form
	return quoted
}

// shown cuts a text that is too long to be shown.
func shown(text string) string {
	if len(text) <= maxShown {
		return text
	}
	cut := maxShown
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "\n[" + strconv.Itoa(len(text)-cut) + " more bytes are not shown]"
}
