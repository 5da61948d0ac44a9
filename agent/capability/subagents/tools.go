// SPDX-License-Identifier: Apache-2.0

package subagents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	return []*toolset.Tool[D]{
		toolset.Func(ToolDelegate, description, o.delegate, kind, toolset.Check(o.check), toolset.Approve(o.approve)),
		toolset.Func(ToolWait, "Wait for background agents and get their results.", o.wait, toolset.OfKind(toolset.KindOther, "Wait for agents")),
		toolset.Func(ToolCancel, "Stop a background agent whose result is no longer needed.", o.cancel, toolset.OfKind(toolset.KindOther, "Cancel agent")),
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
	if !in.Background || run.Meter == nil || run.Meter.Copied() {
		res, err := a.tool.Call(ctx, run, args)
		if res.Text = bounded(res.Text); err == nil && in.Background {
			res.Text = a.name + " has finished. Its result:\n" + res.Text
		}
		return res, err
	}
	outside := &toolset.RunContext[D]{Deps: run.Deps, RunInfo: run.RunInfo, Call: run.Call}
	outside.Messages = nil // it would be kept alive
	outside.Meter = run.Meter.Outlive()
	t, err := o.start(ctx, a.name, outside.Meter, agent.PoliciesOf(run), func(ctx context.Context, t *task) (string, error) {
		if a.background != nil {
			return a.background(ctx, outside, t, in.Task)
		}
		outside.Host = t
		res, err := a.tool.Call(ctx, outside, args)
		if err == nil && res.Outcome != "" {
			err = errors.New(res.Text)
		}
		return res.Text, err
	})
	if err != nil {
		return toolset.Result{}, err
	}
	return toolset.Result{Text: fmt.Sprintf("%s works in the background. Its handle is %s: get the result with %s.", a.name, t.handle, ToolWait)}, nil
}

func bounded(text string) string {
	if kept, cut := clean.Cut(text, maxResult); cut {
		return fmt.Sprintf("%s\n[Cut here: the result has %d bytes.]", kept, len(text))
	}
	return text
}

func (o *opened[D]) wait(ctx context.Context, run *toolset.RunContext[D], in waitArgs) (string, error) {
	tasks, unknown := o.chosen(in.Handles)
	if len(unknown) > 0 {
		return "", toolset.Failed("Unknown handle %s. Background agents: %s.", clean.Short(strings.Join(unknown, ", "), 300), o.handles())
	}
	if len(tasks) == 0 {
		return "No background agents.", nil
	}
	var b strings.Builder
	for _, t := range tasks {
		if err := attend(ctx, run, t, tasks); err != nil {
			return "", err
		}
		text, err := t.result()
		if err != nil {
			text = "Failed: " + clean.Short(why(err), 2000)
		}
		fmt.Fprintf(&b, "# %s (%s)\n%s\n\n", t.handle, t.agent, bounded(text))
	}
	o.forget(tasks, run.Meter)
	return strings.TrimRight(b.String(), "\n"), nil
}

func (o *opened[D]) cancel(_ context.Context, run *toolset.RunContext[D], in cancelArgs) (string, error) {
	tasks, _ := o.chosen([]string{in.Handle})
	if len(tasks) == 0 {
		return "", toolset.Failed("Unknown handle %s. Background agents: %s.", clean.Short(in.Handle, 100), o.handles())
	}
	tasks[0].stop()
	<-tasks[0].ended
	o.forget(tasks, run.Meter)
	return "Cancelled " + tasks[0].handle + ".", nil
}

// why says why an agent has failed. Users see it, too, so it has no text of a provider.
func why(err error) string {
	if errors.As(err, new(*model.APIError)) {
		return explain.Error(err)
	}
	return err.Error()
}
