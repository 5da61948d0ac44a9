// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"fmt"
	"slices"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
	"github.com/ponte-go/ponte/toolset"
)

// The model is told these texts about agents that it handed over to.
const (
	textHandedOver = "Handed over to the agent %s. Its answer to the user follows."
	textHandedBack = "The agent %s handed the conversation back: %s"
	textLeft       = "The agent %s did not finish. Answer the user yourself."
)

// textCall is the id of the hand-over that a text output makes.
const textCall = "output"

// handedOver returns the hand-over that a conversation stays with, or nil.
//
//go:noinline
func handedOver(history []*model.Message) *model.HandOver {
	for i := len(history) - 1; i >= 0; i-- {
		switch m := history[i]; {
		case m.HandOver != nil && m.HandOver.Stays:
			return m.HandOver
		case m.HandOver != nil && m.HandOver.Ended, m.Kind == model.KindResponse:
			return nil
		}
	}
	return nil
}

// stays reports whether the conversation stays with another agent.
func (r *run) stays() bool { return !r.here && handedOver(r.messages) != nil }

// handOver returns the tool that hands over under a name, or nil.
func (r *run) handOver(name string) *engine.Tool {
	if t := r.cfg.Over.textCall; r.offer.TextCall && t.Name == name {
		return t
	}
	if t := r.offer.Tool(name); t != nil && t.HandsOver {
		return t
	}
	return nil
}

// stay continues with the agent that has the conversation, as long as one has it.
func stay(ctx context.Context, r *run) (done bool, err error) {
	for !done && err == nil && r.stays() {
		done, err = r.stay(ctx)
	}
	return done, err
}

// stay is one turn of the agent that has the conversation.
func (r *run) stay(ctx context.Context) (bool, error) {
	r.info.Step++
	if err := r.inbox(ctx, false); err != nil {
		return false, err
	}
	if err := r.nextOffer(ctx, false); err != nil {
		return false, err
	}
	over := handedOver(r.messages)
	t := r.handOver(over.Tool)
	if t == nil { // the agent no longer has it
		r.here = true
		if last := r.last(); last.Kind == model.KindResponse {
			return r.settle(ctx, last)
		}
		return false, nil
	}
	c := bareCall(over.ID, t, over.Args)
	if err := r.checkArguments(ctx, c, false); err != nil {
		return false, err
	}
	c[0].args.Resume = &toolset.Resume{State: over.State, Prompt: unanswered(r.messages), Stays: true}
	return r.settleWithoutCall(ctx, c)
}

// unanswered returns what the user has said since the last turn of the agent that has the conversation.
func unanswered(history []*model.Message) []model.Part {
	begin := len(history)
	for begin > 0 && (history[begin-1].HandOver == nil || !history[begin-1].HandOver.Stays) {
		begin--
	}
	var said []model.Part
	for _, m := range history[begin:] {
		for i := range m.Parts {
			if p := &m.Parts[i]; m.Kind == model.KindRequest && p.Kind != model.PartRetry && p.Kind != model.PartToolReturn {
				said = append(said, *p)
			}
		}
	}
	return said
}

// waitsWithoutCall reports whether the history leaves a hand-over pending that is not a call of the model.
func (r *run) waitsWithoutCall() bool {
	if r.resumed == nil || len(r.resumed.SuspendedCalls) != 1 {
		return false
	}
	last := r.last()
	return last == nil || !last.HasToolCalls()
}

