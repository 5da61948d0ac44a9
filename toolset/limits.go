// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

const (
	// Unlimited is no limit, for any of the [Limits].
	Unlimited = -1
	// NoToolCalls allows no tool calls, as [Limits.ToolCalls].
	NoToolCalls = -2
)

// Limits bound what is counted on a [Meter]. Zero and [Unlimited] are no limit.
type Limits struct {
	// Requests bounds the requests to models. It is checked before each request.
	Requests int
	// ToolCalls bounds the tool calls that return a value. It is checked for all calls of a response before any of them runs.
	// [NoToolCalls] allows none.
	ToolCalls int
	// The limits on tokens are checked after each response, during a stream as far as the provider reports usage, and before
	// each request.
	InputTokens, OutputTokens, TotalTokens int64
	// Cost bounds what responses cost, in the currency of the prices ([Meter.SetPrices]). It is checked when tokens are. While
	// there is such a limit, a request whose price is not known is refused, and so is one after the limit is reached.
	Cost float64
}

// tokens returns an error without a meter if u exceeds a limit on tokens.
func (l *Limits) tokens(u model.Usage) *LimitError {
	switch total := u.TotalTokens(); {
	case l.InputTokens > 0 && u.InputTokens > l.InputTokens:
		return &LimitError{Limit: LimitInputTokens, Value: float64(u.InputTokens), Bound: float64(l.InputTokens)}
	case l.OutputTokens > 0 && u.OutputTokens > l.OutputTokens:
		return &LimitError{Limit: LimitOutputTokens, Value: float64(u.OutputTokens), Bound: float64(l.OutputTokens)}
	case l.TotalTokens > 0 && total > l.TotalTokens:
		return &LimitError{Limit: LimitTotalTokens, Value: float64(total), Bound: float64(l.TotalTokens)}
	}
	return nil
}

// LimitName identifies a limit of [Limits]. The names are stable: programs may compare and store them.
type LimitName string

// The names of limits. Each is the limit of the field of [Limits] with the same name.
const (
	LimitRequests     LimitName = "requests"
	LimitToolCalls    LimitName = "tool calls"
	LimitInputTokens  LimitName = "input tokens"
	LimitOutputTokens LimitName = "output tokens"
	LimitTotalTokens  LimitName = "total tokens"
	LimitCost         LimitName = "cost"
)

// LimitError reports that a limit of a [Meter] was reached.
type LimitError struct {
	// Limit names the limit, such as [LimitRequests].
	Limit LimitName
	// Value is what had been used or was about to be used. Bound is the limit. Both are whole numbers, except for a cost, which
	// is in the currency of the prices.
	Value, Bound float64

	meter *Meter
}

// Error implements error.
func (e *LimitError) Error() string {
	if e.Limit == LimitCost {
		return fmt.Sprintf("usage limit reached: cost %s, limit %s", amount(e.Value), amount(e.Bound))
	}
	what := string(e.Limit)
	if e.Value == 1 {
		what = strings.TrimSuffix(what, "s")
	}
	return fmt.Sprintf("usage limit reached: %s %s, limit %s", amount(e.Value), what, amount(e.Bound))
}

// Applies reports whether the limit is one of m or of a meter above m. A tool that runs another agent under [RunInfo.Meter]
// uses it to tell a limit of the inner run, which the model may hear of, from one that ends its own run as well.
func (e *LimitError) Applies(m *Meter) bool { return e.meter.bounds(m) }
