// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// run is the turn itself. The session is awake.
func (t *Turn) run(p *Prompt, o *Outcome) {
	s, c := t.session, t.c
	if t.item != nil {
		t.id = t.item.ID
	}
	t.id, t.show = cmp.Or(t.id, rand.Text()), p.Show
	t.known(t.id)
	c.Start(t.id)
	if p.Began != nil {
		p.Began(t)
	}
	t.news()
	parts, shown, more := p.Parts, p.Shown, true
	var err error
	if len(parts) > 0 && !p.Plain && s.isCommand(parts) {
		if known, _ := s.program(parts[0].Text); known == nil || !known.prompts {
			err = t.consume() // it may have no prompt
		}
	}
	if err == nil && len(parts) > 0 {
		if parts, shown, more, err = s.command(t, p); err == nil && !more {
			err = t.consume()
		}
	}
	if err == nil && more {
		if p.More != nil {
			if shown == nil {
				shown = transcript.Contents(parts)
			}
			parts = append(slices.Clip(parts), p.More(t)...)
		}
		if notes := s.untold(); len(parts) > 0 && len(notes) > 0 {
			if shown == nil {
				shown = transcript.Contents(parts)
			}
			parts = append(slices.Clip(parts), notes...)
		}
		t.perform(p, o, parts, shown)
	} else {
		o.Reason, o.Err = reasonOf(t.ctx, err), err
		t.conclude(p, o)
	}
	if errors.Is(o.Err, ErrMoved) {
		return
	}
	if err := c.Keep(context.WithoutCancel(t.ctx)); err != nil {
		s.logError("entities that were shown are not recorded", err)
	}
}

// conclude shows how the turn ended.
func (t *Turn) conclude(p *Prompt, o *Outcome) {
	o.Unread = t.closeInbox()
	o.Failure = t.session.host.ErrorText(o.Err)
	t.session.logFailure(t, o)
	t.news()
	notice := ""
	if p.Ending != nil {
		notice = p.Ending(t, o)
	}
	t.c.Stop(o.Reason)
	if notice != "" {
		t.c.Notice("warning", notice)
	}
	t.shown()
}

// perform runs the agent and records the turn.
func (t *Turn) perform(p *Prompt, o *Outcome, parts []model.Part, shown []view.Content) {
	s, c := t.session, t.c
	if p.resume && !s.allAnswered() { // another turn has taken the answers
		o.Reason, t.resumes = transcript.Done, false
		t.conclude(p, o)
		return
	}
	in, err := t.input(p)
	var checked *agent.Input
	if err == nil {
		checked, err = s.instance.input(t.ctx, in, parts)
	}
	if err != nil {
		t.refuse(p, o, err)
		return
	}
	if !reflect.DeepEqual(checked.Parts, parts) { // what was typed must not be seen
		parts, shown = checked.Parts, nil
	}
	t.resumes = false
	answers := s.takeResults(c)
	s.unended.Store(true)
	now, err := c.BeginAs(t.ctx, transcript.Prompt{
		Turn: t.id, Parts: parts, Shown: shown, Consumed: t.consumed(), Answers: answers,
	})
	if errors.Is(err, errLeft) && (t.item != nil || p.resume || t.unwritten() == nil) {
		t.leaveOff(o, fmt.Errorf("%w: %w", errDoubt, err))
		return
	}
	if why := t.unwritten(); why != nil {
		err = fmt.Errorf("host: the prompt is not recorded: %w", why)
		o.Reason, o.Err = transcript.Failed, err
		t.conclude(p, o)
		s.unended.Store(false)
		s.drop(c)
		return
	}
	if err != nil {
		o.Reason, o.Err = reasonOf(t.ctx, err), err
		t.conclude(p, o)
		if t.left = c.Settle(context.WithoutCancel(t.ctx)) != nil; !t.left {
			s.unended.Store(false)
		}
		s.drop(c)
		return
	}
	if o.Turn = t.id; t.item != nil {
		t.item = nil
		s.showWaiting(t.ctx, c)
	}
	if files := s.instance.files(); files != nil {
		files.Mark(t.id, titleOf(parts))
	}
	if len(parts) > 0 {
		s.told(t.ctx, c, t.id)
		t.shown()
		if o.Titled, err = s.nameAfter(t.ctx, c, parts); err != nil {
			s.logError("the session has no title", err)
		}
	}
	t.finish(p, o, now, in, checked)
}

