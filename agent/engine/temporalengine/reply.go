// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/ponte-go/ponte/toolset"
)

// State returns the state of the run. It needs a worker, and one for each workflow of a running
// call ([Activity].Child). If the questions of such a workflow are not available, State returns the
// rest, and an error.
func (r *Run[O]) State(ctx context.Context) (*State, error) {
	var out stateOutput
	if err := r.query(ctx, r.id, stateQuery, &out); err != nil {
		return nil, fmt.Errorf("temporalengine: state of run %s: %w", r.id, r.known(ctx, err))
	}
	own := out.Questions
	out.Questions = nil
	for _, q := range own {
		out.Questions = append(out.Questions, q.of(r.id, nil))
	}
	err := r.inside(ctx, out.Inside, nil, &out.Questions)
	slices.SortStableFunc(out.Questions, func(a, b Question) int { return a.Asked.Compare(b.Asked) })
	return &out.State, err
}

// inside adds the questions of workflows of calls. path has the ids of the calls around them.
func (r *Run[O]) inside(ctx context.Context, workflows []insideRun, path []string, all *[]Question) error {
	var errs []error
	for _, w := range workflows {
		var out openQuestions
		if err := r.query(ctx, w.ID, questionsQuery, &out); err != nil {
			if !errors.As(err, new(*serviceerror.NotFound)) { // else it has not begun
				errs = append(errs, fmt.Errorf("temporalengine: questions of run %s: %w", w.ID, err))
			}
			continue
		}
		path := append(slices.Clone(path), w.Call)
		for _, q := range out.Questions {
			*all = append(*all, q.of(w.ID, path))
		}
		errs = append(errs, r.inside(ctx, out.Inside, path, all))
	}
	return errors.Join(errs...)
}

func (r *Run[O]) query(ctx context.Context, id, name string, to any) error {
	value, err := r.client.QueryWorkflow(ctx, id, "", name)
	if err != nil {
		return err
	}
	return converted(value.Get(to))
}

// converted explains a value that a client cannot convert. Any client can convert small values, so
// the mistake shows late.
func converted(err error) error {
	if errors.Is(err, converter.ErrEncodingIsNotSupported) {
		return fmt.Errorf("%w: dial Temporal with the DataConverter of the workers: see Converter", err)
	}
	return err
}

// idMark separates the workflow of a question from what identifies it there.
const idMark = "?"

// of returns the question as clients see it: with the workflow that it waits in, and with the calls around that.
func (q Question) of(workflow string, path []string) Question {
	q.ID = workflow + idMark + q.ID
	q.Question.Path = slices.Concat(path, q.Question.Path)
	return q
}

// Reply answers a question of a running call, by its id in [State]. The first reply counts. A reply
// that does not fit its question, or whose question is not waiting, is refused with an error that
// wraps [ErrAnswer]; a waiting question stays open. If the run has ended, the error wraps
// [ErrEnded].
func (r *Run[O]) Reply(ctx context.Context, questionID string, reply toolset.Reply) error {
	at := strings.LastIndex(questionID, idMark)
	if at < 0 {
		return r.unasked(questionID)
	}
	if questionID[:at] != r.id { // it may be one of another run
		state, err := r.State(ctx)
		switch {
		case state != nil && slices.ContainsFunc(state.Questions, func(q Question) bool { return q.ID == questionID }):
		case err != nil:
			return err
		default:
			return r.unasked(questionID)
		}
	}
	err := update(ctx, r.client, client.UpdateWorkflowOptions{WorkflowID: questionID[:at], UpdateName: replyUpdate, Args: []any{replyInput{questionID[at+1:], reply}}}, nil)
	if questionID[:at] != r.id && errors.As(err, new(*serviceerror.NotFound)) { // the call has just ended
		return r.unasked(questionID)
	}
	if err != nil {
		return r.refused(ctx, err)
	}
	return nil
}

// unasked is the error of a reply to a question that is none of the run, or none that waits.
func (r *Run[O]) unasked(questionID string) error {
	return fmt.Errorf("%w: run %s: no question %.300q waits for an answer", ErrAnswer, r.id, questionID)
}

// refused is the error of an answer that has not arrived.
func (r *Run[O]) refused(ctx context.Context, err error) error {
	var refused *temporal.ApplicationError
	if errors.As(err, &refused) {
		return fmt.Errorf("%w: run %s: %s", ErrAnswer, r.id, refused.Message())
	}
	return fmt.Errorf("temporalengine: answer run %s: %w", r.id, r.known(ctx, err))
}
