// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// A call of an agent ([agent.AsTool]) can run as a child workflow of the run. It behaves the same
// as within an activity; agent.AsTool has the rules.

// around is the call that a run is.
type around struct {
	// Task is the task of the call, in the form of engine.MarshalTask, without the history of the run around.
	Task json.RawMessage `json:"task"`
	// Policies are the names of the policies of the run around.
	Policies []string `json:"policies,omitempty"`
}

// insideState is the state of an inner run whose calls wait for answers. Package agent defines its
// form.
type insideState struct {
	Messages []*model.Message `json:"messages,omitempty"`
	Ref      string           `json:"ref,omitempty"`
}

// startChild starts the workflow of a call.
func (e *runEngine) startChild(f *future, how Activity) {
	task := *f.task
	info := *task.Info
	info.Messages = nil
	policies, err := inheritable(&task)
	task.Info, task.Options = &info, nil
	var data []byte
	if err == nil {
		data, err = engine.MarshalTask(&task)
	}
	if err != nil {
		f.done = &engine.Done{Err: err}
		return
	}
	f.key, f.child = task.Key(), true
	var wctx workflow.Context
	wctx, f.cancel = workflow.WithCancel(e.ctx)
	id := childID(e.run.ID, f.key)
	e.state.inside = append(e.state.inside, insideRun{id, task.Call.ID})
	wctx = workflow.WithChildOptions(wctx, workflow.ChildWorkflowOptions{
		WorkflowID: id, TaskQueue: how.TaskQueue, WorkflowExecutionTimeout: how.Timeout,
		WaitForCancellation: true, ParentClosePolicy: enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
	})
	in := begin{Input: Input{Metadata: e.run.Metadata}, Around: &around{data, policies}}
	f.result = workflow.ExecuteChildWorkflow(wctx, how.Child, e.compact(in))
}

// inheritable returns the names of the policies that hold for the workflow of a call. A policy that
// decides about calls where they are executed would not see this one.
func inheritable(t *engine.Task) (names []string, err error) {
	if t.Options == nil {
		return nil, nil
	}
	for _, p := range t.Options.Policies {
		if p.Calls {
			const text = "temporalengine: the policy %q decides about calls where they are " +
				"executed, so a call of %s cannot be a workflow: leave out its Activity.Child"
			return nil, fmt.Errorf(text, p.Name, t.Call.Tool)
		}
		names = append(names, p.Name)
	}
	return names, nil
}

// errPolicies means that a run lacks policies of the run around it. It ends that as well.
var errPolicies = errors.New("temporalengine: a policy of the run around is missing")

// governed returns an error unless the run of a task has the policies of the run around it.
func (a *around) governed(t *engine.Task) error {
	if a == nil {
		return nil
	}
	for _, name := range a.Policies {
		named := func(p engine.Policy) bool { return p.Name == name }
		if t.Options == nil || !slices.ContainsFunc(t.Options.Policies, named) {
			const text = "%w: %q: add agent.WithPolicies with such a policy to its Config.Options"
			return fmt.Errorf(text, errPolicies, name)
		}
	}
	return nil
}

// refused reports whether a policy of the run around has ended the run.
func (a *around) refused(err error) bool {
	var refused *agent.PolicyError
	return errors.Is(err, errPolicies) ||
		errors.As(err, &refused) && slices.Contains(a.Policies, refused.Policy)
}

// maxID bounds ids of workflows. The server takes 1,000 bytes, a session of a transcript 256.
const maxID = 250

// childID returns the id of the workflow of a call. Ids of calls are the model's, so what is long or cannot be read is hashed.
func childID(run, key string) string {
	if unreadable := func(r rune) bool { return r <= ' ' || r > '~' }; len(run)+len(key) > maxID || strings.ContainsFunc(key, unreadable) {
		key = hashed(key)
	}
	if len(run)+len(key) > maxID { // agents inside agents
		run = hashed(run)
	}
	return run + "/" + key
}

