// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
	"github.com/ponte-go/ponte/toolset"
)

// task holds the arguments for an inner agent.
type task struct {
	Prompt string `json:"prompt" jsonschema:"description=The task\\, with all the context needed to do it" validate:"required"`
}

// AsTool makes a tool of an agent: the model calls it with a prompt and gets the agent's output.
// deps derives the inner agent's dependencies from the outer run's.
//
// The inner run's usage also counts as the outer run's, and the limits of both bound the inner run.
// The inner agent's own limits do not bound the outer run. Its events appear in the outer stream as
// [Nested]. It starts without the outer history. If it fails, or reaches its own limit, the
// tool call fails and the outer model is told. If the outer run is cancelled, a limit that bounds
// it is reached, or one of its policies ends the inner run, the outer run ends.
//
// If calls of the inner run are pending, the outer run is pending as well: its [PendingError] lists
// them with their path. When the outer run is resumed with their answers, the inner run is resumed
// too, with a new id. Until then its history is part of the outer one: see [WithHistoryStore].
func AsTool[D, N, O any](name, description string, inner *Agent[N, O], deps func(D) N, opts ...toolset.Option) *toolset.Tool[D] {
	if inner == nil || deps == nil {
		return toolset.Func[D, task, O](name, description, nil, opts...) // which New refuses
	}
	return toolset.Func(name, description, func(ctx context.Context, run *toolset.RunContext[D], in task) (O, error) {
		var out O
		around := outside(run)
		opts := []RunOption{around.option()}
		if resume := run.Call.Resume; resume != nil {
			history, err := loadInside(ctx, around.store, resume.State)
			if err != nil {
				return out, err
			}
			opts, in.Prompt = append(opts, WithHistory(history)), ""
			if resume.Results != nil {
				opts = append(opts, WithResults(*resume.Results))
			}
		}
		res, err := observedInside(ctx, inner.Stream(ctx, deps(run.Deps), in.Prompt, opts...), func(e Event) {
			run.Emit(Nested{Agent: inner.config.Name, Event: e})
		})
		if err == nil {
			sayCut(res)
			return res.Output, nil
		}
		err = pendingInside(ctx, run, around, inner.config.Name, err)
		var limit interface {
			error
			Applies(*toolset.Meter) bool
		} // a *LimitError or a *PriceError
		switch {
		case isJournalError(err) || errors.Is(err, errInside) || around.refused(err),
			errs.As(err, &limit) && limit.Applies(run.Meter):
			return out, err
		case ctx.Err() != nil && (limit != nil || isPending(err)): // what ends the outer run is the end of its context
			return out, errs.Errorf("%v: %w", err, context.Cause(ctx))
		case ctx.Err() != nil || errs.As(err, new(*toolset.PendingError)):
			return out, err
		}
		return out, toolset.Failed("%s failed: %v", name, errors.Unwrap(err))
	}, opts...)
}

// sayCut tells the outer model that a text is not whole.
func sayCut[O any](res *Result[O]) {
	if text, ok := any(&res.Output).(*string); ok && res.Cut != "" {
		*text += "\n\n[" + textCut[res.Cut] + "]"
	}
}

// textCut says why a text is not whole.
var textCut = map[model.FinishReason]string{
	model.FinishLength:        "This answer is not complete: it was cut off at the token limit.",
	model.FinishContentFilter: "This answer is not complete: it was cut off by a content filter.",
}

// observedInside runs an agent inside a call until the observer of the outer run leaves. Later
// events of the inner run are not shown, so they must not be kept either.
func observedInside[O any](ctx context.Context, s *Stream[O], tell func(Event)) (*Result[O], error) {
	for e := range s.Events() {
		if tell(e); ctx.Err() != nil && errors.Is(context.Cause(ctx), ErrStopped) {
			break
		}
	}
	return s.Result()
}

// pendingInside returns the error of a call in which an inner run has ended with an error: a [*toolset.PendingError] if calls of the run are
// pending. Their history is kept.
func pendingInside[D any](ctx context.Context, run *toolset.RunContext[D], around *outerRun, agent string, err error) error {
	var pending *PendingError
	var failed *RunError
	switch {
	case run.Call.Resume != nil && errors.Is(err, ErrResults):
		return errs.Errorf("%w: %w", errInside, err)
	case run.Call.ID == "" || ctx.Err() != nil || !errs.As(err, &pending) || !errs.As(err, &failed):
		return err
	}
	state, saveErr := saveInside(ctx, around.store, placeOf(&run.RunInfo, run.Call.ID), insideState{Messages: failed.Messages})
	if saveErr != nil {
		return saveErr
	}
	calls := slices.Clone(pending.Calls)
	for i := range calls {
		if len(calls[i].Path) == 0 {
			calls[i].Agent = agent
		}
	}
	return toolset.Pending(state, calls...)
}

// isPending reports whether a run waits for others.
func isPending(err error) bool { return errs.As(err, new(*PendingError)) }
