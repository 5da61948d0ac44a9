// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ponte-go/ponte/internal/jsonvalue"
	"github.com/ponte-go/ponte/toolset"
)

// Order is how the calls of a trial are compared with a list of tools.
type Order string

const (
	// Exact asks for these calls in this order, and no others.
	Exact Order = "exact"
	// InOrder asks for these calls in this order. Others may come before, between and after.
	InOrder Order = "in order"
	// AnyOrder asks for these calls in any order. There may be others. A tool that is listed twice
	// is called twice at least.
	AnyOrder Order = "any order"
)

// Called passes if tools were called as the order says. Only calls that returned a value count,
// including calls of runs inside tools. Calls in parallel are in the order of the response.
func Called(order Order, tools ...string) Evaluator {
	tools = slices.Clone(tools)
	return untyped("calls", func(_ context.Context, t *trial) (Score, error) {
		called := make([]string, 0, len(t.trace.Calls))
		for i := range t.trace.Calls {
			if t.trace.Calls[i].Succeeded() {
				called = append(called, t.trace.Calls[i].Tool)
			}
		}
		ok := false
		switch order {
		case Exact:
			ok = slices.Equal(called, tools)
		case InOrder:
			ok = commonSubsequence(called, tools) == len(tools)
		case AnyOrder:
			ok = inBoth(called, tools) == len(tools)
		default:
			const problem = "there is no order %q: use Exact, InOrder or AnyOrder"
			return Score{}, fmt.Errorf(problem, order)
		}
		if ok {
			return Pass(true), nil
		}
		s := Pass(false).Because("called %s, want %s, %s", listed(called), listed(tools), order)
		return s, nil
	})
}

// inBoth counts the tools that were called, in any order.
func inBoth(called, tools []string) (n int) {
	left := slices.Clone(called)
	for _, name := range tools {
		if i := slices.Index(left, name); i >= 0 {
			left = slices.Delete(left, i, i+1)
			n++
		}
	}
	return n
}

func listed(tools []string) string {
	if len(tools) == 0 {
		return "no tool"
	}
	return strings.Join(tools, ", ")
}

// NotCalled passes if the model has called none of the tools, also in runs inside tools. A call
// that was denied, or whose arguments were not valid, is a call. A task that failed is scored as
// well.
func NotCalled(tools ...string) Evaluator {
	tools = slices.Clone(tools)
	return OnFailure(untyped("not called", func(_ context.Context, t *trial) (Score, error) {
		for i := range t.trace.Calls {
			if c := &t.trace.Calls[i]; slices.Contains(tools, c.Tool) {
				args := shownText(string(c.Args))
				return Pass(false).Because("it called %s with %s", c.Tool, args), nil
			}
		}
		return Pass(true), nil
	}))
}

// CalledWith passes if a tool was called with arguments that contain args, in the sense of
// [Subset]. Only calls that returned a value count.
func CalledWith(tool string, args any) Evaluator {
	want, invalid := jsonvalue.Of(args)
	return untyped("called with", func(_ context.Context, t *trial) (Score, error) {
		if invalid != nil {
			return Score{}, fmt.Errorf("the expected arguments are not JSON: %w", invalid)
		}
		seen := []string{}
		for i := range t.trace.Calls {
			c := &t.trace.Calls[i]
			if c.Tool != tool || !c.Succeeded() {
				continue
			}
			got, err := jsonvalue.Parse(c.arguments())
			if err == nil && (jsonvalue.Rules{}).Contains(got, want) {
				return Pass(true), nil
			}
			seen = append(seen, shownText(string(c.Args)))
		}
		if len(seen) == 0 {
			return Pass(false).Because("%s was not called", tool), nil
		}
		all := strings.Join(seen, " and ")
		return Pass(false).Because("%s was called with %s, want %s", tool, all, shown(want)), nil
	})
}

// Within passes if the usage and the duration of the trial are within l and d. Zero means no limit.
func Within(l toolset.Limits, d time.Duration) Evaluator {
	return untyped("within limits", func(_ context.Context, t *trial) (Score, error) {
		u := &t.trace.Usage
		for _, c := range []struct {
			what        string
			used, bound float64
		}{
			{"requests", float64(u.Requests), float64(l.Requests)},
			{"tool calls", float64(u.ToolCalls), float64(max(l.ToolCalls, 0))},
			{"input tokens", float64(u.InputTokens), float64(l.InputTokens)},
			{"output tokens", float64(u.OutputTokens), float64(l.OutputTokens)},
			{"tokens", float64(u.TotalTokens()), float64(l.TotalTokens)},
			{"cost", u.Cost, l.Cost},
		} {
			if c.bound > 0 && c.used > c.bound {
				const reason = "%s: %v, at most %v is allowed"
				return Pass(false).Because(reason, c.what, c.used, c.bound), nil
			}
		}
		if l.ToolCalls == toolset.NoToolCalls && u.ToolCalls > 0 {
			return Pass(false).Because("tool calls: %d, none is allowed", u.ToolCalls), nil
		}
		if l.Cost > 0 && u.Unpriced > 0 {
			const problem = "the cost of %d requests is not known: set Options.Prices"
			return Score{}, fmt.Errorf(problem, u.Unpriced)
		}
		if took := t.trace.Duration; d > 0 && took > d {
			return Pass(false).Because("it took %v, at most %v is allowed", took, d), nil
		}
		return Pass(true), nil
	})
}

func shownText(text string) string {
	if len(text) > shownLength {
		return strings.ToValidUTF8(text[:shownLength], "") + "…"
	}
	return text
}
