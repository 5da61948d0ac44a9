// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"fmt"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/plainjson"
	"github.com/ponte-go/ponte/toolset"
)

// MarshalDone returns the result of t as JSON. An output must be an [*Output]. Errors keep their text, and their identity as far as
// [RegisterErrors] knows it.
func MarshalDone(t *Task, d *Done) ([]byte, error) {
	form := doneJSON{
		Version: Version, Offer: offerOf(d.Offer), Return: returnOf(t, &d.Return), Repaired: d.Repaired, Decision: decisionOf(d.Decision),
		Inbox: d.Inbox, Used: d.Used, Err: errorOf(t, d.Err),
	}
	if d.Response != nil {
		resp := *d.Response
		resp.Kind = model.KindResponse
		form.Response = &resp
	}
	if o := d.HandOver; o != nil {
		form.HandOver = new(handOverJSON(*o))
	}
	for i := range d.Checked {
		c := &d.Checked[i]
		made := checkedJSON{Repaired: c.Repaired, Own: c.Own, Err: errorOf(t, c.Err)}
		if c.Return != nil {
			made.Return = returnOf(t, c.Return)
		}
		form.Checked = append(form.Checked, made)
	}
	switch out := d.Output.(type) {
	case nil:
	case *Output:
		if out.Data == nil {
			return nil, fmt.Errorf("engine: result of step %d: an output of type %T cannot be written as JSON", stepOf(t), out.Value)
		}
		form.Output, form.OutputType = out.Data, out.Type
	default:
		return nil, fmt.Errorf("engine: result of step %d: the output is %T, must be an *engine.Output", stepOf(t), d.Output)
	}
	data, err := plainjson.Marshal(form)
	if err != nil {
		return nil, fmt.Errorf("engine: result of %s of step %d: %w", t.Op, stepOf(t), err)
	}
	return data, nil
}

// UnmarshalDone reads the form that [MarshalDone] writes. t is the task that the run has started: limits that were reached are those of its
// meter. What the task has used is not counted yet: see [Task.Count].
func UnmarshalDone(t *Task, data []byte) (*Done, error) {
	var form doneJSON
	if err := unmarshal("result", data, &form); err != nil {
		return nil, err
	}
	d := &Done{
		Response: form.Response, Offer: form.Offer.offer(), Decision: form.Decision.decision(),
		Inbox: form.Inbox, Used: form.Used, Err: form.Err.error(t),
	}
	if form.Repaired != nil {
		d.Repaired = form.Repaired
	}
	if o := form.HandOver; o != nil {
		d.HandOver = new(HandOver(*o))
	}
	if r := form.Return.returned(t); r != nil {
		d.Return = *r
	}
	for i := range form.Checked {
		c := &form.Checked[i]
		d.Checked = append(d.Checked, Checked{Repaired: c.Repaired, Return: c.Return.returned(t), Own: c.Own, Err: c.Err.error(t)})
	}
	if form.Output != nil {
		d.Output = &Output{Type: form.OutputType, Data: form.Output}
	}
	return d, nil
}

type doneJSON struct {
	Version    int             `json:"v"`
	Offer      *offerJSON      `json:"offer,omitempty"`
	Response   *model.Message  `json:"response,omitempty"`
	Checked    []checkedJSON   `json:"checked,omitempty"`
	Return     *returnJSON     `json:"return,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"`
	OutputType string          `json:"output_type,omitempty"`
	Repaired   model.RawArgs   `json:"repaired,omitzero"`
	HandOver   *handOverJSON   `json:"hand_over,omitempty"`
	Decision   *decisionJSON   `json:"decision,omitempty"`
	Inbox      [][]model.Part  `json:"inbox,omitempty"`
	Used       *toolset.Usage  `json:"used,omitempty"`
	Err        *errorJSON      `json:"error,omitempty"`
}

// handOverJSON has the fields of [HandOver].
type handOverJSON struct {
	Told   []*model.Message `json:"told,omitempty"`
	Back   bool             `json:"back,omitempty"`
	Reason string           `json:"reason,omitempty"`
}

