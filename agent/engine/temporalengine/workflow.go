// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/toolset"
)

// activityName is the name of the activity of a kind of runs.
func activityName(name string) string { return name + ".task" }

// Register registers the workflow and the activity of an agent's runs with a worker. Call the
// function that it returns when the worker has stopped. It waits up to 5 seconds for interrupted
// activities to end, which lets other workers continue them at once, and releases the remaining
// runs.
func Register[D, O any](r worker.Registry, c Config[D, O]) (closeRuns func(), err error) {
	a, err := c.activities()
	if err != nil {
		return nil, err
	}
	return a.close, registered(func() {
		a.register(r, c.Name)
		f := &flow[D, O]{config: &c, histories: &a.histories}
		r.RegisterWorkflowWithOptions(f.run, c.workflowOptions())
	})
}

// workflowOptions are the options of the workflow's type.
func (c *Config[D, O]) workflowOptions() workflow.RegisterOptions {
	versioning := c.Versioning
	if versioning == workflow.VersioningBehaviorUnspecified {
		versioning = workflow.VersioningBehaviorPinned
	}
	return workflow.RegisterOptions{Name: c.Name, VersioningBehavior: versioning}
}

// RegisterWorkflow registers the workflow of an agent's runs alone. It is for tests that replay histories of runs with a new version of the agent
// ([worker.NewWorkflowReplayer]).
func RegisterWorkflow[D, O any](r worker.WorkflowRegistry, c Config[D, O]) error {
	if err := c.check(); err != nil {
		return err
	}
	registerErrors()
	f := &flow[D, O]{config: &c, histories: &histories{blobs: c.Blobs}}
	return registered(func() { r.RegisterWorkflowWithOptions(f.run, c.workflowOptions()) })
}

// flow is the workflow.
type flow[D, O any] struct {
	config    *Config[D, O]
	histories *histories
	// own is set for a run inside a workflow of the user's.
	own bool
}

// begin is the input of a workflow: the client's input, with additions from an earlier execution or
// from the surrounding run.
type begin struct {
	Input
	// Carried is the state from an earlier execution of the run.
	Carried *carried `json:"carried,omitempty"`
	// Around is set if the run is a call of another run.
	Around *around `json:"around,omitempty"`
}

// run is one execution of the workflow. It returns an [agent.Result], or a [taskOutput] if the run is a call of another one.
func (f *flow[D, O]) run(ctx workflow.Context, in begin) (any, error) {
	s := &state{messages: in.History, inbox: new(agent.Inbox), blobs: f.config.Blobs}
	out, err := f.execute(ctx, in, s)
	s.settle(ctx)
	return out, err
}

func (f *flow[D, O]) execute(ctx workflow.Context, in begin, s *state) (any, error) {
	if !f.own {
		in.ID = workflow.GetInfo(ctx).WorkflowExecution.ID
	}
	e := &runEngine{
		ctx: ctx, name: activityName(f.config.Name), run: in.Input, tool: f.config.Tool, step: f.config.Step, state: s,
		histories: f.histories, around: in.Around, own: f.own,
		messages: workflow.GetSignalChannel(ctx, messageSignal),
	}
	e.run.History, e.run.Prompt, e.run.Parts = nil, "", nil
	over, end := workflow.WithCancel(ctx)
	defer end()
	s.index(over)
	out, err := f.legs(ctx, e, in)
	e.receive()
	s.unread = s.inbox.Left()
	return out, err
}

