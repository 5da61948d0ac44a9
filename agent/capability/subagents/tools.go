// SPDX-License-Identifier: Apache-2.0

package subagents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/clean"
	"github.com/ponte-go/ponte/internal/explain"
	"github.com/ponte-go/ponte/toolset"
)

type delegateArgs struct {
	Agent      string `json:"agent" jsonschema_description:"The name of the agent." validate:"required,max=200"`
	Task       string `json:"task" jsonschema_description:"The task, with all the context needed to do it." validate:"required"`
	Background bool   `json:"background,omitempty" jsonschema_description:"Return a handle immediately and run the agent in the background."`
}

type foregroundArgs struct {
	Agent string `json:"agent" jsonschema_description:"The name of the agent." validate:"required,max=200"`
	Task  string `json:"task" jsonschema_description:"The task, with all the context needed to do it." validate:"required"`
}

type waitArgs struct {
	Handles []string `json:"handles,omitempty" jsonschema_description:"The agents to wait for. Default: all in the background." validate:"max=50,dive,max=100"`
}

type cancelArgs struct {
	Handle string `json:"handle" validate:"required,max=100"`
}

const description = "Give a task to another agent and get its result."

// tools makes the tools of a run.
func (o *opened[D]) tools(canWait bool) []*toolset.Tool[D] {
	kind := toolset.OfKind(toolset.KindOther, "Delegate")
	if !canWait {
		wide := func(in foregroundArgs) delegateArgs { return delegateArgs{Agent: in.Agent, Task: in.Task} }
		return []*toolset.Tool[D]{toolset.Func(ToolDelegate, description, func(ctx context.Context, run *toolset.RunContext[D], in foregroundArgs) (toolset.Result, error) {
			return o.delegate(ctx, run, wide(in))
		}, kind, toolset.Check(func(ctx context.Context, run *toolset.RunContext[D], in foregroundArgs) error {
			return o.check(ctx, run, wide(in))
		}), toolset.Approve(func(ctx context.Context, run *toolset.RunContext[D], in foregroundArgs) (*toolset.Approval, error) {
			return o.approve(ctx, run, wide(in))
		}))}
	}
	// A call that was cut off waits for the same agents, or stops the same one, when it is made again.
	again := toolset.Idempotent()
	return []*toolset.Tool[D]{
		toolset.Func(ToolDelegate, description, o.delegate, kind, toolset.Check(o.check), toolset.Approve(o.approve)),
		toolset.Func(ToolWait, "Wait for background agents and get their results.", o.wait,
			toolset.OfKind(toolset.KindOther, "Wait for agents"), again),
		toolset.Func(ToolCancel, "Stop a background agent whose result is no longer needed.", o.cancel,
			toolset.OfKind(toolset.KindOther, "Cancel agent"), again),
	}
}

// prompt holds the arguments of the tools of sub-agents.
type prompt struct {
	Prompt string `json:"prompt"`
}

// arguments returns an agent and the arguments of its tool.
func (o *opened[D]) arguments(in delegateArgs) (*Agent[D], any, error) {
	a, err := o.find(in.Agent)
	if err != nil {
		return nil, nil, err
	}
	raw, err := json.Marshal(prompt{in.Task})
	if err != nil {
		return nil, nil, fmt.Errorf("subagents: %w", err)
	}
	if a.tool.Decode == nil {
		return a, json.RawMessage(raw), nil
	}
	args, err := a.tool.Decode(raw)
	if err != nil {
		return nil, nil, toolset.Failed("The agent %s does not take this task: %v", a.name, err)
	}
	return a, args, nil
}

func (o *opened[D]) check(ctx context.Context, run *toolset.RunContext[D], in delegateArgs) error {
	a, args, err := o.arguments(in)
	if err != nil || a.tool.Check == nil {
		return err
	}
	return a.tool.Check(ctx, run, args)
}

func (o *opened[D]) approve(ctx context.Context, run *toolset.RunContext[D], in delegateArgs) (*toolset.Approval, error) {
	a, args, err := o.arguments(in)
	if err != nil || a.tool.Approval == nil {
		return nil, err
	}
	return a.tool.Approval(ctx, run, args)
}

