// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// What the model is told about calls of which nobody knows how they ended. TextLost is for those that were allowed.
const (
	textUnknown = " It is not known whether the call had any effect."
	TextLost    = "Allowed, but the process ended before there was a result." + textUnknown + " The call was not repeated."
)

// notRun answers a call that will not run, or not once more.
//
//go:noinline
func (c *call) notRun(text string, outcome model.Outcome) {
	if c.lost {
		text, outcome = TextLost, model.OutcomeInterrupted
	}
	c.reply(text, outcome)
}

// denied answers a call that somebody has denied. What a lost call was allowed by stays.
//
//go:noinline
func (c *call) denied(text string, d *toolset.Decision) {
	c.notRun(text, model.OutcomeDenied)
	if c.lost {
		d = c.decision()
	}
	c.answer.Decision, c.executed = d, true
}

// again returns what a person is shown who is asked once more about a lost call. Nobody else may allow it, even if the call would need no
// approval now.
//
//go:noinline
func (c *call) again(now *toolset.Approval) *toolset.Approval {
	var a toolset.Approval
	if now != nil {
		a = *now
	}
	if a.Once = true; c.approval != nil {
		a.Reason = c.approval.Reason // which says so
	}
	return &a
}