// resumeHandOver continues with an agent that waits or has the conversation without a call of the
// model.
func resumeHandOver(ctx context.Context, r *run) (ok, done bool, err error) {
	if !r.waitsWithoutCall() {
		return !r.instead && r.stays(), false, nil
	}
	s := &r.resumed.SuspendedCalls[0]
	r.info.Step++
	if err := r.nextOffer(ctx, false); err != nil {
		return true, false, err
	}
	t := r.handOver(s.Tool)
	if t == nil {
		return true, false, &engine.RunError{Stage: engine.StagePrepare, Err: errs.Errorf("%w: the agent no longer has the hand-over %q", engine.ErrResults, s.Tool)}
	}
	c := bareCall(s.ID, t, s.Args)
	if err := r.takeUp(ctx, c); err != nil {
		return true, false, &engine.RunError{Stage: engine.StagePrepare, Err: err}
	}
	var prompt []model.Part
	if r.instead {
		prompt, r.instead = r.cfg.Prompt, false
	}
	if err := r.checkArguments(ctx, c, false); err != nil {
		return true, false, err
	}
	if resume := c[0].args.Resume; resume != nil {
		resume.Prompt = prompt
	}
	r.settleGiven(c)
	if c[0].answered && prompt != nil { // by somebody: then the prompt is for this agent
		c[0].told = append(slices.Clip(c[0].told), &model.Message{Kind: model.KindRequest, Parts: prompt})
	}
	done, err = r.settleWithoutCall(ctx, c)
	return true, done, err
}

// handOverText hands over by a text. It returns a call that has been answered if the text is not valid.
func handOverText(ctx context.Context, r *run, text string, complete bool) (bool, *call, error) {
	calls := bareCall(textCall, r.cfg.Over.textCall, []byte(text))
	c := &calls[0]
	if err := r.checkArguments(ctx, calls, complete); err != nil || c.answered {
		return false, c, err
	}
	done, err := r.settleWithoutCall(ctx, calls)
	return done, nil, err
}

// bareCall makes a call of a hand-over that the model has not called: it is an output in text, or the conversation has stayed there.
//
//go:noinline
func bareCall(id string, t *engine.Tool, args []byte) []call {
	part := &model.Part{Kind: model.PartToolCall, CallID: id, Tool: t.Name, Args: args}
	return []call{{
		part: part, tool: t, args: new(engine.Call), answer: new(model.Part), bare: true,
	}}
}

// settleWithoutCall carries out a hand-over that is not a call of the model. It reports whether the run is over.
func (r *run) settleWithoutCall(ctx context.Context, calls []call) (bool, error) {
	c := &calls[0]
	err := r.tryOutput(ctx, c)
	if err == nil && c.waits == forInner {
		if err = r.pending(calls); isPending(err) {
			r.append(&model.Message{Kind: model.KindRequest, Pending: true, PendingCalls: pendingIn(err), SuspendedCalls: r.suspendedCalls(calls)})
			return false, err
		}
	}
	r.tellAll(calls)
	switch {
	case err != nil:
		return false, err
	case c.final:
		r.output, r.cut = c.output, c.cut
		return r.end(ctx)
	case c.retry(): // its arguments are no longer valid
		c.refused = &engine.Return{Result: toolset.Result{Text: c.answer.Text}, Cause: c.cause}
	}
	return false, takeBack(r, calls)
}

// tried settles a call whose agent has run.
func tried(r *run, c *call, done *engine.Done) {
	var over engine.HandOver
	if done.HandOver != nil {
		over = *done.HandOver
	}
	c.told = joinTold(c.told, over.Told)
	if r.cfg.Stream && !r.custom {
		r.showTold(over.Told)
	}
	switch {
	case done.Err != nil || done.Return.Pending != nil:
	case over.Back:
		handedBack(c, over.Reason)
	case !done.Return.Retry:
		c.reply(handedOverTo(c), model.OutcomeSuccess)
		c.finish(done.Output)
		c.cut = over.Cut
	case c.told != nil: // so that the answer to the call is not the last message
		c.reply(handedOverTo(c), model.OutcomeSuccess)
		c.refused = new(done.Return)
	}
}

// handedBack answers a call whose agent hands the conversation back.
func handedBack(c *call, why string) {
	c.note = fmt.Sprintf(textHandedBack, agentOf(c), why)
	c.executed = true
	if c.told != nil {
		c.reply(handedOverTo(c), model.OutcomeSuccess)
		return
	}
	c.reply(c.note, model.OutcomeSuccess)
	if !c.bare {
		c.note = ""
	}
}

