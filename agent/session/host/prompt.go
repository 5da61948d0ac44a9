// SPDX-License-Identifier: Apache-2.0

package host

import (
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// Prompt is the input of a turn.
type Prompt struct {
	// Parts are the prompt. A text that begins with a slash may be a command, unless Plain is set.
	Parts []model.Part
	// Plain passes the text to the agent even if it begins with a slash.
	Plain bool
	// Shown is the user's text, if the parts differ from it.
	Shown []view.Content
	// Meta is for [Config].RunOptions.
	Meta any
	// Options are options of the run. Those of [Config].RunOptions follow them.
	Options []agent.RunOption

	// Asker is asked about calls that need approval, in addition to those who watch the session.
	// The context of its question ends with the cause [ErrDecided] if the question is answered with
	// [Session.Decide].
	Asker toolset.Asker
	// Defer ends the run pending when a call needs approval, without asking. Questions of tools are
	// still asked.
	Defer bool
	// Wait makes questions wait for [Session.Decide] if there is no Asker, or it cannot ask.
	// Otherwise the run ends pending.
	Wait bool

	// AfterAnswers refuses the prompt with [ErrAsked] if calls of a pending run wait for approval
	// when the turn would begin. Otherwise it takes the place of the answers.
	AfterAnswers bool

	// Withdrawn reports whether a prompt is removed from the session's inbox if its context ends
	// with this cause while it waits. If Withdrawn is nil or returns false, the prompt stays there,
	// and the next process runs it. With [ErrCancelled] it is always removed.
	Withdrawn func(cause error) bool
	// Queued, if not nil, is called when the prompt waits in the session's inbox: see [Waiting].
	Queued func()
	// Next, if not nil, is called when the earlier turns here have ended, before the turn begins.
	// The turn waits for it.
	Next func()
	// Began, if not nil, is called when the turn begins, and Ending when the run has ended. The
	// result of Ending is shown to the user as a warning. More returns parts to append to the
	// prompt, after a command has been expanded. All are called on the goroutine of the turn.
	Began  func(t *Turn)
	More   func(t *Turn) []model.Part
	Ending func(t *Turn, o *Outcome) (notice string)
	// Show, if not nil, is called when the turn has changed what the session shows: see
	// [Turn.Fold]. The run waits for it.
	Show func()
	// Observe, if not nil, is called for each event of the run. The run waits for it. The event is
	// valid during the call.
	Observe func(*agent.Event)

	// resume marks the turn that resumes a pending run, without a prompt.
	resume bool
}

// Outcome is how a turn ended.
type Outcome struct {
	// Turn is the id of the turn and of its run. It is empty if the turn did not begin.
	Turn string
	// Reason is one of the reasons of package transcript.
	Reason string
	// Finish is the finish reason of the last response.
	Finish model.FinishReason
	// Steered reports that the running turn has read the prompt. The other fields describe that
	// turn.
	Steered bool
	// Unread are the parts of each [Session.Steer] to this turn that the run has not read, in
	// order. Prompt.Ending can tell the user.
	Unread [][]model.Part
	// Elsewhere reports that another process has run the turn, because it had the session. Turn and
	// Reason describe it; what it has said is what the session shows.
	Elsewhere bool
	// Titled reports that this turn gave the session its title.
	Titled bool
	// Err is the error of the run. It is nil if the run has an output, or if a command needed no
	// run.
	Err error
	// Failure is the text of Err for users: see [Config].ErrorText. It is empty if Err is nil.
	Failure string
}