// finish runs the agent, and records how the turn has ended.
func (t *Turn) finish(p *Prompt, o *Outcome, now *transcript.Turn, in *runInput, checked *agent.Input) {
	s, c := t.session, t.c
	s.recording.Store(now)
	c.SetWindow(s.window())
	before := c.Messages()
	history, err := t.runAgent(now, p, in, checked)
	s.recording.Store(nil)
	if cause := context.Cause(t.ctx); err != nil && errors.Is(cause, ErrMoved) {
		t.leaveOff(o, cause)
		return
	}
	o.Err, o.Finish, o.Reason = err, c.Finish(), reasonOf(t.ctx, err)
	ctx := context.WithoutCancel(t.ctx)
	if history == nil || o.Reason == transcript.Refused {
		n := slices.IndexFunc(history, func(m *model.Message) bool {
			return m.RunID == t.id && !isSummary(m)
		})
		if n > 0 && history[n-1].HasToolCalls() && len(agent.PendingCalls(before)) > 0 {
			before = history[:n+1] // of calls that waited, which cannot be taken back
		}
		history = before
		s.addNote(ctx, c, []string{t.id}, "") // the prompt is gone, and the notes with it
	}
	c.Said(history)
	t.conclude(p, o)
	if o.Reason == transcript.Pending {
		s.asking.Add(1)
		defer s.asking.Add(-1)
		s.expect(c, history)
	}
	err = now.Finish(ctx, history, o.Reason)
	if t.left = err != nil; !t.left {
		s.unended.Store(false)
	}
	if errors.Is(err, errLeft) {
		t.leaveOff(o, err)
		return
	}
	if err := errors.Join(err, s.saveRules(ctx, c.w)); err != nil {
		s.logError("the end of a turn is not recorded", err)
		if o.Reason != transcript.Failed && o.Reason != transcript.Cancelled {
			o.Err, o.Reason, o.Failure = err, transcript.Failed, ""
		}
		s.drop(c)
		return
	}
	s.touch(c)
	s.ask(c, true)
}

// unwritten returns why the prompt with which the turn was left is certainly not in the store.
func (t *Turn) unwritten() error {
	if p, ok := t.c.w.Store().(*patient); ok && p.left.Load() {
		return p.unwritten
	}
	return nil
}

// leaveOff leaves the turn without an end. It is resumed later, here or elsewhere.
func (t *Turn) leaveOff(o *Outcome, cause error) {
	o.Err, o.Reason, o.Failure = cause, transcript.Interrupted, ""
	o.Unread = t.closeInbox()
	t.session.logFailure(t, o)
	if p, ok := t.c.w.Store().(*patient); ok { // nothing that is shown of its end is recorded
		p.left.Store(true)
	}
	t.left = t.session.host.away
	if c := context.Cause(t.ctx); c != nil && !errors.Is(c, ErrMoved) && !errors.Is(c, ErrClosed) {
		t.session.stopped.Store(&t.id)
	} else {
		t.left = true
	}
	t.session.drop(t.c)
}

// input returns what the run of a turn is given, without what it continues.
func (t *Turn) input(p *Prompt) (*runInput, error) {
	s := t.session
	layers, err := s.instance.layers()
	if err != nil {
		return nil, err
	}
	if k := s.keeper(); k != nil {
		layers = append(slices.Clip(layers), approval.Kept(k))
	}
	asker := s.keeping(t.c, approval.Logged(
		approval.Layered(approval.Remember(&s.policy, s.moded(s.asker(t, p))), layers...),
		s.host.log,
	))
	in := &runInput{
		prompt: p, before: append([]agent.RunOption{agent.WithAsker(asker)}, s.options()...),
		keep: s.keeps(),
	}
	in.before = append(in.before, p.Options...)
	return in, nil
}

// keeping stores what a decision has made a rule before the call runs.
func (s *Session) keeping(c *conversation, next toolset.Asker) toolset.Asker {
	return toolset.AskerFuncs{OnAnswer: next.Answer, OnApprove: func(ctx context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		d, err := next.Approve(ctx, r)
		if err == nil && d.Always {
			s.keepRules(ctx, c)
		}
		return d, err
	}}
}

// refuse ends a turn whose prompt was not accepted. Nothing of the prompt is recorded.
func (t *Turn) refuse(p *Prompt, o *Outcome, err error) {
	if err := t.consume(); err != nil {
		t.session.logError("a prompt that was refused stays in the inbox", err)
	}
	o.Reason, o.Err = reasonOf(t.ctx, err), err
	t.conclude(p, o)
}

// runAgent runs the agent once.
func (t *Turn) runAgent(
	now *transcript.Turn, p *Prompt, in *runInput, checked *agent.Input,
) ([]*model.Message, error) {
	s, c := t.session, t.c
	in.options = now.Options()
	if !s.host.durable {
		in.options = append(in.options, agent.WithJournal(nil))
	}
	in.options = append(in.options, agent.WithInput(checked), agent.WithInbox(t.openInbox()))
	return s.instance.run(t.ctx, in, func(e *agent.Event) {
		if s.host.durable {
			now.Observe(e)
		} else {
			c.Event(e)
		}
		if p.Observe != nil {
			p.Observe(e)
		}
		t.shown()
	})
}

// touch notes that the session has changed.
func (s *Session) touch(c *conversation) {
	info, err := s.host.store.Get(context.Background(), s.id)
	if err != nil {
		return
	}
	s.know(&info)
	s.showInfo(c)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
