// SPDX-License-Identifier: Apache-2.0

package history

import "github.com/ponte-go/ponte/agent/model"

// gauge measures a history in tokens. It starts from the last response with reported input tokens
// and estimates the messages after it.
type gauge struct {
	estimate func(*model.Message) int
	// sums has the costs of prefixes, for histories without a recent response that reports usage.
	sums extents[int64]
}

// near is the number of messages to examine before sums is consulted.
const near = 16

func newGauge(estimate func(*model.Message) int) *gauge {
	if estimate == nil {
		estimate = Estimate
	}
	return &gauge{estimate: estimate}
}

func (g *gauge) size(m *model.Message) int64 { return int64(max(0, g.estimate(m))) }

// tokens returns the input tokens of a request with these messages.
func (g *gauge) tokens(messages []*model.Message) int64 {
	for i := len(messages) - 1; i >= max(0, len(messages)-near); i-- {
		if _, ok := intake(messages[i]); ok {
			return g.sum(messages, i, 0)
		}
	}
	if len(messages) <= near {
		return g.sum(messages, 0, 0)
	}
	known, total := g.sums.find(messages)
	if known < len(messages) {
		total = g.sum(messages, known, total)
		g.sums.save(messages, total)
	}
	return total
}

// sum adds up the messages from an index on, before which there are total tokens.
func (g *gauge) sum(messages []*model.Message, from int, total int64) int64 {
	for _, m := range messages[from:] {
		if before, ok := intake(m); ok {
			total = before
		}
		if n, ok := output(m); ok {
			total += n
		} else {
			total += g.size(m)
		}
	}
	return total
}

// intake returns the cost of the messages before a response, if it was reported.
func intake(m *model.Message) (int64, bool) {
	if m.Kind != model.KindResponse {
		return 0, false
	}
	if n := count(m, MetaContext); n > 0 {
		return n, true
	}
	return m.Usage.InputTokens, m.Usage.InputTokens > 0
}

// output returns the tokens that a response adds, if they were reported. Thinking may not be sent
// back, so it does not count.
func output(m *model.Message) (int64, bool) {
	return m.Usage.OutputTokens, m.Kind == model.KindResponse && m.Usage.OutputTokens > 0 && m.Usage.ReasoningTokens == 0
}

// Gauge returns a function that measures histories in tokens, as the processors of this package do:
// from what the provider reported with the last response, and estimates of what follows. estimate
// is as in [Budget]. The function is safe for concurrent use.
func Gauge(estimate func(*model.Message) int) func(messages []*model.Message) int64 {
	return newGauge(estimate).tokens
}