func (o *opened[D]) delegate(ctx context.Context, run *toolset.RunContext[D], in delegateArgs) (toolset.Result, error) {
	a, args, err := o.arguments(in)
	if err != nil {
		return toolset.Result{}, err
	}
	var beside *agent.Outliving
	if in.Background {
		beside = agent.Beside(ctx, run, "")
	}
	if beside == nil {
		res, err := a.tool.Call(ctx, run, args)
		if res.Text = bounded(res.Text); err == nil && in.Background {
			res.Text = a.name + " has finished. Its result:\n" + res.Text
		}
		return res, err
	}
	o.take(left(&run.RunInfo))
	t, err := o.begin(ctx, &toolset.RunContext[D]{Deps: run.Deps, RunInfo: run.RunInfo, Call: run.Call}, a, args, "", in.Task, beside)
	if err != nil {
		return toolset.Result{}, err
	}
	n := note{Started: &started{t.handle, a.name, in.Task, run.Step, run.Call.ID, beside.ID()}}
	const told = "%s works in the background. Its handle is %s: get the result with %s."
	return toolset.Result{Text: fmt.Sprintf(told, a.name, t.handle, ToolWait), Meta: n.meta()}, nil
}

// begin begins a sub-agent in the background. outside is the context of the call that it belongs to.
func (o *opened[D]) begin(
	ctx context.Context, outside *toolset.RunContext[D], a *Agent[D], args any,
	handle, prompt string, beside *agent.Outliving,
) (*task, error) {
	outside.Messages = nil // they would be kept alive
	outside.Meter = beside.Meter()
	return o.start(ctx, a.name, handle, beside, func(ctx context.Context, t *task) (string, error) {
		if a.background != nil {
			return a.background(ctx, outside.Deps, t, prompt)
		}
		outside.Host = t
		res, err := a.tool.Call(ctx, outside, args)
		if err == nil && res.Outcome != "" {
			err = errors.New(res.Text)
		}
		return res.Text, err
	})
}

func bounded(text string) string {
	if kept, cut := clean.Cut(text, maxResult); cut {
		return fmt.Sprintf("%s\n[Cut here: the result has %d bytes.]", kept, len(text))
	}
	return text
}

func (o *opened[D]) wait(ctx context.Context, run *toolset.RunContext[D], in waitArgs) (toolset.Result, error) {
	lost, err := o.revive(ctx, run, in.Handles)
	if err != nil {
		return toolset.Result{}, err
	}
	tasks, unknown := o.chosen(in.Handles)
	unknown = slices.DeleteFunc(unknown, func(h string) bool { return lost.has(h) })
	if len(unknown) > 0 {
		return toolset.Result{}, o.unknown(unknown)
	}
	if len(tasks) == 0 && len(lost) == 0 {
		return toolset.Result{Text: "No background agents."}, nil
	}
	var b strings.Builder
	var n note
	for _, s := range lost {
		n.Ended = append(n.Ended, s.Handle)
		fmt.Fprintf(&b, "# %s (%s)\nFailed: %s\n\n", s.Handle, s.Agent, textLost)
	}
	for _, t := range tasks {
		if err := attend(ctx, run, t, tasks); err != nil {
			return toolset.Result{}, err
		}
		n.Ended = append(n.Ended, t.handle)
		text, err := t.result()
		if err != nil {
			text = "Failed: " + clean.Short(why(err), 2000)
		}
		fmt.Fprintf(&b, "# %s (%s)\n%s\n\n", t.handle, t.agent, bounded(text))
	}
	o.forget(ctx, tasks, run.Meter)
	return toolset.Result{Text: strings.TrimRight(b.String(), "\n"), Meta: n.meta()}, nil
}

func (o *opened[D]) cancel(ctx context.Context, run *toolset.RunContext[D], in cancelArgs) (toolset.Result, error) {
	n := note{Ended: []string{in.Handle}}
	res := toolset.Result{Text: "Cancelled " + in.Handle + ".", Meta: n.meta()}
	tasks, _ := o.chosen([]string{in.Handle})
	if len(tasks) == 0 {
		if left(&run.RunInfo).has(in.Handle) && !o.known(in.Handle) {
			return res, nil // it ended with its process
		}
		return toolset.Result{}, o.unknown([]string{in.Handle})
	}
	tasks[0].stop()
	<-tasks[0].ended
	o.forget(ctx, tasks, run.Meter)
	return res, nil
}

func (o *opened[D]) unknown(handles []string) error {
	return toolset.Failed("Unknown handle %s. Background agents: %s.", clean.Short(strings.Join(handles, ", "), 300), o.handles())
}

// why says why an agent has failed. Users see it, too, so it has no text of a provider.
func why(err error) string {
	if errors.As(err, new(*model.APIError)) {
		return explain.Error(err)
	}
	return err.Error()
}
