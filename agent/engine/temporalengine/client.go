// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// ClientOptions configures a [Client]. Name and TaskQueue are required.
type ClientOptions struct {
	// Name is the Config.Name of the workers, TaskQueue their queue.
	Name, TaskQueue string
	// Blobs must be the same as the workers'. Without them, a worker supplies the history of a
	// failed run if it is longer than 64 KiB.
	Blobs Blobs
	// Index, if not nil, has the runs that are started indexed: see [Client.Waiting].
	Index *Index
	// Timeout bounds a run, the time that it waits for people included. Zero means no bound.
	Timeout time.Duration
}

// Client starts runs of an agent and finds those that there are. O is the type of their outputs. It is safe for concurrent use.
type Client[O any] struct {
	client  client.Client
	options ClientOptions
}

// NewClient returns a client. c must convert as the workers do: see [Converter].
func NewClient[O any](c client.Client, o ClientOptions) (*Client[O], error) {
	if c == nil || o.Name == "" || o.TaskQueue == "" {
		return nil, errors.New("temporalengine: a client needs a client of Temporal, a Name and a TaskQueue")
	}
	registerErrors()
	return &Client[O]{c, o}, nil
}

// Errors of runs.
var (
	// ErrRunning means that a run with the id exists, running or ended.
	ErrRunning = errors.New("temporalengine: there is a run with this id")
	// ErrEnded means that the run has ended.
	ErrEnded = errors.New("temporalengine: the run has ended")
	// ErrNoRun means that the id is unknown.
	ErrNoRun = errors.New("temporalengine: no run has this id")
	// ErrAnswer means that an answer was refused: nothing waits for it, or it is for another call.
	ErrAnswer = errors.New("temporalengine: the answer was refused")
)

