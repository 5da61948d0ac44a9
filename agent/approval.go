package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/toolset"
)

// Approver decides about a call that needs approval, while the run waits. It is called on the run's goroutine, for one call
// at a time, after all calls of the step that need no approval have ended; it blocks until there is a decision or ctx ends.
// An error ends the run.
type Approver[D any] func(ctx context.Context, run *toolset.RunContext[D], call PendingCall) (Decision, error)

// Verdict is what is said about a call that needs approval.
type Verdict string

const (
	// VerdictAllow lets the call run.
	VerdictAllow Verdict = "allow"
	// VerdictDeny tells the model that the call was not permitted.
	VerdictDeny Verdict = "deny"
	// VerdictDefer leaves the call pending: the run ends with a [*PendingError].
	VerdictDefer Verdict = "defer"
)

// Decision is a verdict with its details. The zero value is not valid.
type Decision struct {
	Verdict Verdict `json:"verdict"`
	// Args replace the arguments of a call that is allowed, if they are not empty. They are validated like the model's.
	Args json.RawMessage `json:"args,omitempty"`
	// Reason is what the model is told when a call is denied.
	Reason string `json:"reason,omitempty"`
	// Always has the verdict hold for all calls of the tool in the call's scope: see [Remembering].
	Always bool `json:"always,omitempty"`
}

// Allow lets a call run.
func Allow() Decision { return Decision{Verdict: VerdictAllow} }

// AllowWith lets a call run with other arguments.
func AllowWith(args json.RawMessage) Decision { return Decision{Verdict: VerdictAllow, Args: args} }

// Deny tells the model that a call was not permitted, and why.
func Deny(reason string) Decision { return Decision{Verdict: VerdictDeny, Reason: reason} }

// Remembering returns an approver that asks only about what the policy does not know, and remembers the decisions that are to
// hold always, under the call's tool and scope. One question is open at a time, so that the second of two equal calls finds
// the answer to the first. A call that is allowed with other arguments is remembered as allowed.
func Remembering[D any](policy *approval.Policy, ask Approver[D]) Approver[D] {
	return func(ctx context.Context, run *toolset.RunContext[D], call PendingCall) (Decision, error) {
		var scope string
		if call.Approval != nil {
			scope = call.Approval.Scope
		}
		var decision Decision
		known, err := policy.AskOnce(ctx, call.Tool, []string{scope}, func(ctx context.Context) (_ approval.Verdict, err error) {
			if decision, err = ask(ctx, run, call); err == nil && decision.Always {
				policy.Remember(call.Tool, scope, remembered[decision.Verdict])
			}
			return approval.Ask, err
		})
		switch {
		case err != nil:
			return Decision{}, err
		case known == approval.Allow:
			return Allow(), nil
		case known == approval.Reject:
			return Deny("This is not permitted, now or later."), nil
		}
		return decision, nil
	}
}

var remembered = map[Verdict]approval.Verdict{VerdictAllow: approval.Allow, VerdictDeny: approval.Reject}

// DeferDecision leaves the decision to a later run.
func DeferDecision() Decision { return Decision{Verdict: VerdictDefer} }

func (d Decision) loop() (loop.Decision, error) {
	verdicts := map[Verdict]loop.Verdict{VerdictAllow: loop.Allow, VerdictDeny: loop.Deny, VerdictDefer: loop.Defer}
	verdict, ok := verdicts[d.Verdict]
	if !ok {
		return loop.Decision{}, fmt.Errorf("verdict is %q, must be %q, %q or %q", d.Verdict, VerdictAllow, VerdictDeny, VerdictDefer)
	}
	var args model.RawArgs
	if len(d.Args) > 0 {
		args = model.RawArgs(d.Args)
	}
	return loop.Decision{Verdict: verdict, Args: args, Reason: d.Reason}, nil
}

// PendingCall is a tool call that waits for somebody outside of the run. It can be stored as JSON.
type PendingCall struct {
	// ID is the call's id, Tool the tool's name, Args what the model wrote, valid for the tool and repaired if it was not
	// JSON.
	ID   string          `json:"id"`
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
	// Approval says what is to be approved. It is nil if a result is wanted instead.
	Approval *toolset.Approval `json:"approval,omitempty"`
	// Meta comes from a tool that deferred the call itself.
	Meta json.RawMessage `json:"meta,omitempty"`
}

func pendingCall(p *loop.PendingCall) PendingCall {
	args := json.RawMessage(p.Args)
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	return PendingCall{ID: p.ID, Tool: p.Tool, Args: args, Approval: p.Approval, Meta: p.Meta}
}

// PendingError ends a run that cannot go on before others have approved calls or supplied results. It is no failure: store
// the messages of the [*RunError] that wraps it, with the calls, and continue with [WithHistory] and [WithResults].
type PendingError struct {
	// Calls are in the order in which the model made them.
	Calls []PendingCall

	text string
}

// Error implements error.
func (e *PendingError) Error() string { return e.text }

func pendingError(p *loop.PendingError) *PendingError {
	e := &PendingError{text: p.Error()}
	for i := range p.Calls {
		e.Calls = append(e.Calls, pendingCall(&p.Calls[i]))
	}
	return e
}

// DeferredResults settle the calls that a run left pending, by call id. Every pending call needs an entry in one of the
// maps. It can be stored as JSON.
type DeferredResults struct {
	// Decisions are about calls that wait for approval. A call that waits for a result can be denied.
	Decisions map[string]Decision `json:"decisions,omitempty"`
	// Results are those of external and deferred calls. They can also stand in for calls that wait for approval.
	Results map[string]toolset.Result `json:"results,omitempty"`
}

// WithResults continues a run that ended with a [*PendingError]. It goes with [WithHistory] and an empty prompt.
func WithResults(results DeferredResults) RunOption {
	return runOption(func(o *runOptions) { o.results = &results })
}

// answers are the results in the loop's form, in a stable order.
func (r *DeferredResults) answers() ([]loop.Answer, error) {
	if r == nil {
		return nil, nil
	}
	answers := make([]loop.Answer, 0, len(r.Decisions)+len(r.Results))
	for id, decision := range r.Decisions {
		if _, twice := r.Results[id]; twice {
			return nil, fmt.Errorf("%w: call %q has a decision and a result", ErrResults, id)
		}
		d, err := decision.loop()
		if err != nil {
			return nil, fmt.Errorf("%w: call %q: %w", ErrResults, id, err)
		}
		if d.Verdict == loop.Defer {
			return nil, fmt.Errorf("%w: call %q is deferred again", ErrResults, id)
		}
		answers = append(answers, loop.Answer{CallID: id, Decision: d})
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