type checkedJSON struct {
	Repaired model.RawArgs `json:"repaired,omitzero"`
	Return   *returnJSON   `json:"return,omitempty"`
	Own      bool          `json:"own,omitempty"`
	Err      *errorJSON    `json:"error,omitempty"`
}

type returnJSON struct {
	toolset.Result
	Retry    bool                  `json:"retry,omitempty"`
	Deferred bool                  `json:"deferred,omitempty"`
	Cause    *errorJSON            `json:"cause,omitempty"`
	Approval *toolset.Approval     `json:"approval,omitempty"`
	Pending  bool                  `json:"pending,omitempty"`
	Calls    []toolset.PendingCall `json:"calls,omitempty"`
	State    json.RawMessage       `json:"state,omitempty"`
}

// returnOf returns nil for a return that says nothing.
func returnOf(t *Task, r *Return) *returnJSON {
	form := &returnJSON{Result: r.Result, Retry: r.Retry, Deferred: r.Deferred, Cause: errorOf(t, r.Cause), Approval: r.Approval}
	if p := r.Pending; p != nil {
		form.Pending, form.Calls, form.State = true, p.Calls, p.State
	}
	if t.Op != OpTool && !r.Retry && r.Approval == nil && r.Pending == nil && r.Text == "" && r.Outcome == "" {
		return nil
	}
	return form
}

func (f *returnJSON) returned(t *Task) *Return {
	if f == nil {
		return nil
	}
	r := &Return{Result: f.Result, Retry: f.Retry, Deferred: f.Deferred, Cause: f.Cause.error(t), Approval: f.Approval}
	if f.Pending {
		r.Pending = &toolset.PendingError{Calls: f.Calls, State: f.State}
	}
	return r
}

type offerJSON struct {
	Instructions string           `json:"instructions,omitempty"`
	Tools        []toolJSON       `json:"tools,omitempty"`
	Defs         []toolDefJSON    `json:"defs,omitempty"`
	Text         bool             `json:"text,omitempty"`
	Media        bool             `json:"media,omitempty"`
	TextCall     bool             `json:"text_call,omitempty"`
	Output       *outputJSON      `json:"output,omitempty"`
	Choice       choiceJSON       `json:"tool_choice,omitzero"`
	Settings     *settingsJSON    `json:"settings,omitempty"`
	History      []*model.Message `json:"history,omitempty"`
}

// toolJSON has the fields of [Tool].
type toolJSON struct {
	Name       string       `json:"name"`
	Output     bool         `json:"output,omitempty"`
	HandsOver  bool         `json:"hands_over,omitempty"`
	Sequential bool         `json:"sequential,omitempty"`
	Checks     bool         `json:"checks,omitempty"`
	Asks       bool         `json:"asks,omitempty"`
	External   bool         `json:"external,omitempty"`
	Idempotent bool         `json:"idempotent,omitempty"`
	Kind       toolset.Kind `json:"kind,omitempty"`
	Title      string       `json:"title,omitempty"`
	Retries    int          `json:"retries,omitempty"`
}

func offerOf(o *Offer) *offerJSON {
	if o == nil {
		return nil
	}
	form := &offerJSON{
		Instructions: o.Instructions, Defs: defsOf(o.Defs), Text: o.Text, Media: o.Media, TextCall: o.TextCall, Output: (*outputJSON)(o.Output),
		Choice: choiceJSON(o.Choice), Settings: settingsOf(o.Settings), History: o.History,
	}
	for _, t := range o.Tools {
		form.Tools = append(form.Tools, toolJSON(t))
	}
	return form
}

func (f *offerJSON) offer() *Offer {
	if f == nil {
		return nil
	}
	o := &Offer{
		Instructions: f.Instructions, Defs: toDefs(f.Defs), Text: f.Text, Media: f.Media, TextCall: f.TextCall, Output: (*model.OutputSchema)(f.Output),
		Choice: model.ToolChoice(f.Choice), Settings: f.Settings.settings(), History: f.History,
	}
	for _, t := range f.Tools {
		o.Tools = append(o.Tools, Tool(t))
	}
	return o
}