// legs runs the agent until its end, or until the workflow is to be continued as a new one.
func (f *flow[D, O]) legs(ctx workflow.Context, e *runEngine, in begin) (any, error) {
	s := e.state
	options := []agent.RunOption{agent.WithParts(in.Parts...)}
	prompt := in.Prompt
	if in.Around != nil {
		var err error
		if prompt, options, err = in.Around.start(s); err != nil {
			return nil, final(err)
		}
	}
	if in.Carried != nil {
		prompt, options = "", nil
		f.resume(ctx, e, in.Carried)
	}
	if err := f.handlers(ctx, s); err != nil {
		return nil, err
	}
	waits := in.Carried != nil && in.Carried.Waits
	for {
		if waits {
			err := workflow.Await(ctx, func() bool { return len(s.unanswered()) == 0 || e.fullWaiting() })
			if err == nil {
				err = ctx.Err() // both may come at once, and the next execution would not hear of it
			}
			if err != nil {
				s.pending = nil
				return nil, f.failed(ctx, in, s, err)
			}
			if len(s.unanswered()) > 0 {
				return nil, f.again(ctx, e, in, true)
			}
			prompt, options = "", []agent.RunOption{agent.WithResults(s.results)}
			s.pending, s.results = nil, toolset.DeferredResults{}
		}
		outer, err := in.meter()
		if err != nil {
			return nil, final(err)
		}
		before := s.messages
		e.continues = waits || in.Carried != nil
		res, err := f.leg(ctx, e, in, prompt, append(options, agent.WithMeter(outer)))
		started, acted := e.before == nil, e.acted
		e.endLeg()
		if left := agent.PendingCalls(before); waits && !acted && len(left) > 0 && errors.Is(err, agent.ErrResults) { // nothing was done
			s.messages, s.pending, s.refused = before, left, shortened(err.Error())
			continue
		}
		s.refused = ""
		if err == nil {
			e.checkOutput(res.Output)
			s.messages, s.usage = res.Messages, res.Usage
			if err := f.transcribe(ctx, e); err != nil {
				return nil, f.failed(ctx, in, s, err)
			}
			if in.Around != nil {
				return in.Around.output(ctx, s, res.Output)
			}
			if f.own {
				return res, nil
			}
			f.byReference(ctx, res) // blobs that cannot be reached fail the task, not the workflow
			return res, nil
		}
		if failed := new(agent.RunError); errors.As(err, &failed) && failed.Messages != nil {
			s.messages = failed.Messages
			if started {
				s.usage = failed.Usage
			}
		}
		if !errors.Is(err, errFull) {
			if lost := f.transcribe(ctx, e); lost != nil {
				err = errors.Join(err, lost)
			}
		}
		var pending *agent.PendingError
		switch {
		case ctx.Err() != nil:
			return nil, f.failed(ctx, in, s, err)
		case errors.Is(err, errFull):
			return nil, f.again(ctx, e, in, false)
		case in.Around != nil:
			return in.Around.ended(s, outer, err)
		case !errors.As(err, &pending):
			return nil, f.failed(ctx, in, s, err)
		}
		s.pending, waits = pending.Calls, true
	}
}

// leg runs the agent until its end, until calls wait for answers, or until the history of the workflow is full.
func (f *flow[D, O]) leg(wctx workflow.Context, e *runEngine, in begin, prompt string, more []agent.RunOption) (*agent.Result[O], error) {
	ctx, cancel := context.WithCancelCause(engine.WithPart(context.Background(), engine.LoopOnly))
	defer cancel(nil)
	over, end := workflow.WithCancel(wctx)
	defer end()
	workflow.Go(over, func(c workflow.Context) {
		c.Done().Receive(c, nil)
		if wctx.Err() != nil {
			cancel(context.Canceled)
		}
	})
	options := append([]agent.RunOption{}, f.config.Options...)
	options = append(options, agent.WithRunID(in.ID), agent.WithInbox(e.state.inbox), agent.WithHistory(e.state.messages), agent.WithMetadata(in.Metadata))
	if in.ConversationID != "" {
		options = append(options, agent.WithConversationID(in.ConversationID))
	}
	options = append(options, more...)
	options = append(options, agent.WithEngine(func(_ context.Context, local engine.Worker) (engine.Engine, error) {
		e.local = local
		return e, nil
	}))
	var deps D
	return f.config.Agent.Run(ctx, deps, prompt, options...)
}

// transcribe keeps what the run has said so far, when it waits or ends. Steps keep what was said before them.
func (f *flow[D, O]) transcribe(ctx workflow.Context, e *runEngine) error {
	if f.config.Transcripts == nil {
		return nil
	}
	history, _, err := e.refer(e.state.messages)
	if err != nil {
		return err
	}
	ctx, cancel := workflow.NewDisconnectedContext(ctx) // a run that was cancelled is followed up to its end, too
	defer cancel()
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: time.Minute, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: DefaultActivity.Attempts},
	})
	return workflow.ExecuteLocalActivity(ctx, transcriptName(f.config.Name), taskInput{Run: e.run, History: history, Dropped: e.dropped}).Get(ctx, nil)
}

// meter returns the parent of a leg's meter. It has counted the usage of surrounding runs, and
// nothing of this one.
func (in *begin) meter() (*toolset.Meter, error) {
	if in.Around == nil {
		return toolset.NewMeter(in.Limits), nil
	}
	task, err := engine.UnmarshalTask(in.Around.Task)
	if err != nil {
		return nil, err
	}
	return task.Info.Meter, nil
}
