// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
)

// RunAgent runs an agent inside a workflow of the caller's. c is what the workers of the workflow
// were given with [RegisterActivities] or [Register]. The workflow may run several agents, one
// after another, with activities of its own between them.
//
// The error of a run that has failed or was cancelled is an [*Error] with the history, whose cause
// is that of [agent.Agent.Run], or the workflow's cancellation. The workflow decides what follows.
//
// The methods of [Client.Run] with the id of the workflow, other than Result, are for the run
// that is going on: State, Answer, Reply, Send and Cancel. The workflow must not have queries,
// updates and signals of the same names: "state", "questions", "answer", "ask", "withdraw",
// "reply", "message".
//
// An empty in.ID is derived from the id of the workflow. It must be another one for each run of a
// workflow. A run is not continued as a new workflow, as [Register] has it, so its steps and
// calls count against Temporal's limit of 51,200 events.
func RunAgent[D, O any](ctx workflow.Context, c Config[D, O], in Input) (*agent.Result[O], error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	registerErrors()
	if in.ID == "" {
		info := workflow.GetInfo(ctx)
		before := info.GetCurrentHistoryLength()
		in.ID = fmt.Sprintf("%s/%d", info.WorkflowExecution.ID, before)
	}
	f := &flow[D, O]{config: &c, histories: &histories{blobs: c.Blobs}, own: true}
	s := &state{messages: in.History, inbox: new(agent.Inbox), blobs: c.Blobs}
	out, err := f.execute(ctx, begin{Input: in}, s)
	s.questions, s.pending = nil, nil
	if err != nil {
		return nil, err
	}
	return out.(*agent.Result[O]), nil
}

// RegisterActivities registers what the runs of an agent need of a worker whose workflows call
// [RunAgent]. It is [Register] without the workflow.
func RegisterActivities[D, O any](r worker.ActivityRegistry, c Config[D, O]) (closeRuns func(), err error) {
	a, err := c.activities()
	if err != nil {
		return nil, err
	}
	return a.close, registered(func() { a.register(r, c.Name) })
}

// activities makes the activities of the agent's runs.
func (c *Config[D, O]) activities() (*activities, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	registerErrors()
	if c.Idle == 0 {
		c.Idle = DefaultIdle
	}
	a := newActivities(opener(c), c.Blobs, c.Idle)
	a.transcripts.store = c.Transcripts
	return a, nil
}

func (a *activities) register(r worker.ActivityRegistry, name string) {
	r.RegisterActivityWithOptions(a.transcribe, activity.RegisterOptions{Name: transcriptName(name)})
	r.RegisterActivityWithOptions(a.do, activity.RegisterOptions{Name: activityName(name)})
}

// registered calls a function that registers something. The SDK panics if a name is taken.
func registered(register func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("temporalengine: register: %v", p)
		}
	}()
	register()
	return nil
}

// ended is the error of a run in a workflow of the caller's.
func (f *flow[D, O]) ended(ctx workflow.Context, in begin, s *state, err error) error {
	if cancelled := ctx.Err(); cancelled != nil {
		err = cancelled
	} else if failed := new(engine.RunError); errors.As(err, &failed) {
		err = failed
	}
	return &Error{ID: in.ID, Messages: s.messages, Usage: s.usage, Err: short(err)}
}
