// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/toolset"
)

// PendingCall is a tool call that waits for somebody outside of the run: for approval, or for a result if Approval is nil. It
// can be stored as JSON.
type PendingCall = model.PendingCall

// PendingError ends a run that cannot go on before others have approved calls or supplied results. A pending run has not failed.
// Store the messages of the [*RunError] that wraps it, and resume with [WithHistory] and [WithResults]. [PendingCalls] derives the
// calls from the stored messages.
type PendingError struct {
	// Calls are in the order in which the model made them. Those of a run inside a call take the call's place. [PendingCalls]
	// finds them in the history.
	Calls []PendingCall

	text string
}

// Error implements error.
func (e *PendingError) Error() string { return e.text }

func pendingError(p *loop.PendingError) *PendingError {
	return &PendingError{Calls: p.Calls, text: p.Error()}
}

// DeferredResults settle the calls that a run left pending, by [PendingCall.Key]. Every pending call needs an entry in one of
// the maps. It can be stored as JSON.
type DeferredResults = toolset.DeferredResults

// WithResults continues a run that ended with a [*PendingError]. It goes with [WithHistory]. Without a prompt, every pending call
// needs an answer, and the run goes on where it stopped. With a prompt, the answers are carried out first, calls without one count as
// denied, and the prompt follows.
func WithResults(results DeferredResults) RunOption {
	return runOption(func(o *runOptions) { o.results = &results })
}

// answersOf are results in the loop's form, in a stable order.
func answersOf(r *DeferredResults) ([]loop.Answer, error) {
	if r == nil {
		return nil, nil
	}
	ids := slices.Collect(maps.Keys(r.Decisions))
	for id := range r.Results {
		if _, twice := r.Decisions[id]; twice {
			return nil, fmt.Errorf("%w: call %q has a decision and a result", ErrResults, id)
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	answers := make([]loop.Answer, len(ids))
	for i, id := range ids {
		answers[i].CallID = id
		if res, ok := r.Results[id]; ok {
			answers[i].Result = &res
			continue
		}
		decision := r.Decisions[id]
		if err := checkVerdict(&decision); err != nil {
			return nil, fmt.Errorf("%w: call %q: %w", ErrResults, id, err)
		}
		if decision.Verdict == toolset.VerdictDefer {
			return nil, fmt.Errorf("%w: call %q is deferred again", ErrResults, id)
		}
		if len(decision.Args) > 0 && !json.Valid(decision.Args) {
			return nil, fmt.Errorf("%w: call %q: the arguments are not valid JSON", ErrResults, id)
		}
		answers[i].Decision = decision
	}
	return answers, nil
}

// PendingCalls returns the calls that a history waits for, those of inner runs included, in the order in which the models made
// them. It returns nil if the history does not end in a pending request. The history is all that has to be stored. A history of an
// earlier version does not say what its calls wait for: they have neither Approval nor Meta then.
func PendingCalls(history []*model.Message) []PendingCall {
	n := len(history) - 1
	if n < 0 || history[n] == nil || history[n].Kind != model.KindRequest || !history[n].Pending {
		return nil
	}
	last := history[n]
	if len(last.PendingCalls) > 0 {
		return slices.Clone(last.PendingCalls)
	}
	if n == 0 || history[n-1] == nil {
		return nil
	}
	var calls []PendingCall
	for i := range history[n-1].Parts {
		p := &history[n-1].Parts[i]
		answered := func(a model.Part) bool {
			return a.CallID == p.CallID && (a.Kind == model.PartToolReturn || a.Kind == model.PartRetry)
		}
		if p.Kind != model.PartToolCall || slices.ContainsFunc(last.Parts, answered) {
			continue
		}
		args := argsJSON(p.Args)
		if !json.Valid(args) { // the tool would get them repaired
			args, _ = json.Marshal(string(args))
		}
		calls = append(calls, PendingCall{ID: p.CallID, Tool: p.Tool, Args: args})
	}
	return calls
}

// checkVerdict refuses decisions without a verdict that there is.
func checkVerdict(d *toolset.Decision) error {
	switch d.Verdict {
	case toolset.VerdictAllow, toolset.VerdictDeny, toolset.VerdictDefer:
		return nil
	}
	return fmt.Errorf("verdict is %q, must be %q, %q or %q", d.Verdict, toolset.VerdictAllow, toolset.VerdictDeny, toolset.VerdictDefer)
}
