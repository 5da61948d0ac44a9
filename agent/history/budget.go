// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"sort"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Budget limits the size of a history. Only Max is required.
type Budget struct {
	// Max is how many tokens a request may take in, including instructions and tools if the
	// provider reports what they cost. Leave room for the response and for what is only estimated:
	// nine tenths of the model's context window are a good start.
	Max int
	// Target is the size in tokens to which a history larger than Max is cut back; 0 means three
	// quarters of Max. The farther they are apart, the less often the provider's prompt cache is
	// lost.
	Target int
	// ReturnBytes is the size in bytes to which tool returns of the current turn may be shortened
	// if nothing else helps; 0 means 1,024, the minimum is 128.
	ReturnBytes int
	// Estimate guesses the tokens of messages on which no usage has been reported; nil is
	// [Estimate]. It must be safe for concurrent use, answer the same for the same message, and
	// ignore metadata.
	Estimate func(*model.Message) int
}

const (
	defaultReturnBytes = 1024
	minReturnBytes     = 128
)

// TokenBudget keeps the size of a history within a budget. When it is exceeded the oldest turns
// go, whole. If the current turn alone is too long, the returns of its earlier tool calls are
// shortened; then its earliest responses go, together with the answers to their calls; and last
// of all the newest tool returns are shortened, the longest first.
//
// The responses that stay are as they were, signatures included, and so are the current prompt,
// what the user sent into the run, leading system prompts and summaries. If these alone exceed
// the budget, the history is as small as it gets and goes to the model as it is: the provider's
// refusal says more than one of ours could.
func TokenBudget[D any](b Budget) Processor[D] {
	if b.Target == 0 {
		b.Target = b.Max - b.Max/4
	}
	if b.ReturnBytes == 0 {
		b.ReturnBytes = defaultReturnBytes
	}
	if b.Max < 1 || b.Target < 1 || b.Target > b.Max || b.ReturnBytes < minReturnBytes {
		return broken[D]("TokenBudget: Max is %d, Target %d, ReturnBytes %d; want 0 < Target <= Max and ReturnBytes >= %d", b.Max, b.Target, b.ReturnBytes, minReturnBytes)
	}
	gauge := newGauge(b.Estimate)
	return func(_ context.Context, _ *toolset.RunContext[D], messages []*model.Message) ([]*model.Message, error) {
		if gauge.tokens(messages) <= int64(b.Max) {
			return messages, nil
		}
		return b.cut(gauge.try(messages)), nil
	}
}

// cut tries the cheapest loss first and stops as soon as the history is at the target. A later one
// is not taken if the history is within the budget.
func (b *Budget) cut(t *trial) []*model.Message {
	version := t.old
	for _, stage := range []func(*trial, []*model.Message) []*model.Message{b.dropTurns, b.shortenEarlier, b.dropSteps, b.shortenLatest} {
		if t.tokens(version) <= int64(b.Max) {
			break
		}
		version = stage(t, version)
	}
	return t.settle(version)
}

// least returns the version with the smallest n that reaches the target, or version(most) if none
// does.
func (b *Budget) least(t *trial, most int, version func(n int) []*model.Message) []*model.Message {
	return version(sort.Search(most, func(n int) bool { return t.tokens(version(n)) <= int64(b.Target) }))
}

func (b *Budget) dropTurns(t *trial, messages []*model.Message) []*model.Message {
	d := divide(messages)
	return b.least(t, max(0, len(d.turns)-1), func(n int) []*model.Message { return d.withoutTurns(messages, n) })
}

// current returns where the current turn begins and where its steps do.
func current(messages []*model.Message) (turn int, begins []int) {
	d := divide(messages)
	if len(d.turns) == 0 {
		return len(messages), nil
	}
	turn = d.turns[len(d.turns)-1]
	return turn, steps(messages, turn)
}

// shortenEarlier shortens the tool returns of all steps but the last.
func (b *Budget) shortenEarlier(t *trial, messages []*model.Message) []*model.Message {
	turn, begins := current(messages)
	if len(begins) < 2 {
		return messages
	}
	latest := begins[len(begins)-1]
	return b.least(t, latest-turn, func(n int) []*model.Message { return shortened(messages, turn, turn+n, b.ReturnBytes) })
}

// dropSteps drops the earliest steps of the current turn.
func (b *Budget) dropSteps(t *trial, messages []*model.Message) []*model.Message {
	turn, begins := current(messages)
	if len(begins) < 2 {
		return messages
	}
	return b.least(t, len(begins)-1, func(n int) []*model.Message {
		if n == 0 {
			return messages
		}
		kept, _ := withoutSteps(messages, turn, begins[n])
		return append(messages[:turn:turn], kept...)
	})
}

// shortenLatest shortens the tool returns of the last step, halving their size repeatedly.
func (b *Budget) shortenLatest(t *trial, messages []*model.Message) []*model.Message {
	turn, begins := current(messages)
	if len(begins) > 0 {
		turn = begins[len(begins)-1]
	}
	limit := b.ReturnBytes
	for limit < longest(messages[turn:]) {
		limit *= 2
	}
	version := messages
	for limit > b.ReturnBytes && t.tokens(version) > int64(b.Max) {
		limit /= 2
		version = shortened(messages, turn, len(messages), limit)
	}
	return version
}
