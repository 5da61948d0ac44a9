// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// The model is told these texts about calls whose end is unknown. TextLost is for calls that were
// allowed.
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

// denied answers a denied call. A lost call keeps the decision that allowed it.
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
