// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
)

// HandOver implements handing runs over to other agents. As a value it is not linked into programs
// without hand-overs.
type HandOver struct {
	// textCall is the tool whose arguments a text output is, if there is one.
	textCall *engine.Tool
	// stay continues with the agent that has the conversation, as long as one has it.
	stay func(ctx context.Context, r *run) (done bool, err error)
	// resume continues with an agent that waits or has the conversation without a call of the
	// model. It reports false if there is none.
	resume func(ctx context.Context, r *run) (ok, done bool, err error)
	// text hands over by a text output. It returns a call if the text is not valid.
	text func(ctx context.Context, r *run, text string, complete bool) (done bool, invalid *call, err error)
	// tried settles a call whose task is done, if it needs other treatment than an output.
	tried func(r *run, c *call, done *engine.Done)
	// join adds what was told to what was told before, tell appends it to the history.
	join func(before, more []*model.Message) []*model.Message
	tell func(r *run, c *call)
	// back returns to the model after agents that have given no output.
	back func(r *run, calls []call) error
	// answers gives calls their answers.
	answers func(r *run, answers []Answer, calls []call, known bool) error
	// instead ends the step in which the user has written to the agent of a call.
	instead func(ctx context.Context, r *run, calls []call, over *call, err error) (done bool, _ error)
}

// HandingOver returns how an agent hands over. text is the tool whose arguments a text output is, if the agent has no other output.
func HandingOver(text *engine.Tool) *HandOver {
	return &HandOver{textCall: text, stay: stay, resume: resumeHandOver, text: handOverText, tried: tried, join: joinTold, tell: tell, back: takeBack, answers: settleAnswers, instead: settleHandOver}
}

// tellAll appends what agents that calls have handed over to have told the user.
//
//go:noinline
func (r *run) tellAll(calls []call) {
	for i := range calls {
		if calls[i].told != nil {
			r.cfg.Over.tell(r, &calls[i])
		}
	}
}

// waitingHandOver returns the hand-over that a person may answer by a prompt, or nil.
func waitingHandOver(calls []call) *call {
	for i := range calls {
		if c := &calls[i]; c.suspended != nil && c.given == nil && !c.answered && c.tool.HandsOver {
			return c
		}
	}
	return nil
}
