// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/decision"
	"github.com/ponte-go/ponte/internal/plainjson"
	"github.com/ponte-go/ponte/toolset"
)

// MarshalTask returns the task as JSON, for a worker in another process. It must be called before the future of the task is done. The
// state of the run's meter is part of it. Decoded arguments are not, and strings that are not valid UTF-8 are changed, as in the
// JSON form of messages.
//
// The history is part of it, too, as Info.Messages or as the request. An engine for which that is too much gives the worker
// a copy of the task whose Info has no Messages, and the worker adds them.
func MarshalTask(t *Task) ([]byte, error) {
	form := taskJSON{
		Version: Version, Op: t.Op.String(), Task: *t, Info: infoOf(t), Request: requestOf(t.Request), Call: callOf(t.Call), Options: optionsOf(t.Options),
	}
	for _, c := range t.Checks {
		form.Checks = append(form.Checks, checkJSON{c, callOf(c.Call)})
	}
	data, err := plainjson.Marshal(form)
	if err != nil {
		return nil, fmt.Errorf("engine: task %s of step %d: %w", t.Op, stepOf(t), err)
	}
	return data, nil
}

func stepOf(t *Task) int {
	if t.Info == nil {
		return 0
	}
	return t.Info.Step
}

// UnmarshalTask reads the form that [MarshalTask] writes. The meter of its Info is a fresh one, which starts with the usage of the
// run and has its limits.
func UnmarshalTask(data []byte) (*Task, error) {
	var form taskJSON
	if err := unmarshal("task", data, &form); err != nil {
		return nil, err
	}
	op := slices.Index(opNames[:], form.Op)
	if op <= 0 {
		return nil, fmt.Errorf("engine: task: unknown operation %q", form.Op)
	}
	if form.Info == nil {
		return nil, errors.New("engine: task: the run is missing")
	}
	t := &form.Task
	t.Op, t.Info, t.Request, t.Call, t.Options = Op(op), form.Info.info(), form.Request.request(), form.Call.call(), form.Options.options()
	if t.Request != nil {
		t.Info.Messages = t.Request.Messages
	}
	for i := range form.Checks {
		c := &form.Checks[i]
		if c.Call == nil {
			return nil, fmt.Errorf("engine: task: check %d has no call", i)
		}
		c.Check.Call = c.Call.call()
		t.Checks = append(t.Checks, c.Check)
	}
	if t.Call == nil && (t.Op == OpTool || t.Op == OpPreview || t.Op == OpApprove) || t.Request == nil && t.Op == OpModel {
		return nil, fmt.Errorf("engine: task: a task %s without its call or request", t.Op)
	}
	return t, nil
}

type taskJSON struct {
	Version int    `json:"v"`
	Op      string `json:"op"`
	Task
	Info    *infoJSON    `json:"run,omitempty"`
	Options *optionsJSON `json:"options,omitempty"`
	Request *requestJSON `json:"request,omitempty"`
	Checks  []checkJSON  `json:"checks,omitempty"`
	Call    *callJSON    `json:"call,omitempty"`
}

type checkJSON struct {
	Check
	Call *callJSON `json:"call"`
}

type infoJSON struct {
	toolset.RunInfo
	Meter toolset.MeterState `json:"meter,omitempty"`
}

func infoOf(t *Task) *infoJSON {
	if t.Info == nil {
		return nil
	}
	form := &infoJSON{RunInfo: *t.Info}
	if t.Request != nil {
		form.Messages = nil // the request has them
	}
	if t.grant != nil {
		form.Meter = t.grant.of().State()
	} else if m := t.Info.Meter; m != nil {
		form.Meter = m.State()
	}
	return form
}

func (f *infoJSON) info() *toolset.RunInfo {
	f.RunInfo.Meter = f.Meter.Meter()
	return &f.RunInfo
}

type callJSON struct {
	toolset.Call
	Decision *decision.Record `json:"decision,omitempty"`
	Resume   *resumeJSON      `json:"resume,omitempty"`
}

type resumeJSON struct {
	State     json.RawMessage             `json:"state,omitempty"`
	Answered  bool                        `json:"answered,omitempty"`
	Decisions map[string]*decision.Record `json:"decisions,omitempty"`
	Results   map[string]toolset.Result   `json:"results,omitempty"`
	Prompt    []model.Part                `json:"prompt,omitempty"`
	Stays     bool                        `json:"stays,omitempty"`
}

func callOf(c *Call) *callJSON {
	if c == nil {
		return nil
	}
	form := &callJSON{Call: c.Call, Decision: decision.Of(c.Decision)}
	if r := c.Resume; r != nil {
		form.Resume = &resumeJSON{State: r.State, Answered: r.Results != nil, Prompt: r.Prompt, Stays: r.Stays}
		if r.Results != nil {
			form.Resume.Results = r.Results.Results
			form.Resume.Decisions = map[string]*decision.Record{}
			for key, d := range r.Results.Decisions {
				form.Resume.Decisions[key] = decision.Of(&d)
			}
		}
	}
	return form
}

func (f *callJSON) call() *Call {
	if f == nil {
		return nil
	}
	c := &Call{Call: f.Call}
	c.Decision = f.Decision.Decision()
	if r := f.Resume; r != nil {
		c.Resume = &toolset.Resume{State: r.State, Prompt: r.Prompt, Stays: r.Stays}
		if r.Answered {
			c.Resume.Results = &toolset.DeferredResults{Results: r.Results}
			for key, d := range r.Decisions {
				c.Resume.Results.Decide(key, *d.Decision())
			}
		}
	}
	return c
}
