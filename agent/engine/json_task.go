// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
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
		Version: Version, Op: t.Op.String(), Process: t.Process, Stream: t.Stream, Complete: t.Complete, AtEnd: t.AtEnd, Emits: t.Emits,
		Info: infoOf(t), Request: requestOf(t.Request), Call: callOf(t.Call), Approval: t.Approval, Text: t.Text, Media: t.Media,
		Options: optionsOf(t.Options),
	}
	for i := range t.Checks {
		c := &t.Checks[i]
		form.Checks = append(form.Checks, checkJSON{callOf(c.Call), c.Complete, c.Own})
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
	t := &Task{
		Op: Op(op), Process: form.Process, Stream: form.Stream, Complete: form.Complete, AtEnd: form.AtEnd, Emits: form.Emits,
		Info: form.Info.info(), Request: form.Request.request(), Call: form.Call.call(), Approval: form.Approval, Text: form.Text, Media: form.Media,
		Options: form.Options.options(),
	}
	if t.Request != nil {
		t.Info.Messages = t.Request.Messages
	}
	for i := range form.Checks {
		c := &form.Checks[i]
		if c.Call == nil {
			return nil, fmt.Errorf("engine: task: check %d has no call", i)
		}
		t.Checks = append(t.Checks, Check{c.Call.call(), c.Complete, c.Own})
	}
	if t.Call == nil && (t.Op == OpTool || t.Op == OpPreview || t.Op == OpApprove) || t.Request == nil && t.Op == OpModel {
		return nil, fmt.Errorf("engine: task: a task %s without its call or request", t.Op)
	}
	return t, nil
}

type taskJSON struct {
	Version  int               `json:"v"`
	Op       string            `json:"op"`
	Process  bool              `json:"process,omitempty"`
	Stream   bool              `json:"stream,omitempty"`
	Complete bool              `json:"complete,omitempty"`
	AtEnd    bool              `json:"at_end,omitempty"`
	Emits    bool              `json:"emits,omitempty"`
	Info     *infoJSON         `json:"run,omitempty"`
	Options  *optionsJSON      `json:"options,omitempty"`
	Request  *requestJSON      `json:"request,omitempty"`
	Checks   []checkJSON       `json:"checks,omitempty"`
	Call     *callJSON         `json:"call,omitempty"`
	Approval *toolset.Approval `json:"approval,omitempty"`
	Text     string            `json:"text,omitempty"`
	Media    []model.Part      `json:"media,omitempty"`
}

type checkJSON struct {
	Call     *callJSON `json:"call"`
	Complete bool      `json:"complete,omitempty"`
	Own      bool      `json:"own,omitempty"`
}

type infoJSON struct {
	Agent          string             `json:"agent,omitempty"`
	Model          *modelJSON         `json:"model,omitempty"`
	RunID          string             `json:"run_id,omitempty"`
	ConversationID string             `json:"conversation_id,omitempty"`
	Step           int                `json:"step,omitempty"`
	Messages       []*model.Message   `json:"messages,omitempty"`
	Usage          toolset.Usage      `json:"usage,omitzero"`
	Meter          toolset.MeterState `json:"meter,omitempty"`
}

// modelJSON has the fields of [model.Info].
type modelJSON struct {
	Provider      string `json:"provider,omitempty"`
	Name          string `json:"name,omitempty"`
	NativeOutput  bool   `json:"native_output,omitempty"`
	NoForcedCalls bool   `json:"no_forced_calls,omitempty"`

	NativeSearch     bool `json:"native_search,omitempty"`
	NativeFetch      bool `json:"native_fetch,omitempty"`
	NativeDomains    bool `json:"native_domains,omitempty"`
	NativeCompaction bool `json:"native_compaction,omitempty"`

	Media         []string `json:"media,omitempty"`
	MediaURLs     []string `json:"media_urls,omitempty"`
	ContextWindow int      `json:"context_window,omitempty"`
}

func infoOf(t *Task) *infoJSON {
	info := t.Info
	if info == nil {
		return nil
	}
	form := &infoJSON{Agent: info.Agent, RunID: info.RunID, ConversationID: info.ConversationID, Step: info.Step, Messages: info.Messages, Usage: info.Usage}
	if t.Request != nil {
		form.Messages = nil // the request has them
	}
	if info.Model != nil {
		form.Model = new(modelJSON(*info.Model))
	}
	if info.Meter != nil {
		form.Meter = info.Meter.State()
	}
	return form
}

