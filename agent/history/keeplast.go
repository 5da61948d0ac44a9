// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// KeepLast keeps at least the given number of turns at the end of a history and drops older ones as
// a whole. It lets slack more turns gather and then drops all surplus turns at once, because every
// drop invalidates the provider's prompt cache. With a slack of 9 that happens every tenth turn.
// With a slack of 0 exactly the last turns are kept.
//
// The current turn counts. Leading system prompts and summaries stay. The model is not told that
// something is missing; [Summarise] is for that.
//
// Turns are counted when a run or a turn begins. The other steps cost nothing.
func KeepLast[D any](turns, slack int) Processor[D] {
	if turns < 1 || slack < 0 {
		return broken[D]("KeepLast: %d turns and a slack of %d, must be at least 1 and 0", turns, slack)
	}
	gauge := newGauge(nil)
	return func(_ context.Context, run *toolset.RunContext[D], messages []*model.Message) ([]*model.Message, error) {
		if len(messages) == 0 || run != nil && run.Step > 1 && !says(messages[len(messages)-1]) {
			return messages, nil
		}
		d := divide(messages)
		if len(d.turns) <= turns+slack {
			return messages, nil
		}
		return gauge.try(messages).settle(d.withoutTurns(messages, len(d.turns)-turns)), nil
	}
}
