// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/jsonvalue"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// Trial describes one execution of the task on one case to evaluators. It must not be changed, or
// kept.
type Trial[In, Out any] struct {
	// Case is the case, without its evaluators.
	Case Case[In, Out]
	// Output is the output of the task. If Err is set, it is the zero value.
	Output Out
	// Err is the error of the task, of which only evaluators made with [OnFailure] hear.
	Err error
	*Trace
}

// Trace records an execution of a task.
type Trace struct {
	// Runs are the runs of agents that the task made, in the order in which they began. A run
	// inside a tool follows the run that called the tool.
	Runs []AgentRun
	// Calls are the tool calls that the models made, in the order in which they made them. The
	// calls of a run inside a tool follow the call of that tool. Calls that give the output of a
	// run are left out.
	Calls []Call
	// Events are the events of the runs of a [Stream] task, in order.
	Events []agent.Event
	// Usage is the total usage of the runs. Duration is the time that the task took.
	Usage    toolset.Usage
	Duration time.Duration
	// Workspace is the case's workspace, as the task left it; nil without one. See
	// [Options.Workspace].
	Workspace workspace.Workspace
}

// AgentRun is a run of an agent.
type AgentRun struct {
	// Agent is the name of the agent, and RunID the id of the run.
	Agent string `json:"agent,omitempty"`
	RunID string `json:"run_id,omitempty"`
	// Call is the id of the tool call that the run is inside of, and Outer the index of the run
	// that made that call. Outer is -1 for a run that the task made itself.
	Call  string `json:"call,omitempty"`
	Outer int    `json:"outer"`
	// Messages are the messages at the end of the run, with the history that it began with.
	Messages []*model.Message `json:"messages,omitempty"`
	Usage    toolset.Usage    `json:"usage,omitzero"`
	Duration time.Duration    `json:"duration_ns,omitempty"`
	// Error is the error that ended the run, if it failed.
	Error string `json:"error,omitempty"`
}

// Call is a tool call of a model.
type Call struct {
	// Run is the index of the run in [Trace.Runs]. ID is the call's id, Tool and Args what the
	// model wrote.
	Run  int
	ID   string
	Tool string
	Args model.RawArgs
	// Repaired are the arguments that the tool got, if Args were not valid JSON or a person changed
	// them.
	Repaired model.RawArgs
	// Ran is set if the tool's function was called. It is not for arguments that are not valid, and
	// for calls that were denied, skipped or left pending.
	Ran bool
	// Outcome is the outcome of the call, and Result the text that the model was shown. Err is set
	// if it was asked to try again or if the call ended the run.
	Outcome model.Outcome
	Result  string
	Err     string
	// Duration is how long the tool's function took.
	Duration time.Duration
}

// Succeeded reports whether the tool returned a value.
func (c *Call) Succeeded() bool {
	return c.Ran && c.Outcome == model.OutcomeSuccess && c.Err == ""
}

// arguments returns the arguments that the tool got.
func (c *Call) arguments() []byte {
	if c.Repaired != nil {
		return c.Repaired
	}
	return c.Args
}

// trial is a Trial without its types.
type trial struct {
	*subject
	recorder
	judges recorder // of the runs that evaluators make
	places [2]place // of the task and of the evaluators
	output any
	err    error
	trace  Trace
	// value is the output as JSON has it, once an evaluator has asked for it.
	value   any
	invalid error
	decoded bool
	// said has the answers of judges that give several scores.
	said map[*scorer]binary
}

// count adds what has counted on the budget to a total.
func (t *trial) count(total *toolset.Usage) {
	for _, r := range [2]*recorder{&t.recorder, &t.judges} {
		r.mu.Lock()
		addUsage(total, r.used)
		r.mu.Unlock()
	}
}

// typed returns a trial with its types.
func typed[In, Out any](t *trial) *Trial[In, Out] {
	return &Trial[In, Out]{
		Case: Case[In, Out]{
			Name: t.name, Input: as[In](t.input),
			Expected: as[Out](t.expected), Unlabeled: t.unlabeled,
			Metadata: t.metadata, Files: t.files,
		},
		Output: as[Out](t.output), Err: t.err, Trace: &t.trace,
	}
}

// as returns a value that is of type T, or nil if that is an interface.
func as[T any](v any) T {
	value, _ := v.(T)
	return value
}

// want returns the expected output as JSON has it. [Prepare] has refused those that it has not.
func (t *trial) want() any {
	value, _ := jsonvalue.Of(t.expected)
	return value
}

// json returns the output as JSON has it.
func (t *trial) json() (any, error) {
	if !t.decoded {
		t.value, t.invalid = jsonvalue.Of(t.output)
		t.decoded = true
	}
	return t.value, t.invalid
}