// agentOf returns the name of the agent that a call handed over to.
//
//go:noinline
func agentOf(c *call) string {
	for i := len(c.told) - 1; i >= 0; i-- {
		if over := c.told[i].HandOver; over != nil && over.Agent != "" {
			return over.Agent
		}
	}
	return c.tool.Name
}

func handedOverTo(c *call) string { return fmt.Sprintf(textHandedOver, agentOf(c)) }

// joinTold adds what has been told to what was told before. Responses that follow one another become one.
func joinTold(before, more []*model.Message) []*model.Message {
	if len(before) == 0 || len(more) == 0 {
		return append(slices.Clip(before), more...)
	}
	last, first := before[len(before)-1], more[0]
	if last.Kind != model.KindResponse || first.Kind != model.KindResponse {
		return append(slices.Clip(before), more...)
	}
	one := *first
	one.Parts = append(slices.Clip(last.Parts), first.Parts...)
	return append(append(slices.Clone(before[:len(before)-1]), &one), more[1:]...)
}

// showTold emits text that was told in a run before, of which a journal has kept the end only.
func (r *run) showTold(told []*model.Message) {
	for _, m := range told {
		for i := range m.Parts {
			p := &m.Parts[i]
			if m.Kind != model.KindResponse || p.Kind != model.PartText {
				continue
			}
			for _, e := range []engine.Event{{Kind: engine.EventPartStart}, {Kind: engine.EventPartDelta, Text: p.Text}, {Kind: engine.EventPartEnd}} {
				e.Part, e.PartKind = i, p.Kind
				_ = r.emit(&e) // if this stops the run, the next thing it does will find out
			}
		}
	}
}

// tell appends what the agent of a call has told the user.
func tell(r *run, c *call) {
	for _, m := range c.told {
		m = r.append(m.Clone())
		if m.Kind == model.KindResponse {
			_ = r.emit(&engine.Event{Kind: engine.EventResponse, Message: m}) // if this stops the run, the next thing it does will find out
		}
	}
}

// takeBack returns to the model after agents that it handed over to have given no output. The model
// is told why, unless the result of its call already says it.
func takeBack(r *run, calls []call) error {
	var notes []model.Part
	var refused *call
	for i := range calls {
		switch c := &calls[i]; {
		case c.refused != nil:
			refused = c
		case c.note != "":
			notes = append(notes, model.User(c.note))
		case c.told != nil && c.answered: // by somebody else
			notes = append(notes, model.User(fmt.Sprintf(textLeft, agentOf(c))))
		case c.bare:
			notes = append(notes, model.User(c.answer.Text))
		}
	}
	var err error
	switch {
	case refused != nil:
		err = r.retryText(refused.refused.Text, refused.refused.Cause)
	case notes != nil:
		r.append(&model.Message{Kind: model.KindRequest, Parts: notes})
	default:
		return nil
	}
	if over := handedOver(r.messages); over != nil {
		r.own.HandOver = &model.HandOver{Agent: over.Agent, Ended: true}
	}
	return err
}

// settleHandOver ends the step in which the user has written to an agent that the run was handed over to.
func settleHandOver(ctx context.Context, r *run, calls []call, over *call, err error) (bool, error) {
	if err == nil && over.waits == forInner {
		if err = r.pending(calls); isPending(err) {
			m := r.answer(calls, false)
			m.Pending, m.PendingCalls, m.SuspendedCalls = true, pendingIn(err), r.suspendedCalls(calls)
			return false, err
		}
	}
	r.answer(calls, err != nil)
	r.tellAll(calls)
	switch {
	case err != nil:
		return false, err
	case over.final:
		r.output, r.cut = over.output, over.cut
		return r.end(ctx)
	}
	return false, takeBack(r, calls)
}
