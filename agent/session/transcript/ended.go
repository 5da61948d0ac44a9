// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
)

// How a turn ended that has not given a whole answer is the status of its answer: of the message
// that the model was writing, or of one without content if it was not writing any. It follows from
// the reason of the end and from the messages, so it is not recorded.

// endingOf returns the status of the answer of a turn, which is empty for a whole answer and for a
// turn that waits.
func endingOf(reason string, finish model.FinishReason) view.Status {
	switch reason {
	case Cancelled:
		return view.Stopped
	case Interrupted:
		return view.Interrupted
	case Pending:
		return ""
	}
	switch {
	case finish == model.FinishLength, finish == model.FinishContentFilter && reason == Done:
		return view.CutOff
	case reason == Done:
		return ""
	}
	return view.Failed
}

// ended shows how a turn with entries has ended.
func (p *Transcript) ended(reason string) {
	status := endingOf(reason, p.finish)
	if status == "" {
		return
	}
	answer := &view.Entity{ID: endedID(p.run), Kind: view.Message, Role: view.Assistant}
	if e := p.answer(); e != nil {
		answer = new(*e)
	}
	if answer.Status != "" || p.isThere(answer.ID) && answer.Content == nil { // it is recorded
		return
	}
	answer.Status = status
	if p.message.added || p.finishedInside { // of another agent, in no message
		p.add(answer)
		return
	}
	p.upsert(answer)
}

// Said shows what the messages that a turn ends with have of an answer that was cut off: the run
// may have ended before it told of all of it. Call it before Stop. [Turn.Finish] calls both.
func (p *Transcript) Said(messages []*model.Message) {
	n := len(messages)
	if n == 0 || messages[n-1].Kind != model.KindResponse || !messages[n-1].Interrupted || messages[n-1].RunID != p.run {
		return
	}
	told := p.responses // of which the run has told
	for _, m := range messages {
		if m.Kind == model.KindResponse && m.RunID == p.run && m.HandOver == nil {
			told--
		}
	}
	if told >= 0 && messages[n-1].HandOver == nil || messages[n-1].HandOver != nil && p.handed {
		return
	}
	if p.answered == p.step {
		p.newStep(p.run, p.step+1)
	}
	shown := ""
	if e := p.fold.Get(p.message.id); e != nil {
		shown = e.Text()
	}
	rest, _ := strings.CutPrefix(messages[n-1].Text(), shown)
	p.say(&p.message, rest)
}

// withoutResults notes which calls of the last response have no result in the messages that a turn
// ends with, although the run has reported one: after an interrupted step, the messages have the
// results that tools have returned. The shown results are recorded then.
func (p *Transcript) withoutResults(messages []*model.Message, reason string) {
	if reason != Cancelled && reason != Failed {
		return
	}
	results := map[string]bool{}
	for _, m := range slices.Backward(messages) {
		if m.HasToolCalls() {
			break
		}
		for i := range m.Parts {
			if isResult(&m.Parts[i]) {
				results[m.Parts[i].CallID] = true
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, entity := range p.latest {
		if c := p.calls[entity]; c != nil && c.base != nil && !results[id] {
			c.base.Status, c.base.Content = view.Running, nil
			ed := failed(whyUnfinished(reason), false)
			ed.apply(c.base, nil)
			p.records.touch(entity)
		}
	}
}

// answer returns the text that the model was writing when the turn ended, nil if it was not writing
// any: then it was thinking, or its calls were running.
func (p *Transcript) answer() *view.Entity {
	var last *view.Entity
	for e := range p.fold.Snapshot().All() {
		switch {
		case e.ID == PromptID(p.run):
			last = nil
		case e.Kind == view.Thought, e.Kind == view.ToolCall, strings.HasPrefix(e.ID, "message:"):
			last = e
		}
	}
	if last != nil && strings.HasPrefix(last.ID, "message:"+escape(p.run)) {
		return last
	}
	return nil
}

// endedID returns the id of the answer of a turn in which the model was not writing one.
func endedID(run string) string { return "ended:" + escape(run) }

// withdraw takes back what was shown of a response that the model is asked for again.
func (p *Transcript) withdraw(step int) {
	p.hide(MessageID(p.run, step))
	p.hide(ThoughtID(p.run, step))
	p.newStep(p.run, step)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = ""
	for e := range p.fold.Snapshot().All() {
		if e.Kind != view.Usage { // which goes with the response that it comes from
			p.last = e.ID
		}
	}
}

// unend takes back what was shown of the end of a turn that goes on.
func (p *Transcript) unend(run string) {
	p.Hide(endedID(run))
	for e := range p.fold.Snapshot().All() {
		if e.Kind == view.Message && e.Status == view.Interrupted && strings.HasPrefix(e.ID, "message:"+escape(run)+"/") {
			whole := *e
			whole.Status = ""
			p.upsert(&whole)
		}
	}
}
