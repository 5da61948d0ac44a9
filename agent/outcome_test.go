// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// outcomes are the errors that say how a call ends.
func outcomes() map[string]error {
	return map[string]error{
		"retry": toolset.Retry("again"), "failed": toolset.Failed("broken"), "denied": toolset.Denied("no"), "approval": toolset.ApprovalRequired(toolset.Approval{Reason: "why"}),
		"deferred": toolset.Deferred(nil), "pending": toolset.Pending(nil, toolset.PendingCall{ID: "in", Tool: "t"}),
	}
}

// joins are ways to put two errors into one.
var joins = map[string]func(a, b error) error{
	"Join": func(a, b error) error { return errors.Join(a, b) }, "Join reversed": func(a, b error) error { return errors.Join(b, a) },
	"%w %w": func(a, b error) error { return fmt.Errorf("both: %w, %w", b, a) },
	"nested": func(a, b error) error {
		return fmt.Errorf("in: %w", errors.Join(nil, fmt.Errorf("x: %w", a), errors.Join(b)))
	},
}

func TestErrorBesideAnOutcomeEndsTheRun(t *testing.T) {
	for name, outcome := range outcomes() {
		for how, join := range joins {
			err := join(outcome, errBoom)
			if how == "%w %w" && name == "retry" {
				continue // it has a cause
			}
			for where, config := range map[string]cfg{
				"tool": {}, "hook": {Hooks: []agent.Hooks[deps]{{Call: func(ctx context.Context, run *toolset.RunContext[deps], args any, next toolset.CallFunc) (toolset.Result, error) {
					_, _ = next(ctx, args)
					return toolset.Result{}, err
				}}}},
				"policy": {ToolError: func(context.Context, *toolset.RunContext[deps], error) error { return err }},
			} {
				x := fails("x", err)
				if where == "policy" {
					x = fails("x", errors.New("another"))
				}
				config.Model = modeltest.Script(modeltest.Say(call("1", "x")), modeltest.SayText("done"))
				_, got := newAgent(t, config, x).Run(t.Context(), deps{}, "go")
				require.ErrorIs(t, got, errBoom, "%s, %s, %s", name, how, where)
				require.ErrorIs(t, got, outcome, "%s, %s, %s: neither is lost", name, how, where)
			}
			a := newAgent(t, cfg{Model: modeltest.Script(modeltest.SayText("a"), modeltest.SayText("b")), Validators: []agent.Validator[deps, string]{
				func(context.Context, *toolset.RunContext[deps], string) (string, error) { return "", err },
			}})
			_, got := a.Run(t.Context(), deps{}, "go")
			require.ErrorIs(t, got, errBoom, "a validator: %s, %s", name, how)
			require.NotErrorAs(t, got, new(*agent.BudgetError))
		}
	}
}

func TestErrorBesideAnOutcomeReachesThePolicy(t *testing.T) {
	seen := 0
	policy := func(_ context.Context, _ *toolset.RunContext[deps], err error) error {
		require.ErrorIs(t, err, errBoom)
		seen++
		return toolset.Failed("it is known")
	}
	script := modeltest.Script(modeltest.Say(call("1", "x")), modeltest.SayText("done"))
	res, err := newAgent(t, cfg{Model: script, ToolError: policy}, fails("x", errors.Join(toolset.Failed("broken"), errBoom))).Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, 1, seen)
	require.Equal(t, "it is known", res.Messages[2].Parts[0].Text)
}

func TestJoinedOutcomesTellTheModelAll(t *testing.T) {
	for _, c := range []struct {
		a, b    error
		kind    model.PartKind
		outcome model.Outcome
	}{
		{toolset.Failed("one"), toolset.Failed("two"), model.PartToolReturn, model.OutcomeFailed},
		{toolset.Denied("one"), toolset.Failed("two"), model.PartToolReturn, model.OutcomeFailed},
		{toolset.Denied("one"), toolset.Denied("two"), model.PartToolReturn, model.OutcomeDenied},
		{toolset.Failed("one"), toolset.Retry("two"), model.PartRetry, ""},
		{toolset.Retry("one"), toolset.Denied("two"), model.PartRetry, ""},
	} {
		res, err, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", "x")), modeltest.SayText("done")}, fails("x", fmt.Errorf("x: %w", errors.Join(c.a, c.b))))
		require.Nil(t, err)
		answer := res.Messages[2].Parts[0]
		require.Equal(t, "one\ntwo", answer.Text)
		require.Equal(t, c.kind, answer.Kind)
		require.Equal(t, c.outcome, answer.Outcome)
	}
}

func TestContradictingOutcomesEndTheRun(t *testing.T) {
	for _, undone := range []string{"approval", "deferred", "pending"} {
		for name, other := range outcomes() {
			err := errors.Join(outcomes()[undone], other)
			_, got := newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(call("1", "x")))}, fails("x", err)).Run(t.Context(), deps{}, "go")
			require.ErrorIs(t, got, other, "%s, %s", undone, name)
			require.NotErrorAs(t, got, new(*agent.PendingError))
		}
	}
}

func TestNobodyBesideAnOutcomeIsItsReason(t *testing.T) {
	res, err, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", "x")), modeltest.SayText("done")}, fails("x", errors.Join(toolset.ErrNobody, toolset.Failed("ask in your reply"))))
	require.Nil(t, err)
	require.Equal(t, "ask in your reply", res.Messages[2].Parts[0].Text)
	require.Nil(t, toolset.Outcome(toolset.ErrNobody))
	require.Nil(t, toolset.Outcome(nil))
}

func TestRetryThatWrapsItsCauseStaysARetry(t *testing.T) {
	for _, err := range []error{fmt.Errorf("%w: %w", errBoom, toolset.Retry("again")), fmt.Errorf("%w (%w)", toolset.Retry("again"), errBoom)} {
		script := modeltest.Script(modeltest.Say(call("1", "x")), modeltest.Say(call("2", "x")))
		_, got := newAgent(t, cfg{Model: script}, fails("x", err)).Run(t.Context(), deps{}, "go")
		require.ErrorAs(t, got, new(*agent.BudgetError))
		require.ErrorIs(t, got, errBoom)
		require.Equal(t, "again", asRunError(t, got).Messages[2].Parts[0].Text)
	}
}

// several is an error of a program that keeps a place for each of its parts.
type several []error

func (s several) Error() string   { return fmt.Sprintf("%d parts", len(s)) }
func (s several) Unwrap() []error { return s }

func TestErrorWithNilPartsKeepsTheOthers(t *testing.T) {
	require.Nil(t, toolset.Outcome(several{nil, nil}))
	require.Equal(t, toolset.Failed("f"), toolset.Outcome(several{nil, toolset.Failed("f")}))
	_, err, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", "x"))}, fails("x", several{nil, toolset.Failed("f"), errBoom}))
	require.ErrorIs(t, err, errBoom)
	require.NotErrorAs(t, err, new(*agent.PanicError))
}
