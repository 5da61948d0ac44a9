// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// The names of what a workflow answers to.
const (
	stateQuery    = "state"
	answerUpdate  = "answer"
	messageSignal = "message"
)

// activityName is the name of the activity of a kind of runs.
func activityName(name string) string { return name + ".task" }

// Register registers the workflow and the activity of an agent's runs with a worker. The function that it returns releases what is left of runs; call it when
// the worker has stopped.
func Register[D, O any](r worker.Registry, c Config[D, O]) (closeRuns func(), err error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.Idle == 0 {
		c.Idle = DefaultIdle
	}
	a := newActivities(opener(&c), c.Blobs, c.Idle)
	r.RegisterActivityWithOptions(a.do, activity.RegisterOptions{Name: activityName(c.Name)})
	r.RegisterWorkflowWithOptions((&flow[D, O]{&c}).run, workflow.RegisterOptions{Name: c.Name})
	return a.close, nil
}

// flow is the workflow.
type flow[D, O any] struct{ config *Config[D, O] }

// legState is what is known between the legs of a run: from its start or from answers to its end, or to calls that wait for answers.
type legState struct {
	messages []*model.Message
	usage    toolset.Usage
	pending  []agent.PendingCall
	results  toolset.DeferredResults
}

func (f *flow[D, O]) run(ctx workflow.Context, in Input) (*agent.Result[O], error) {
	info := workflow.GetInfo(ctx)
	in.ID = info.WorkflowExecution.ID
	state := &legState{messages: in.History}
	inbox := new(agent.Inbox)
	answered := workflow.NewBufferedChannel(ctx, 1)
	if err := f.handlers(ctx, state, inbox, answered); err != nil {
		return nil, err
	}
	slim := in
	slim.History, slim.Prompt, slim.Parts = nil, "", nil
	e := &runEngine{ctx: ctx, name: activityName(f.config.Name), run: slim, tool: f.config.Tool, step: f.config.Step, ids: new(uint64)}
	meter := toolset.NewMeter(in.Limits)
	for leg := 0; ; leg++ {
		options := append(append([]agent.RunOption{}, f.config.Options...), agent.WithRunID(in.ID), agent.WithInbox(inbox), agent.WithMeter(meter),
			agent.WithHistory(state.messages), agent.WithMetadata(in.Metadata))
		if in.ConversationID != "" {
			options = append(options, agent.WithConversationID(in.ConversationID))
		}
		prompt := ""
		if leg == 0 {
			prompt = in.Prompt
			options = append(options, agent.WithParts(in.Parts...))
		} else {
			options = append(options, agent.WithResults(state.results))
		}
		state.results = toolset.DeferredResults{}
		res, err := f.leg(ctx, e, prompt, options)
		if err == nil {
			res.Usage = meter.Usage()
			return res, nil
		}
		var failed *agent.RunError
		if errors.As(err, &failed) {
			state.messages = failed.Messages
		}
		state.usage = meter.Usage()
		var pending *agent.PendingError
		if !errors.As(err, &pending) {
			return nil, f.failed(ctx, state, err)
		}
		state.pending = pending.Calls
		// A channel alone would not end with the context.
		selector := workflow.NewSelector(ctx)
		selector.AddReceive(answered, func(c workflow.ReceiveChannel, _ bool) { c.Receive(ctx, nil) })
		selector.AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) {})
		selector.Select(ctx)
		if ctx.Err() != nil {
			return nil, f.failed(ctx, state, context.Canceled)
		}
		state.pending = nil
	}
}

// leg runs the agent until its end, or until calls wait for answers.
func (f *flow[D, O]) leg(wctx workflow.Context, e *runEngine, prompt string, options []agent.RunOption) (*agent.Result[O], error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	over, end := workflow.WithCancel(wctx)
	defer end()
	workflow.Go(over, func(c workflow.Context) {
		c.Done().Receive(c, nil)
		if wctx.Err() != nil {
			cancel(context.Canceled)
		}
	})
	options = append(options, agent.WithEngine(func(_ context.Context, local engine.Worker) (engine.Engine, error) {
		e.local = local
		return e, nil
	}))
	var deps D
	return f.config.Agent.Run(ctx, deps, prompt, options...)
}

// failure is what a workflow that has failed says of itself.
type failureDetails struct {
	Messages []*model.Message `json:"messages,omitempty"`
	Usage    toolset.Usage    `json:"usage,omitzero"`
}

// failed is the error of the workflow. It carries the history.
func (f *flow[D, O]) failed(ctx workflow.Context, state *legState, err error) error {
	details := failureDetails{state.messages, state.usage}
	if ctx.Err() != nil {
		return temporal.NewCanceledError(details)
	}
	return temporal.NewNonRetryableApplicationError(err.Error(), errorType, nil, details)
}

// errorType is the type of the errors of runs.
const errorType = "ponte.RunError"

// handlers answers queries and updates, and passes messages on.
func (f *flow[D, O]) handlers(ctx workflow.Context, state *legState, inbox *agent.Inbox, answered workflow.Channel) error {
	err := workflow.SetQueryHandler(ctx, stateQuery, func() (*State, error) {
		return &State{Messages: state.messages, Usage: state.usage, Pending: state.pending}, nil
	})
	if err != nil {
		return err
	}
	err = workflow.SetUpdateHandlerWithOptions(ctx, answerUpdate, func(ctx workflow.Context, results toolset.DeferredResults) (left int, err error) {
		merge(&state.results, results)
		if left = len(unanswered(state)); left == 0 {
			answered.Send(ctx, true)
		}
		return left, nil
	}, workflow.UpdateHandlerOptions{Validator: func(results toolset.DeferredResults) error { return checkAnswers(state, &results) }})
	if err != nil {
		return err
	}
	messages := workflow.GetSignalChannel(ctx, messageSignal)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var parts []model.Part
			messages.Receive(ctx, &parts)
			if ctx.Err() != nil {
				return
			}
			inbox.Send(parts...)
		}
	})
	return nil
}

// merge adds results to others.
func merge(all *toolset.DeferredResults, more toolset.DeferredResults) {
	if all.Decisions == nil {
		all.Decisions = more.Decisions
	} else {
		maps.Copy(all.Decisions, more.Decisions)
	}
	if all.Results == nil {
		all.Results = more.Results
	} else {
		maps.Copy(all.Results, more.Results)
	}
}

// unanswered returns the pending calls that have no answer yet.
func unanswered(state *legState) (left []agent.PendingCall) {
	for _, c := range state.pending {
		_, decided := state.results.Decisions[c.Key()]
		_, resulted := state.results.Results[c.Key()]
		if !decided && !resulted {
			left = append(left, c)
		}
	}
	return left
}

// checkAnswers refuses answers that nothing waits for.
func checkAnswers(state *legState, results *toolset.DeferredResults) error {
	waiting := map[string]bool{}
	for _, c := range unanswered(state) {
		waiting[c.Key()] = true
	}
	var wrong []error
	check := func(key string) {
		if !waiting[key] {
			wrong = append(wrong, fmt.Errorf("temporalengine: no call %q waits for an answer", key))
		}
	}
	n := 0
	for key := range results.Decisions {
		check(key)
		n++
	}
	for key := range results.Results {
		check(key)
		n++
	}
	if n == 0 {
		wrong = append(wrong, errors.New("temporalengine: there is no answer"))
	}
	return errors.Join(wrong...)
}