func hashed(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

// failedChild is the result of a call whose workflow has given none: it was cancelled or terminated by itself, or could not be
// started. The model is told.
func failedChild(f *future, err error) *engine.Done {
	if cause := context.Cause(f.ctx); cause != nil {
		return &engine.Done{Err: cause, Used: usedBefore(err)}
	}
	why := shortened(err.Error())
	var application *temporal.ApplicationError
	switch {
	case errors.As(err, &application):
		why = shortened(application.Message())
	case errors.As(err, new(*temporal.CanceledError)):
		why = "it was cancelled"
	case errors.As(err, new(*temporal.TerminatedError)):
		why = "it was terminated"
	case errors.As(err, new(*temporal.TimeoutError)):
		why = "it took too long"
	}
	return &engine.Done{Return: failedReturn(f.task.Call.Tool, why), Used: usedBefore(err)}
}

func failedReturn(tool, why string) engine.Return {
	return engine.Return{Result: toolset.Result{Text: fmt.Sprintf("%s failed: %s", tool, why), Outcome: model.OutcomeFailed}}
}

// start returns the prompt of the run, or the options to resume it if its calls have been answered.
func (a *around) start(s *state) (prompt string, options []agent.RunOption, err error) {
	task, err := engine.UnmarshalTask(a.Task)
	if err != nil {
		return "", nil, err
	}
	if task.Call == nil {
		return "", nil, errors.New("temporalengine: the call is missing")
	}
	if resume := task.Call.Resume; resume != nil {
		var left insideState
		if err := json.Unmarshal(resume.State, &left); err != nil {
			return "", nil, fmt.Errorf("temporalengine: call %s: read the history: %w", task.Call.ID, err)
		}
		if left.Ref != "" {
			return "", nil, fmt.Errorf("temporalengine: call %s has begun within an activity, and its history is in a store of the worker: it cannot go on as a workflow", task.Call.ID)
		}
		if s.messages = left.Messages; resume.Results != nil {
			options = append(options, agent.WithResults(*resume.Results))
		}
		return "", options, nil
	}
	var args struct {
		Prompt string `json:"prompt"`
	}
	if err := json.Unmarshal(task.Call.Args, &args); err != nil || args.Prompt == "" {
		return "", nil, fmt.Errorf("temporalengine: tool %s has no prompt among its arguments: Activity.Child is for tools made by agent.AsTool", task.Call.Tool)
	}
	return args.Prompt, nil, nil
}

// output is the result of the workflow if the run has an output.
func (a *around) output(_ workflow.Context, s *state, output any) (*taskOutput, error) {
	// The tool converts the output as agent.AsTool does.
	tool := toolset.Func("output", "", func(context.Context, *toolset.RunContext[struct{}], struct{}) (any, error) { return output, nil })
	res, err := tool.Call(context.Background(), nil, struct{}{})
	if err != nil {
		return a.result(s, nil, engine.Done{Err: err})
	}
	return a.result(s, nil, engine.Done{Return: engine.Return{Result: res}})
}

// ended is the result of the workflow if the run has ended without an output. outer is the parent
// of the run's meter.
func (a *around) ended(s *state, outer *toolset.Meter, err error) (*taskOutput, error) {
	task, invalid := engine.UnmarshalTask(a.Task)
	if invalid != nil {
		return nil, final(invalid)
	}
	var pending *agent.PendingError
	var failed *agent.RunError
	if errors.As(err, &pending) && errors.As(err, &failed) {
		state, err := json.Marshal(insideState{Messages: s.messages})
		if err != nil {
			return nil, final(err)
		}
		calls := slices.Clone(pending.Calls)
		for i := range calls {
			if len(calls[i].Path) == 0 {
				calls[i].Agent = failed.Agent
			}
		}
		return a.result(s, outer, engine.Done{Return: engine.Return{Pending: &toolset.PendingError{Calls: calls, State: state}}})
	}
	var limit interface{ Applies(*toolset.Meter) bool } // a *toolset.LimitError or a *toolset.PriceError
	if errors.As(err, &limit) && limit.Applies(outer) || a.refused(err) ||
		task.Call.Resume != nil && errors.Is(err, agent.ErrResults) {
		return a.result(s, outer, engine.Done{Err: err})
	}
	why := err
	if inner := errors.Unwrap(err); inner != nil {
		why = inner
	}
	return a.result(s, outer, engine.Done{Return: failedReturn(task.Call.Tool, why.Error())})
}

// result is the result of the workflow.
func (a *around) result(s *state, outer *toolset.Meter, done engine.Done) (*taskOutput, error) {
	task, err := engine.UnmarshalTask(a.Task)
	if err == nil {
		if outer != nil {
			task.Info.Meter = outer // limits that were reached are of this one
		}
		done.Used = &s.usage
		out := &taskOutput{Key: task.Key()}
		if out.Done, err = engine.MarshalDone(task, &done); err == nil {
			return out, nil
		}
	}
	return nil, final(err)
}
