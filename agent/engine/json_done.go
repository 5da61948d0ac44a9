// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"fmt"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/decision"
	"github.com/ponte-go/ponte/internal/plainjson"
	"github.com/ponte-go/ponte/toolset"
)

// MarshalDone returns the result of t as JSON. An output must be an [*Output]. Errors keep their
// text, and kinds known to [RegisterErrors] keep their identity.
func MarshalDone(t *Task, d *Done) ([]byte, error) {
	form := doneJSON{
		Version: Version, Done: *d, Offer: offerOf(d.Offer), Return: returnOf(t, &d.Return), Decision: decision.Of(d.Decision), Err: errorOf(t, d.Err),
	}
	if d.Response != nil {
		resp := *d.Response
		resp.Kind = model.KindResponse
		form.Response = &resp
	}
	for _, c := range d.Checked {
		made := checkedJSON{Checked: c, Err: errorOf(t, c.Err)}
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

// UnmarshalDone reads the form that [MarshalDone] writes. t is the task that the run has started:
// errors about limits refer to its meter. The usage of the task is not counted yet: see
// [Task.Count].
func UnmarshalDone(t *Task, data []byte) (*Done, error) {
	var form doneJSON
	if err := unmarshal("result", data, &form); err != nil {
		return nil, err
	}
	d := &form.Done
	d.Offer, d.Decision, d.Err = form.Offer.offer(), form.Decision.Decision(), form.Err.error(t)
	if r := form.Return.returned(t); r != nil {
		d.Return = *r
	}
	for i := range form.Checked {
		c := &form.Checked[i]
		c.Checked.Return, c.Checked.Err = c.Return.returned(t), c.Err.error(t)
		d.Checked = append(d.Checked, c.Checked)
	}
	if form.Output != nil {
		d.Output = &Output{Type: form.OutputType, Data: form.Output}
	}
	return d, nil
}

type doneJSON struct {
	Version int `json:"v"`
	Done
	Offer      *offerJSON       `json:"offer,omitempty"`
	Checked    []checkedJSON    `json:"checked,omitempty"`
	Return     *returnJSON      `json:"return,omitempty"`
	Output     json.RawMessage  `json:"output,omitempty"`
	OutputType string           `json:"output_type,omitempty"`
	Decision   *decision.Record `json:"decision,omitempty"`
	Err        *errorJSON       `json:"error,omitempty"`
}

type checkedJSON struct {
	Checked
	Return *returnJSON `json:"return,omitempty"`
	Err    *errorJSON  `json:"error,omitempty"`
}

type returnJSON struct {
	Return
	Cause   *errorJSON            `json:"cause,omitempty"`
	Pending bool                  `json:"pending,omitempty"`
	Calls   []toolset.PendingCall `json:"calls,omitempty"`
	State   json.RawMessage       `json:"state,omitempty"`
}

// returnOf returns nil for a return that says nothing.
func returnOf(t *Task, r *Return) *returnJSON {
	if t.Op != OpTool && !r.Retry && r.Approval == nil && r.Pending == nil && r.Text == "" && r.Outcome == "" {
		return nil
	}
	form := &returnJSON{Return: *r, Cause: errorOf(t, r.Cause)}
	if p := r.Pending; p != nil {
		form.Pending, form.Calls, form.State = true, p.Calls, p.State
	}
	return form
}

func (f *returnJSON) returned(t *Task) *Return {
	if f == nil {
		return nil
	}
	f.Return.Cause = f.Cause.error(t)
	if f.Pending {
		f.Return.Pending = &toolset.PendingError{Calls: f.Calls, State: f.State}
	}
	return &f.Return
}
