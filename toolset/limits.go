// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

const (
	// Unlimited means no limit, for any field of [Limits].
	Unlimited = -1
	// NoToolCalls, as [Limits.ToolCalls], allows no tool calls.
	NoToolCalls = -2
)

// Limits bounds what a [Meter] counts. Zero and [Unlimited] mean no limit.
type Limits struct {
	// Requests limits the requests to models. It is checked before each request.
	Requests int `json:"requests,omitempty"`
	// ToolCalls limits the tool calls that return a value. It is checked for all calls of a response before any of them
	// runs. [NoToolCalls] allows none.
	ToolCalls int `json:"tool_calls,omitempty"`
	// The token limits are checked before each request and after each response. During a stream they are checked whenever
	// the provider reports usage.
	InputTokens  int64 `json:"input_tokens,omitempty"`
	OutputTokens int64 `json:"output_tokens,omitempty"`
	TotalTokens  int64 `json:"total_tokens,omitempty"`
	// Cost limits the cost of responses, in the currency of the prices set with [Meter.SetPrices]. It is checked together
	// with the token limits. While there is a limit on cost, a request is not made if its price is unknown or the limit
	// is reached, and responses of unknown cost count as described at [Meter.Generate].
	Cost float64 `json:"cost,omitempty"`
}

// tokens returns an error without a meter if u exceeds a token limit.
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

// LimitName identifies a limit in [Limits]. The names are stable. Programs may compare and store them.
type LimitName string

// Names of the limits. Each names the field of [Limits] with the same name.
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
	// Value is the amount used or about to be used. Bound is the limit. Both are whole numbers, except for a cost, which
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

// Applies reports whether the limit belongs to m or to a meter above m. A tool that runs another agent under
// [RunInfo.Meter] uses it to distinguish a limit of the inner run, which can be reported to the model, from a limit that
// ends the outer run as well.
func (e *LimitError) Applies(m *Meter) bool { return e.meter.bounds(m) }
