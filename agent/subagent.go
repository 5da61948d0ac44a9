// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ponte-go/ponte/toolset"
)

// task is what the model gives an inner agent.
type task struct {
	Prompt string `json:"prompt" jsonschema:"description=The task\\, with everything that is needed to do it" validate:"required"`
}

// AsTool makes a tool of an agent: the model gives it a prompt and is shown its output. deps makes the inner agent's
// dependencies of the outer run's.
//
// The inner run's usage also counts as the outer run's, so that the outer limits bound both while the inner run goes on; the
// inner agent's limits bound the inner run alone. Its events appear in the outer stream as [Nested]. It starts without the
// outer history. If it fails, the outer model is told and the outer run goes on; that includes a limit of the inner agent. The
// outer run ends if it was cancelled, or if a limit that bounds it was reached.
//
// If calls of the inner run are pending, the outer run is pending as well: its [PendingError] lists them with their path. When
// the outer run is resumed with their answers, the inner run goes on where it stood, as a run of its own with a new id. Its
// history is part of the outer one until then; see [WithHistoryStore].
func AsTool[D, N, O any](name, description string, inner *Agent[N, O], deps func(D) N, opts ...toolset.Option) *toolset.Tool[D] {
	return toolset.Func(name, description, func(ctx context.Context, run *toolset.RunContext[D], in task) (O, error) {
		out, err := runInside(ctx, run, inner, deps, in.Prompt, true)
		if err == nil {
			return out, nil
		}
		var none O
		var limit interface{ Applies(*toolset.Meter) bool } // a *LimitError or a *PriceError
		switch {
		case isJournalError(err) || errors.Is(err, errInside) || errors.As(err, &limit) && limit.Applies(run.Meter):
			return none, err
		case ctx.Err() != nil && (limit != nil || isPending(err)): // what ends the outer run is the end of its context
			return none, fmt.Errorf("%v: %w", err, context.Cause(ctx))
		case ctx.Err() != nil || errors.As(err, new(*toolset.PendingError)):
			return none, err
		}
		return none, toolset.Failed("%s failed: %v", name, errors.Unwrap(err))
	}, opts...)
}

// HandOver is an alternative way for a run to end: the model calls it with a prompt, another agent takes over, and its
// output is the run's. The history is the inner agent's own. Its usage also counts as the outer run's, whose limits bound
// both. If the inner run fails, so does the outer one. Calls of the inner run that are pending leave the outer run pending, as
// with [AsTool].
func HandOver[D, N, O any](name, description string, inner *Agent[N, O], deps func(D) N) Alternative[D, O] {
	return OutputFunc(name, description, func(ctx context.Context, run *toolset.RunContext[D], in task) (O, error) {
		out, err := runInside(ctx, run, inner, deps, in.Prompt, false)
		switch {
		case err == nil:
			return out, nil
		case isPending(err): // the context has ended, or there is no call that could wait
			return out, fmt.Errorf("%s: %v", name, err)
		}
		return out, fmt.Errorf("%s: %w", name, err)
	})
}

// runInside runs an agent in a call, or goes on with the run that the call left pending. It returns a [*toolset.PendingError] if
// the agent's calls are pending.
func runInside[D, N, O any](ctx context.Context, run *toolset.RunContext[D], inner *Agent[N, O], deps func(D) N, prompt string, streams bool) (out O, err error) {
	around := outside(run)
	opts := []RunOption{around.option()}
	if resume := run.Call.Resume; resume != nil {
		history, err := loadInside(ctx, around.store, resume.State)
		if err != nil {
			return out, err
		}
		opts, prompt = append(opts, WithHistory(history)), ""
		if resume.Results != nil {
			opts = append(opts, WithResults(*resume.Results))
		}
	}
	var res *Result[O]
	if streams || around.streams {
		stream := inner.Stream(ctx, deps(run.Deps), prompt, opts...)
		for event := range stream.Events() {
			run.Emit(Nested{Agent: inner.config.Name, Event: event})
		}
		res, err = stream.Result()
	} else {
		res, err = inner.Run(ctx, deps(run.Deps), prompt, opts...)
	}
	var pending *PendingError
	var failed *RunError
	switch {
	case err == nil:
		return res.Output, nil
	case run.Call.Resume != nil && errors.Is(err, ErrResults):
		return out, fmt.Errorf("%w: %w", errInside, err)
	case run.Call.ID == "" || ctx.Err() != nil || !errors.As(err, &pending) || !errors.As(err, &failed):
		return out, err
	}
	state, err := saveInside(ctx, around.store, run.IdempotencyKey(), failed.Messages)
	if err != nil {
		return out, err
	}
	calls := slices.Clone(pending.Calls)
	for i := range calls {
		if len(calls[i].Path) == 0 {
			calls[i].Agent = inner.config.Name
		}
	}
	return out, toolset.Pending(state, calls...)
}

// isPending reports whether a run waits for others.
func isPending(err error) bool { return errors.As(err, new(*PendingError)) }
