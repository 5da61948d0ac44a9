// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/toolset"
)

// PendingCall is a tool call that waits for somebody outside of the run: for approval, or for a result if Approval is nil. It
// can be stored as JSON.
type PendingCall = model.PendingCall

// PendingError ends a run that cannot go on before others have approved calls or supplied results. It is no failure: store
// the messages of the [*RunError] that wraps it, with the calls, and continue with [WithHistory] and [WithResults].
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

// PendingCalls returns the calls that a history waits for, those of inner runs included, in the order in which the models made
// them. It returns nil if the history does not end in a pending request. A history of an earlier version may not say what a call
// waits for: then Approval is nil.
func PendingCalls(history []*model.Message) []PendingCall {
	if len(history) == 0 || history[len(history)-1] == nil || !history[len(history)-1].Pending {
		return nil
	}
	last := history[len(history)-1]
	if len(last.PendingCalls) > 0 || len(history) < 2 || history[len(history)-2] == nil {
		return slices.Clone(last.PendingCalls)
	}
	var calls []PendingCall
	for _, p := range history[len(history)-2].Parts {
		answered := slices.ContainsFunc(last.Parts, func(a model.Part) bool {
			return a.CallID == p.CallID && (a.Kind == model.PartToolReturn || a.Kind == model.PartRetry)
		})
		if p.Kind == model.PartToolCall && !answered {
			calls = append(calls, PendingCall{ID: p.CallID, Tool: p.Tool, Args: argsJSON(p.Args)})
		}
	}
	return calls
}

// WithResults continues a run that ended with a [*PendingError]. It goes with [WithHistory] and an empty prompt.
func WithResults(results DeferredResults) RunOption {
	return runOption(func(o *runOptions) { o.results = &results })
}

// answersOf are results in the loop's form, in a stable order.
func answersOf(r *DeferredResults) ([]loop.Answer, error) {
	if r == nil {
		return nil, nil
	}
	answers := make([]loop.Answer, 0, len(r.Decisions)+len(r.Results))
	for id, decision := range r.Decisions {
		if _, twice := r.Results[id]; twice {
			return nil, fmt.Errorf("%w: call %q has a decision and a result", ErrResults, id)
		}
		if err := checkVerdict(&decision); err != nil {
			return nil, fmt.Errorf("%w: call %q: %w", ErrResults, id, err)
		}
		if decision.Verdict == toolset.VerdictDefer {
			return nil, fmt.Errorf("%w: call %q is deferred again", ErrResults, id)
		}
		if len(decision.Args) > 0 && !json.Valid(decision.Args) {
			return nil, fmt.Errorf("%w: call %q: the arguments are not valid JSON", ErrResults, id)
		}
		answers = append(answers, loop.Answer{CallID: id, Decision: decision})
	}
	for id, res := range r.Results {
		answers = append(answers, loop.Answer{CallID: id, Return: &loop.Return{Text: res.Text, Outcome: res.Outcome, Content: res.Content, Meta: res.Meta}})
	}
	slices.SortFunc(answers, func(a, b loop.Answer) int {
		if a.CallID < b.CallID {
			return -1
		}
		return 1
	})
	return answers, nil
}

// checkVerdict refuses decisions without a verdict that there is.
func checkVerdict(d *toolset.Decision) error {
	switch d.Verdict {
	case toolset.VerdictAllow, toolset.VerdictDeny, toolset.VerdictDefer:
		return nil
	}
	return fmt.Errorf("verdict is %q, must be %q, %q or %q", d.Verdict, toolset.VerdictAllow, toolset.VerdictDeny, toolset.VerdictDefer)
}
