// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// KeepLast keeps the last turns of a history, at least as many as turns says, and drops the others whole. It lets slack more
// gather before it drops all that are too many at once: every drop makes the provider's prompt cache useless, and with a
// slack of 9 that happens in every tenth turn only. A slack of 0 keeps exactly the last turns.
//
// The current turn is one of those that are counted. Leading system prompts and summaries stay. The model is not told that
// something is missing; [Summarise] is for that.
//
// Turns are counted when a run begins and when a turn does, and the rest of the run costs nothing.
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
