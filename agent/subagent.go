// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/ponte-go/ponte/toolset"
)

// AsTool makes a tool of an agent: the model gives it a prompt and is shown its output. deps makes the inner agent's
// dependencies of the outer run's.
//
// The inner run's usage also counts as the outer run's, so that the outer limits bound both while the inner run goes on; the
// inner agent's limits bound the inner run alone. Its events appear in the outer stream as [Nested]. It starts without the
// outer history. If it fails, the outer model is told and the outer run goes on; that includes a limit of the inner agent. The
// outer run ends if it was cancelled, or if a limit that bounds it was reached.
func AsTool[D, N, O any](name, description string, inner *Agent[N, O], deps func(D) N, opts ...toolset.Option) *toolset.Tool[D] {
	type task struct {
		Prompt string `json:"prompt" jsonschema:"description=The task\\, with everything that is needed to do it" validate:"required"`
	}
	return toolset.Func(name, description, func(ctx context.Context, run *toolset.RunContext[D], in task) (O, error) {
		stream := inner.Stream(ctx, deps(run.Deps), in.Prompt, Within(run))
		for event := range stream.Events() {
			run.Emit(Nested{Agent: inner.config.Name, Event: event})
		}
		res, err := stream.Result()
		if err == nil {
			return res.Output, nil
		}
		var none O
		var limit interface{ Applies(*toolset.Meter) bool } // a *LimitError or a *PriceError
		switch {
		case isJournalError(err) || errors.As(err, &limit) && limit.Applies(run.Meter):
			return none, err
		case ctx.Err() != nil && (limit != nil || isPending(err)): // what ends the outer run is the end of its context
			return none, fmt.Errorf("%v: %w", err, context.Cause(ctx))
		case ctx.Err() != nil:
			return none, err
		}
		return none, toolset.Failed("%s failed: %v", name, errors.Unwrap(err))
	}, opts...)
}

// HandOver is an alternative way for a run to end: the model calls it with a prompt, another agent takes over, and its
// output is the run's. The history is the inner agent's own. Its usage also counts as the outer run's, whose limits bound
// both. If the inner run fails, so does the outer one; that includes an inner run that is left waiting for others, which
// cannot be continued.
func HandOver[D, N, O any](name, description string, inner *Agent[N, O], deps func(D) N) Alternative[D, O] {
	type task struct {
		Prompt string `json:"prompt" jsonschema:"description=The task\\, with everything that is needed to do it" validate:"required"`
	}
	return OutputFunc(name, description, func(ctx context.Context, run *toolset.RunContext[D], in task) (O, error) {
		res, err := inner.Run(ctx, deps(run.Deps), in.Prompt, Within(run))
		if err == nil {
			return res.Output, nil
		}
		var none O
		if isPending(err) {
			return none, fmt.Errorf("%s: %v", name, err)
		}
		return none, fmt.Errorf("%s: %w", name, err)
	})
}

// isPending reports whether a run waits for others. An outer run does not wait when an inner one does: it has no call that
// could be answered, so its error must not wrap a [*PendingError].
func isPending(err error) bool { return errors.As(err, new(*PendingError)) }
