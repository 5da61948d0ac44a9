// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/toolset"
)

// asker is the listener of a task. It has questions answered by way of the run's workflow: see [state.ask].
type asker struct {
	engine.Listener
	ctx  context.Context // of the activity
	task string
	turn chan struct{} // of the run on this worker: one question at a time

	mu    sync.Mutex
	count map[string]int // of equal questions
}

func newAsker(ctx context.Context, task string, r *runWorker) *asker {
	return &asker{Listener: engine.Reporter(func([]byte) error { return nil }), ctx: ctx, task: task, turn: r.turn, count: map[string]int{}}
}

// withdrawTimeout bounds the attempt to withdraw a question that is no longer needed. If it fails,
// the question stays until the call has ended.
const withdrawTimeout = 5 * time.Second

// Pauses between attempts to ask: the first one, and the longest.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 3 * time.Second
)

// notReady is for how long an update is sent again that the server refuses because the workflow fails at the time.
const notReady = 10 * time.Second

// unasked is the error of a question that cannot be asked.
func unasked(why string) error { return fmt.Errorf("temporalengine: %w: %s", toolset.ErrNobody, why) }

// Answer implements [engine.Answerer].
func (a *asker) Answer(ctx context.Context, q toolset.Question) (toolset.Reply, error) {
	info := activity.GetInfo(a.ctx)
	switch {
	case q.Deferrable: // that holds nothing
		return toolset.Reply{}, toolset.ErrNobody
	case info.IsLocalActivity:
		return toolset.Reply{}, unasked(fmt.Sprintf("the calls of %s are local activities, which cannot wait for people: make them ordinary activities, with Config.Tool", q.Tool))
	}
	c := activity.GetClient(a.ctx)
	if c == nil || mocked(c) {
		return toolset.Reply{}, unasked("the activity has no client of Temporal, as in Temporal's test environment")
	}
	in := askInput{ID: a.identify(&q), Task: a.task, Attempt: info.Attempt, Question: q}
	asking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(a.ctx, func() { cancel(context.Cause(a.ctx)) })()
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-asking.Done():
		return toolset.Reply{}, context.Cause(asking)
	}
	reply, err := a.ask(asking, c, info.WorkflowExecution, in)
	if asking.Err() != nil && err != nil {
		if err = context.Cause(asking); a.ctx.Err() == nil || temporal.IsCanceledError(context.Cause(a.ctx)) {
			a.withdraw(c, info.WorkflowExecution, in)
		} // else another attempt of the call comes back to the question
	}
	return reply, err
}

// mocked reports whether a client belongs to Temporal's test environment, whose server refuses
// updates by ending the process.
func mocked(c client.Client) bool {
	return strings.HasPrefix(fmt.Sprintf("%T", c.WorkflowService()), "*workflowservicemock.")
}

// identify returns the id of a question within the workflow. It is the same in the next attempt of the call, whatever else is asked there in the
// meantime. Calls of agents inside may have other ids then.
func (a *asker) identify(q *toolset.Question) string {
	content, err := json.Marshal([]any{a.task, len(q.Path), q.Agent, q.Tool, q.Message, string(q.Schema), q.URL, q.ID, string(q.Meta)})
	if err != nil { // not of strings and numbers
		content = []byte(a.task + q.Message)
	}
	key := keyOf(content)
	a.mu.Lock()
	a.count[key]++
	n := a.count[key]
	a.mu.Unlock()
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", key, n))
	return hex.EncodeToString(sum[:10])
}

// ask asks until the workflow takes the question, and waits for the reply.
func (a *asker) ask(ctx context.Context, c client.Client, run workflow.Execution, in askInput) (toolset.Reply, error) {
	// The id must differ from the ids of other executions. If an operator resets the workflow, the
	// server admits the update of the previous execution again and accepts no second one with its
	// id.
	id := fmt.Sprintf("%s/%s/%d/%s", askUpdate, in.ID, in.Attempt, run.RunID)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		var out askOutput
		err := update(ctx, c, client.UpdateWorkflowOptions{
			WorkflowID: run.ID, RunID: run.RunID, UpdateID: id, UpdateName: askUpdate, Args: []any{in},
		}, &out)
		switch {
		case err == nil && out.Reply != nil:
			return *out.Reply, nil
		case err == nil:
			return toolset.Reply{}, errors.New("temporalengine: the question was withdrawn")
		case !again(err):
			return toolset.Reply{}, unasked(shortened(err.Error()))
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return toolset.Reply{}, context.Cause(ctx)
		}
	}
}

// again reports whether a question that could not be asked can be asked later: when fewer are open, when the server is back, or when the
// worker of the workflow is one that knows questions.
func again(err error) bool {
	var refused *temporal.ApplicationError
	if errors.As(err, &refused) {
		return refused.Type() != goneType
	}
	for _, final := range []any{new(*serviceerror.NotFound), new(*serviceerror.FailedPrecondition), new(*serviceerror.InvalidArgument), new(*serviceerror.Unimplemented), new(*serviceerror.PermissionDenied)} {
		if errors.As(err, final) {
			return false
		}
	}
	return true
}

// withdraw tells the workflow that the reply is no longer needed.
func (a *asker) withdraw(c client.Client, run workflow.Execution, in askInput) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), withdrawTimeout)
	defer cancel()
	_ = update(ctx, c, client.UpdateWorkflowOptions{
		WorkflowID: run.ID, RunID: run.RunID, UpdateName: withdrawUpdate, Args: []any{withdrawInput{in.ID, in.Attempt}},
	}, nil)
}

// update sends an update and waits for its result. While a task of the workflow fails, for example
// on a worker that cannot continue the run, the server refuses updates. The update is then repeated
// for a while, because another worker may succeed.
func update(ctx context.Context, c client.Client, o client.UpdateWorkflowOptions, result any) error {
	o.WaitForStage = client.WorkflowUpdateStageCompleted
	if o.UpdateID == "" {
		o.UpdateID = rand.Text() // the same for all attempts
	}
	for pause, last := firstPause, time.Now().Add(notReady); ; pause = min(2*pause, lastPause) {
		handle, err := c.UpdateWorkflow(withLittle(ctx), o)
		if err == nil {
			return handle.Get(ctx, result)
		}
		if !errors.As(err, new(*serviceerror.WorkflowNotReady)) || time.Now().After(last) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