// Error is the error of a run that has failed or was cancelled. Its history can be continued.
type Error struct {
	// ID is the id of the run.
	ID string
	// Messages is the history. Usage is the run's usage so far. If the workflow was terminated or
	// timed out, a worker supplies them; without a worker they are empty.
	Messages []*model.Message
	Usage    toolset.Usage
	// Err is the cause. It keeps its identity as errors of engine.RegisterErrors do. That of a run that was cancelled is [context.Canceled].
	Err error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("temporalengine: run %s: %v", e.ID, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Run is a run that was started. It is safe for concurrent use.
type Run[O any] struct {
	client client.Client
	blobs  Blobs
	id     string
}

// ID returns the id of the run.
func (r *Run[O]) ID() string { return r.id }

// Start starts a run. If there is one with the id, the error wraps [ErrRunning].
func (c *Client[O]) Start(ctx context.Context, in Input) (*Run[O], error) {
	if in.ID == "" {
		in.ID = rand.Text()
	}
	options := client.StartWorkflowOptions{
		ID: in.ID, TaskQueue: c.options.TaskQueue, WorkflowExecutionTimeout: c.options.Timeout,
		WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
	}
	if c.options.Index != nil {
		options.TypedSearchAttributes = c.options.Index.Attributes(c.options.Name, in.User)
	}
	_, err := c.client.ExecuteWorkflow(ctx, options, c.options.Name, in)
	var started *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &started) {
		return nil, fmt.Errorf("%w: %s", ErrRunning, in.ID)
	}
	if err != nil {
		return nil, fmt.Errorf("temporalengine: start run %s: %w", in.ID, ofContext(ctx, err))
	}
	return &Run[O]{c.client, c.options.Blobs, in.ID}, nil
}

// Run returns the run with an id, which any program may have started. Whether there is one is found out by its methods.
func (c *Client[O]) Run(id string) *Run[O] { return &Run[O]{c.client, c.options.Blobs, id} }

// Result waits for the end of the run. If the run has failed, the error is an [*Error] with the
// history. Other errors mean that waiting failed, because of ctx or the server.
func (r *Run[O]) Result(ctx context.Context) (*agent.Result[O], error) {
	res := new(agent.Result[O])
	err := r.client.GetWorkflow(ctx, r.id, "").Get(ctx, res)
	for errors.As(err, new(*temporal.TerminatedError)) {
		reset, unknown := r.wasReset(ctx)
		if unknown != nil {
			err = unknown
		}
		if !reset {
			break
		}
		err = r.client.GetWorkflow(ctx, r.id, "").Get(ctx, res)
	}
	if err == nil {
		return res, nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	if !errors.As(err, new(*temporal.WorkflowExecutionError)) { // the run has not ended
		if known := r.known(ctx, err); !errors.Is(known, ErrEnded) {
			err = known
		}
		return nil, fmt.Errorf("temporalengine: result of run %s: %w", r.id, converted(err))
	}
	failed := &Error{ID: r.id, Err: err}
	var raw converter.RawValue
	var application *temporal.ApplicationError
	var cancelled *temporal.CanceledError
	switch {
	case errors.As(err, &application):
		failed.Err = application
		if application.HasDetails() {
			_ = application.Details(&raw)
		}
	case errors.As(err, &cancelled):
		failed.Err = context.Canceled
		if cancelled.HasDetails() {
			_ = cancelled.Details(&raw)
		}
	}
	if application == nil && cancelled == nil { // it was terminated, or took too long: it has said nothing of itself
		if state, err := r.State(ctx); err == nil {
			failed.Messages, failed.Usage = state.Messages, state.Usage
		}
		return nil, failed
	}
	details := r.details(ctx, raw.Payload())
	if done, decodeErr := engine.UnmarshalDone(&engine.Task{Op: engine.OpModel}, details.Error); decodeErr == nil && done.Err != nil {
		failed.Err = done.Err
	}
	failed.Messages, failed.Usage = details.Messages, details.Usage
	return nil, failed
}

// wasReset reports whether an operator terminated a workflow by resetting it, which starts another
// execution.
func (r *Run[O]) wasReset(ctx context.Context) (bool, error) {
	d, err := r.client.DescribeWorkflowExecution(ctx, r.id, "")
	if err != nil {
		return false, err
	}
	return d.WorkflowExecutionInfo.Status != enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, nil
}

// details returns what a workflow that has failed says of itself.
func (r *Run[O]) details(ctx context.Context, p *commonpb.Payload) (details failureDetails) {
	if p == nil {
		return details
	}
	inline := string(p.GetMetadata()[converter.MetadataEncoding]) == converter.MetadataEncodingJSON
	if r.blobs != nil || inline {
		_ = byReferences(r.blobs).FromPayload(p, &details)
	} else if state, err := r.State(ctx); err == nil {
		details.Messages, details.Usage = state.Messages, state.Usage
	}
	return details
}

// known gives errors of the service their identity.
func (r *Run[O]) known(ctx context.Context, err error) error {
	err = ofContext(ctx, err)
	if !errors.As(err, new(*serviceerror.NotFound)) {
		return err
	}
	// The service says the same of a workflow that has ended.
	_, missing := r.client.DescribeWorkflowExecution(ctx, r.id, "")
	switch {
	case missing == nil:
		return fmt.Errorf("%w: %s", ErrEnded, r.id)
	case errors.As(missing, new(*serviceerror.NotFound)):
		return fmt.Errorf("%w: %s", ErrNoRun, r.id)
	}
	return ofContext(ctx, missing)
}

// ofContext replaces an error of the service, which has its own errors for ended contexts, by the
// cause of ctx if ctx has ended.
func ofContext(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if _, bounded := ctx.Deadline(); bounded && errors.As(err, new(*serviceerror.DeadlineExceeded)) { // the service knew first
		return context.DeadlineExceeded
	}
	return err
}

// Answer answers some or all of the calls that the run waits for. It returns how many are left. The
// last answer resumes the run. If any answer is for a call that is not waiting, or does not fit its
// call, none is accepted and the error wraps [ErrAnswer]. If the run has ended, the error wraps
// [ErrEnded]. Answer waits for a worker. If ctx ends first, the answer may still arrive: see
// [Run.State].
func (r *Run[O]) Answer(ctx context.Context, results toolset.DeferredResults) (left int, err error) {
	err = update(ctx, r.client, client.UpdateWorkflowOptions{WorkflowID: r.id, UpdateName: answerUpdate, Args: []any{results}}, &left)
	if err != nil {
		return 0, r.refused(ctx, err)
	}
	return left, nil
}

// Send sends a message into the run, which reads it with its next request. If the run has ended, the error wraps [ErrEnded]. A message that reaches the run
// while it ends is in State.Unread.
func (r *Run[O]) Send(ctx context.Context, parts ...model.Part) error {
	if err := r.client.SignalWorkflow(withLittle(ctx), r.id, "", messageSignal, parts); err != nil {
		return fmt.Errorf("temporalengine: send to run %s: %w", r.id, r.known(ctx, err))
	}
	return nil
}

// Cancel cancels the run: its activities end, its history is kept. It does not wait. It does nothing if the run has ended.
func (r *Run[O]) Cancel(ctx context.Context) error {
	if err := r.client.CancelWorkflow(ctx, r.id, ""); err != nil {
		return fmt.Errorf("temporalengine: cancel run %s: %w", r.id, r.known(ctx, err))
	}
	return nil
}