func (f *infoJSON) info() *toolset.RunInfo {
	info := &toolset.RunInfo{
		Agent: f.Agent, RunID: f.RunID, ConversationID: f.ConversationID, Step: f.Step, Messages: f.Messages, Usage: f.Usage, Meter: f.Meter.Meter(),
	}
	if f.Model != nil {
		info.Model = new(model.Info(*f.Model))
	}
	return info
}

// callJSON is a call. Arguments are text, so that not a byte of them is lost.
type callJSON struct {
	ID         string            `json:"id,omitempty"`
	Tool       string            `json:"tool"`
	Args       model.RawArgs     `json:"args,omitzero"`
	RunID      string            `json:"run_id,omitempty"`
	Step       int               `json:"step,omitempty"`
	Attempt    int               `json:"attempt,omitempty"`
	MaxRetries int               `json:"max_retries,omitempty"`
	Approved   bool              `json:"approved,omitempty"`
	Approval   *toolset.Approval `json:"approval,omitempty"`
	Decision   *decisionJSON     `json:"decision,omitempty"`
	Resume     *resumeJSON       `json:"resume,omitempty"`
}

type resumeJSON struct {
	State     json.RawMessage           `json:"state,omitempty"`
	Answered  bool                      `json:"answered,omitempty"`
	Decisions map[string]*decisionJSON  `json:"decisions,omitempty"`
	Results   map[string]toolset.Result `json:"results,omitempty"`
	Prompt    []model.Part              `json:"prompt,omitempty"`
	Stays     bool                      `json:"stays,omitempty"`
}

func callOf(c *Call) *callJSON {
	if c == nil {
		return nil
	}
	form := &callJSON{ID: c.ID, Tool: c.Tool, Args: c.Args, RunID: c.RunID, Step: c.Step, Attempt: c.Attempt, MaxRetries: c.MaxRetries, Approved: c.Approved, Approval: c.Approval, Decision: decisionOf(c.Decision)}
	if r := c.Resume; r != nil {
		form.Resume = &resumeJSON{State: r.State, Answered: r.Results != nil, Prompt: r.Prompt, Stays: r.Stays}
		if r.Results != nil {
			form.Resume.Results = r.Results.Results
			form.Resume.Decisions = map[string]*decisionJSON{}
			for key, d := range r.Results.Decisions {
				form.Resume.Decisions[key] = decisionOf(&d)
			}
		}
	}
	return form
}

func (f *callJSON) call() *Call {
	if f == nil {
		return nil
	}
	c := &Call{Call: toolset.Call{ID: f.ID, Tool: f.Tool, Args: f.Args, RunID: f.RunID, Step: f.Step, Attempt: f.Attempt, MaxRetries: f.MaxRetries, Approved: f.Approved, Approval: f.Approval, Decision: f.Decision.decision()}}
	if r := f.Resume; r != nil {
		c.Resume = &toolset.Resume{State: r.State, Prompt: r.Prompt, Stays: r.Stays}
		if r.Answered {
			c.Resume.Results = &toolset.DeferredResults{Results: r.Results}
			for key, d := range r.Decisions {
				c.Resume.Results.Decide(key, *d.decision())
			}
		}
	}
	return c
}

// decisionJSON is a decision. Arguments are text, so that not a byte of them is lost.
type decisionJSON struct {
	Verdict toolset.Verdict `json:"verdict"`
	Args    model.RawArgs   `json:"args,omitzero"`
	Reason  string          `json:"reason,omitempty"`
	Always  bool            `json:"always,omitempty"`
	By      string          `json:"by,omitempty"`
	Meta    json.RawMessage `json:"meta,omitempty"`
}

func decisionOf(d *toolset.Decision) *decisionJSON {
	if d == nil {
		return nil
	}
	return &decisionJSON{d.Verdict, model.RawArgs(d.Args), d.Reason, d.Always, d.By, d.Meta}
}

func (f *decisionJSON) decision() *toolset.Decision {
	if f == nil {
		return nil
	}
	return &toolset.Decision{Verdict: f.Verdict, Args: json.RawMessage(f.Args), Reason: f.Reason, Always: f.Always, By: f.By, Meta: f.Meta}
}
