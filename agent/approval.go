// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/toolset"
)

// PendingCall is a tool call that waits for an answer from outside the run: for approval, or for a result if Approval is nil.
// It can be stored as JSON.
type PendingCall = model.PendingCall

// PendingError ends a run that has calls waiting for approval or for a result. A pending run has not failed.
// Store the messages of the [*RunError] that wraps it, and resume with [WithHistory] and [WithResults]. [PendingCalls] derives the
// calls from the stored messages.
type PendingError = engine.PendingError

// DeferredResults answer the calls that a run left pending, by [PendingCall.Key]. Every pending call needs an entry in one of
// the maps. They can be stored as JSON.
type DeferredResults = toolset.DeferredResults

// WithResults resumes a run that ended with a [*PendingError], together with [WithHistory]. Without a prompt, every pending call
// needs an answer, and the run continues where it stopped. With a prompt, the answers are applied first, calls without an answer
// are denied, and the prompt follows.
func WithResults(results DeferredResults) RunOption {
	return runOption(func(o *runOptions) { o.more().results = &givenResults{results, answersOf} })
}

// givenResults are the results of [WithResults]. Programs without that do not link what reads them.
type givenResults struct {
	results DeferredResults
	answers func(*DeferredResults) (*loop.Answers, error)
}

// loop returns the answers for the loop.
func (g *givenResults) loop() (*loop.Answers, error) {
	if g == nil {
		return nil, nil
	}
	return g.answers(&g.results)
}

// answersOf are results in the loop's form, in a stable order.
func answersOf(r *DeferredResults) (*loop.Answers, error) {
	var ids []string
	for id := range r.Decisions {
		ids = append(ids, id)
	}
	for id := range r.Results {
		if _, twice := r.Decisions[id]; !twice {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	answers := make([]loop.Answer, len(ids))
	for i, id := range ids {
		answers[i].CallID = id
		if err := answerOf(r, &answers[i]); err != nil {
			return nil, errs.Errorf("%w: call %q: %w", ErrResults, id, err)
		}
	}
	return loop.Given(answers), nil
}

// answerOf sets the result or decision for a call.
func answerOf(r *DeferredResults, a *loop.Answer) error {
	decision, decided := r.Decisions[a.CallID]
	if res, ok := r.Results[a.CallID]; ok {
		if a.Result = &res; decided {
			return errors.New("it has a decision and a result")
		}
		return checkJSON(res.Meta, "the Meta of the result is not valid JSON")
	}
	a.Decision = decision
	if err := checkVerdict(&decision); err != nil {
		return err
	}
	if decision.Verdict == toolset.VerdictDefer {
		return errors.New("it is deferred again")
	}
	return checkJSON(decision.Args, "the arguments are not valid JSON")
}

func checkJSON(data json.RawMessage, wrong string) error {
	if len(data) > 0 && !json.Valid(data) {
		return errors.New(wrong)
	}
	return nil
}

// PendingCalls returns the pending calls of a history, including the calls of inner runs, in the
// order in which the models made them. It returns nil if the history does not end in a pending
// request.
func PendingCalls(history []*model.Message) []PendingCall {
	n := len(history) - 1
	if n < 0 || history[n] == nil || history[n].Kind != model.KindRequest || !history[n].Pending {
		return nil
	}
	return slices.Clone(history[n].PendingCalls)
}

// textAgain tells a person that the call may already have run.
const textAgain = "This call was allowed before, but the process ended before there was a result. It is not known whether the call had any effect. " +
	"If you allow it, it runs again, with the same idempotency key.\n"

// MarkAllowed returns a history that ends with pending calls, in which the calls that results allow
// are marked with [PendingCall.MayHaveRun]. Store it before the run that carries the results out,
// and give that run the history as it was. If the process ends during the run, the stored history
// shows which calls may have run: people who are asked again are told, and so is the model if a
// prompt replaces the answer.
func MarkAllowed(history []*model.Message, results DeferredResults) []*model.Message {
	calls := PendingCalls(history)
	changed := false
	for i := range calls {
		c := &calls[i]
		d, ok := results.Decisions[c.Key()]
		if !ok || d.Verdict != toolset.VerdictAllow || c.Approval == nil {
			continue
		}
		if len(d.Args) > 0 {
			c.Args, c.Changed = d.Args, true
		}
		asked := *c.Approval
		if asked.Once = true; !strings.HasPrefix(asked.Reason, textAgain) {
			asked.Reason = textAgain + asked.Reason
		}
		c.Approval, c.Decision, c.MayHaveRun, changed = &asked, &d, true, true
	}
	if !changed {
		return history
	}
	n := len(history) - 1
	marked := *history[n]
	marked.PendingCalls = calls
	return append(slices.Clone(history[:n]), &marked)
}

// checkVerdict returns an error for decisions with an unknown verdict.
func checkVerdict(d *toolset.Decision) error {
	switch d.Verdict {
	case toolset.VerdictAllow, toolset.VerdictDeny, toolset.VerdictDefer:
		return nil
	}
	return errs.Errorf("verdict is %q, must be %q, %q or %q", d.Verdict, toolset.VerdictAllow, toolset.VerdictDeny, toolset.VerdictDefer)
}
