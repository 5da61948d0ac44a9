// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// The names of what a workflow answers to.
const (
	stateQuery     = "state"
	questionsQuery = "questions"
	answerUpdate   = "answer"
	askUpdate      = "ask"
	withdrawUpdate = "withdraw"
	replyUpdate    = "reply"
	messageSignal  = "message"
)

// state is the state of a run outside of its loop. It is used only on the coroutines of the
// workflow.
type state struct {
	messages []*model.Message
	usage    toolset.Usage
	pending  []agent.PendingCall
	results  toolset.DeferredResults
	inbox    *agent.Inbox
	blobs    Blobs
	// unread are messages that came too late.
	unread [][]model.Part
	// refused is why the answers that were given last did not fit.
	refused string
	// taken identifies the answers that have been taken, the latest of them.
	taken []string
	// working are the keys of the tasks that activities are at, inside the workflows of calls, and questions what calls have asked.
	working   []string
	inside    []insideRun
	questions []*asked
	asks      int // how many there were
	// worked is set once this execution has done something, heard once it has received something.
	worked, heard bool
}

// stateOutput describes a workflow, as reported by itself.
type stateOutput struct {
	State
	Inside []insideRun `json:"inside,omitempty"`
}

// handlers answers queries and updates.
func (f *flow[D, O]) handlers(ctx workflow.Context, s *state) error {
	err := workflow.SetQueryHandler(ctx, stateQuery, func() (*stateOutput, error) {
		open := s.open()
		return &stateOutput{State{Messages: s.messages, Usage: s.usage, Pending: s.unanswered(), Questions: open.Questions, Refused: s.refused, Unread: s.unread}, open.Inside}, nil
	})
	if err == nil {
		err = s.questionHandlers(ctx)
	}
	if err != nil {
		return err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, answerUpdate, s.take, workflow.UpdateHandlerOptions{
		Validator: func(ctx workflow.Context, results toolset.DeferredResults) error {
			if slices.Contains(s.taken, answerID(ctx, &results)) {
				return nil
			}
			return s.check(&results)
		},
	})
}

// maxTaken bounds how many answers are known again.
const maxTaken = 500

// take takes answers. If the task that applies an update also continues the workflow as a new one,
// the server may send the update to the next execution again. The repeated answer is then accepted
// instead of being reported as late.
func (s *state) take(ctx workflow.Context, results toolset.DeferredResults) (left int, err error) {
	if id := answerID(ctx, &results); !slices.Contains(s.taken, id) {
		s.taken = append(s.taken[max(0, len(s.taken)+1-maxTaken):], id)
		merge(&s.results, results)
		s.heard = true
	}
	return len(s.unanswered()), nil
}

// answerID identifies answers by their update and what they are.
func answerID(ctx workflow.Context, results *toolset.DeferredResults) string {
	data, err := json.Marshal(results)
	if err != nil { // it was JSON
		panic(err)
	}
	return keyOf(append(data, workflow.GetCurrentUpdateInfo(ctx).ID...))[:32]
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
func (s *state) unanswered() (left []agent.PendingCall) {
	for _, c := range s.pending {
		_, decided := s.results.Decisions[c.Key()]
		_, resulted := s.results.Results[c.Key()]
		if !decided && !resulted {
			left = append(left, c)
		}
	}
	return left
}

// check refuses answers that nothing waits for.
func (s *state) check(results *toolset.DeferredResults) error {
	waiting := map[string]bool{}
	for _, c := range s.unanswered() {
		waiting[c.Key()] = true
	}
	var wrong []error
	keys := slices.Concat(slices.Collect(maps.Keys(results.Decisions)), slices.Collect(maps.Keys(results.Results)))
	slices.Sort(keys)
	for i, key := range keys {
		decision, decided := results.Decisions[key]
		switch {
		case !waiting[key]:
			wrong = append(wrong, fmt.Errorf("temporalengine: no call %q waits for an answer", key))
		case i > 0 && keys[i-1] == key:
			wrong = append(wrong, fmt.Errorf("temporalengine: call %q has a decision and a result", key))
		case decided && decision.Verdict != toolset.VerdictAllow && decision.Verdict != toolset.VerdictDeny:
			wrong = append(wrong, fmt.Errorf("temporalengine: call %q has the verdict %q, must be %q or %q", key, decision.Verdict, toolset.VerdictAllow, toolset.VerdictDeny))
		}
	}
	if len(keys) == 0 {
		wrong = append(wrong, errors.New("temporalengine: no answer"))
	}
	if err := errors.Join(wrong...); err != nil {
		return short(err)
	}
	return nil
}

// failureDetails describes a failed workflow, as reported by itself.
type failureDetails struct {
	Messages []*model.Message `json:"messages,omitempty"`
	Usage    toolset.Usage    `json:"usage,omitzero"`
	// Error is the error, in the form of engine.MarshalDone.
	Error json.RawMessage `json:"error,omitempty"`
}

// failed is the error of the workflow. It carries the history, unless the run is a call of another one.
func (f *flow[D, O]) failed(ctx workflow.Context, in begin, s *state, err error) error {
	if f.own {
		return f.ended(ctx, in, s, err)
	}
	details := failureDetails{Messages: s.messages, Usage: s.usage}
	if in.Around != nil {
		details.Messages = nil
	}
	if ctx.Err() != nil {
		return temporal.NewCanceledError(f.byReference(ctx, details))
	}
	if data, err := engine.MarshalDone(&engine.Task{Op: engine.OpModel}, &engine.Done{Err: err}); err == nil {
		details.Error = data
	}
	return temporal.NewNonRetryableApplicationError(shortened(err.Error()), errorType, nil, f.byReference(ctx, details))
}

// byReference returns a value as [Converter] converts it. Temporal converts details of errors with another converter, and never ends a workflow
// whose details are larger than 2 MiB.
func (f *flow[D, O]) byReference(ctx workflow.Context, value any) any {
	payload, err := patient(ctx, byReferences(f.config.Blobs)).ToPayload(value)
	if err != nil {
		panic(err) // the task of the workflow fails and is tried again
	}
	return converter.NewRawValue(payload)
}

// leisurely calls a function of a workflow that may take longer than the second that a workflow has, such as one that marshals a large history. The
// function is called on the workflow's coroutine, and must not wait for anything of the workflow.
func leisurely(ctx workflow.Context, f func()) {
	_, _ = workflow.DataConverterWithoutDeadlockDetection(function{f: f}).(workflow.ContextAware).WithWorkflowContext(ctx).ToPayload(nil)
}

// function is a converter that calls a function.
type function struct {
	converter.DataConverter
	f func()
}

// ToPayload implements [converter.DataConverter].
func (f function) ToPayload(any) (*commonpb.Payload, error) {
	f.f()
	return nil, nil
}

// patient is a converter for workflows that may take longer than the second that a workflow has.
func patient(ctx workflow.Context, c converter.DataConverter) converter.DataConverter {
	c = workflow.DataConverterWithoutDeadlockDetection(c)
	if aware, ok := c.(workflow.ContextAware); ok {
		c = aware.WithWorkflowContext(ctx)
	}
	return c
}
