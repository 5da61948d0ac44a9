// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

func TestFirstCallHookIsOutermost(t *testing.T) {
	both(t, toolset.Of(toolset.Plain[deps]("city", "", func(_ context.Context, q query) (string, error) { return q.City, nil })), func(t *testing.T, inner set) {
		var log []string
		around := func(name string) toolset.CallHook[deps] {
			return func(ctx context.Context, run *runContext, args any, next toolset.CallFunc) (toolset.Result, error) {
				log = append(log, fmt.Sprintf("%s: %s(%s) as %s for %s, attempt %d", name, run.Call.Tool, args.(*query).City, run.Call.Args, run.Deps.Name, run.Call.Attempt))
				res, err := next(ctx, args)
				log = append(log, name+": "+res.Text)
				res.Text += " " + name
				return res, err
			}
		}
		tr := run(t, []set{toolset.Wrapped(inner, around("outer"), around("inner"))}, modeltest.Say(model.ToolCall("1", "city", `{"city":"Oslo"}`)), done)
		require.NoError(t, tr.err)
		require.Equal(t, []string{`outer: city(Oslo) as {"city":"Oslo"} for Ada, attempt 0`, `inner: city(Oslo) as {"city":"Oslo"} for Ada, attempt 0`, "inner: Oslo", "outer: Oslo inner"}, log)
		require.Equal(t, []string{"Oslo inner outer"}, tr.answers)
	})
}

// policy is a hook that replaces errors with the result of fn.
func policy(fn func(error) error) toolset.CallHook[deps] {
	return func(ctx context.Context, _ *runContext, args any, next toolset.CallFunc) (toolset.Result, error) {
		res, err := next(ctx, args)
		if err != nil {
			err = fn(err)
		}
		return res, err
	}
}

func TestCallHookCanReplaceErrors(t *testing.T) {
	for want, fn := range map[string]func(error) error{
		"failed sorry: boom": func(err error) error { return toolset.Failed("sorry: %v", err) },
		"denied not now":     func(error) error { return toolset.Denied("not now") },
		"again":              func(error) error { return toolset.Retry("again") },
		"":                   func(error) error { return nil },
	} {
		tr := run(t, []set{toolset.Wrapped(toolset.Of(fails("f", errBoom)), policy(fn))}, say("f"), done)
		require.NoError(t, tr.err)
		require.Equal(t, []string{want}, tr.answers)
	}
	tr := run(t, []set{toolset.Wrapped(toolset.Of(fails("f", errBoom)), policy(func(err error) error { return fmt.Errorf("seen: %w", err) }))}, say("f"), done)
	require.ErrorIs(t, tr.err, errBoom)
	require.ErrorContains(t, tr.err, "seen: boom")
}

func TestCallHookSeesOutcomesAsResults(t *testing.T) {
	var seen []model.Outcome
	watch := func(ctx context.Context, _ *runContext, args any, next toolset.CallFunc) (toolset.Result, error) {
		res, err := next(ctx, args)
		seen = append(seen, res.Outcome)
		return res, err
	}
	run(t, []set{toolset.Wrapped(toolset.Of(fails("f", toolset.Failed("no")), fails("d", toolset.Denied("no"))), watch)}, say("f"), say("d"), done)
	require.Equal(t, []model.Outcome{model.OutcomeFailed, model.OutcomeDenied}, seen)
}

func TestCallHookCanSkipTheTool(t *testing.T) {
	stub := func(context.Context, *runContext, any, toolset.CallFunc) (toolset.Result, error) {
		return toolset.Result{Text: "stub"}, nil
	}
	tr := run(t, []set{toolset.Wrapped(toolset.Of(fails("f", errBoom)), stub)}, say("f"), done)
	require.Equal(t, []string{"stub"}, tr.answers)
}

func TestPanicOfACallHookEndsTheRun(t *testing.T) {
	oops := func(context.Context, *runContext, any, toolset.CallFunc) (toolset.Result, error) { panic("oops") }
	tr := run(t, []set{toolset.Wrapped(tells("a"), oops)}, say("a"))
	require.ErrorContains(t, tr.err, "oops")
}

func TestCallHookCanChangeArguments(t *testing.T) {
	city := toolset.Plain[deps]("city", "", func(_ context.Context, q query) (string, error) { return q.City, nil })
	north := func(ctx context.Context, _ *runContext, args any, next toolset.CallFunc) (toolset.Result, error) {
		q := *args.(*query)
		q.City = "North " + q.City
		return next(ctx, &q)
	}
	tr := run(t, []set{toolset.Wrapped(toolset.Of(city), north, north)}, modeltest.Say(model.ToolCall("1", "city", `{"city":"Oslo"}`)), done)
	require.NoError(t, tr.err)
	require.Equal(t, []string{"North North Oslo"}, tr.answers)
}

// The error of a tool ends the run, unless a hook reports it to the model instead.
func ExampleWrapped() {
	read := toolset.Plain[int]("read", "Read a page.", func(context.Context, struct{}) (string, error) {
		return "", errors.New("connection refused")
	})
	carryOn := func(ctx context.Context, run *toolset.RunContext[int], args any, next toolset.CallFunc) (toolset.Result, error) {
		res, err := next(ctx, args)
		var retry *toolset.RetryError
		if err == nil || ctx.Err() != nil || errors.As(err, &retry) {
			return res, err
		}
		return res, toolset.Failed("%s does not work: %v", strings.ToUpper(run.Call.Tool), err)
	}
	res, err := toolsettest.Call(context.Background(), toolset.Wrapped(toolset.Of(read), carryOn), nil, "read", `{}`)
	fmt.Printf("%s: %s (%v)\n", res.Outcome, res.Text, err)
	// Output: failed: READ does not work: connection refused (<nil>)
}
