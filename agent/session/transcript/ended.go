// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
)

// How a turn ended that has not given a whole answer is the status of its answer: of the message that the model was
// writing, or of one without content if it was not writing any. It follows from the reason of the end and from the
// messages, so it is not recorded.

// endingOf returns the status of the answer of a turn, which is empty for a whole answer and for a turn that waits.
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
	answer := &view.Entity{ID: "ended:" + escape(p.run), Kind: view.Message, Role: view.Assistant}
	p.mu.Lock()
	last := p.lastOf
	p.mu.Unlock()
	if isAnswerText(last) {
		if e := p.fold.Get(last); e != nil {
			answer = new(*e)
		}
	}
	answer.Status = status
	p.upsert(answer)
}

// appears notes that an entity is shown for the first time. mu is held.
func (p *Transcript) appears(e *view.Entity) {
	p.last = e.ID
	if e.Kind == view.Thought || e.Kind == view.ToolCall || isAnswerText(e.ID) {
		p.lastOf = e.ID
	}
}

// isAnswerText reports whether an entity is the text of a response: see [MessageID].
func isAnswerText(id string) bool { return strings.HasPrefix(id, "message:") }
