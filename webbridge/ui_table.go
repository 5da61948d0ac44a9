// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
)

// uiTable makes the chunks of one answer of what is new of a session.
type uiTable struct {
	excerpt
	fold  *view.Fold
	send  func(*uiChunk)
	chunk uiChunk // of a text, reused
}

func newUITable(prompt string, fold *view.Fold, send func(*uiChunk)) *uiTable {
	r := &uiTable{fold: fold, send: send}
	r.excerpt = newExcerpt(prompt, r)
	return r
}

// show shows what is new. It reports whether the answer may still grow.
func (r *uiTable) show(news []view.Delta) (more bool) {
	mine := news[:0]
	for i := range news {
		if r.takes(&news[i]) {
			mine = append(mine, news[i])
		}
	}
	asked := false
	for i := range mine { // a call that has ended is shown with what was asked about it
		asked = mine[i].Kind == view.Question && r.askedAbout(mine[i].Entity) || asked
	}
	for i := range mine {
		r.one(&mine[i])
	}
	if asked {
		for _, q := range r.asked {
			if e := r.fold.Get(q.Call.ID); e != nil {
				r.call(r.part(e.ID), e)
			}
		}
	}
	return r.grows()
}

// one shows what is new of an entity.
func (r *uiTable) one(d *view.Delta) {
	p, e := r.parts[d.ID], d.Entity
	switch {
	case d.Kind == view.Message && d.Role == view.User:
		if isNew(d) && !p.announced {
			r.close()
			r.send(&uiChunk{Type: "steering-message", ID: d.ID, Parts: uiUserParts(e)})
		}
		return
	case d.Kind == view.Message, d.Kind == view.Thought:
		r.said(d)
		return
	case d.Kind == view.Notice && isNew(d) && e.Class == "error":
		r.failure = e.Title
	}
	if e = entityOf(r.fold, d); e == nil {
		return
	}
	switch name := uiDataName(d.Kind); {
	case d.Kind == view.ToolCall && d.Parent != "":
		r.data(p, e, "data-call")
	case d.Kind == view.ToolCall:
		r.call(p, e)
	case d.Kind == view.Question && e.Input != nil:
		r.data(p, e, "data-question")
	case name != "":
		r.data(p, e, name)
	}
}

// step implements [words].
func (r *uiTable) step(begin bool, _ int) {
	if begin {
		r.send(&uiChunk{Type: "start-step"})
		return
	}
	r.send(&uiChunk{Type: "finish-step"})
}

// begin implements [words]. A text that is continued later becomes another part.
func (r *uiTable) begin(p *part) {
	r.chunk.ID = p.id
	if p.pieces > 1 {
		r.chunk.ID += "~" + strconv.Itoa(p.pieces)
	}
	r.chunk.Type, r.chunk.Provider = uiTypeOf(p.kind)+"-start", uiShows(p.id)
	r.send(&r.chunk)
	r.chunk.Type, r.chunk.Provider = uiTypeOf(p.kind)+"-delta", nil
}

// more implements [words].
func (r *uiTable) more(_ *part, text string) {
	r.chunk.Delta = text
	r.send(&r.chunk)
	r.chunk.Delta = ""
}

// end implements [words].
func (r *uiTable) end(p *part) { r.send(&uiChunk{Type: uiTypeOf(p.kind) + "-end", ID: r.chunk.ID}) }

// beside implements [words].
func (r *uiTable) beside(p *part, c *view.Content, n int) {
	if made := uiFileOf(c, p.id, n); made != nil {
		r.enter(p.id)
		r.close()
		r.send(made)
	}
}

// ended implements [words].
func (r *uiTable) ended(p *part, status view.Status) {
	r.close()
	r.state(p, "data-ended", UIData{Status: status, Title: status.Ending()}, false)
}

func uiTypeOf(kind view.Kind) string {
	if kind == view.Thought {
		return "reasoning"
	}
	return "text"
}

// call shows a call of the run. A call that waits for its turn is not shown, unless a question
// about it is open: clients answer when no other call of the step is open.
func (r *uiTable) call(p *part, e *view.Entity) {
	var asked []*question
	for _, q := range r.asked {
		if q.Call.ID == e.ID {
			asked = append(asked, q)
		}
	}
	p.ended = p.ended && e.Status.Ended() // a client may say so too soon
	if p.ended || e.Status == view.Pending && len(asked) == 0 && !p.announced || e.Input == nil && !e.Status.Ended() {
		return
	}
	input := uiJsonOf(e.Input)
	if !p.announced || !bytes.Equal(input, p.data) {
		r.enter(e.ID)
		r.close()
		p.announced, p.data = true, input
		r.send(&uiChunk{Type: "tool-input-available", CallID: e.ID, Tool: cmp.Or(e.Name, "tool"), Title: e.Title, Input: input, Executed: !p.external})
	}
	r.request(p, asked)
	if !e.Status.Ended() {
		return
	}
	p.ended = true
	r.close()
	switch {
	case p.denied:
		r.send(&uiChunk{Type: "tool-output-denied", CallID: e.ID})
	case e.Status == view.Completed:
		r.send(&uiChunk{Type: "tool-output-available", CallID: e.ID, Output: uiOutputOf(e), Executed: !p.external})
	default:
		r.send(&uiChunk{Type: "tool-output-error", CallID: e.ID, ErrorText: cmp.Or(uiTextOf(e), string(e.Status)), Executed: !p.external})
	}
}

// askedAbout notes a question about a call. A tool part holds a single request, so several questions are asked one after another.
func (r *uiTable) askedAbout(e *view.Entity) bool {
	found, ok := askedIn(r.fold.Snapshot(), e)
	if !ok || found.Form {
		return false
	}
	q := r.ask(found)
	if e.Status == view.Pending && q.id != found.ID { // of another preview
		q.id, q.responded = "", false
	}
	p := r.part(found.Call.ID)
	p.external = p.external || found.External
	p.denied = p.denied || !found.Inside && e.Status == view.Completed && (e.Value == host.RejectOnce || e.Value == host.RejectAlways)
	return true
}

// request tells the client what it is asked about a call, and what became of that.
func (r *uiTable) request(p *part, all []*question) {
	shown := slices.IndexFunc(all, func(a *question) bool { _, has := p.claims[a.ID]; return has })
	for i, a := range all {
		q := a.Question
		if a.External || a.responded {
			continue
		}
		if i < shown && q.Status != view.Pending { // the client is beyond it
			a.responded = true
			continue
		}
		if r.answered[q] {
			return
		}
		pending := q.Status == view.Pending
		if !pending && q.Status != view.Completed {
			a.responded = true
			continue
		}
		said, has := p.claims[a.ID]
		if a.id == "" && has && (said == nil || !pending) { // the client has it, and knows nothing else
			a.id = a.ID
		}
		if a.id == "" {
			a.id = a.ID
			r.close()
			r.send(&uiChunk{Type: "tool-approval-request", CallID: p.id, ApprovalID: a.id, Descriptor: &UIApproval{
				Question: q.ID, Digest: q.Digest, Choices: q.Choices, Tool: q.Name, Title: q.Title, Preview: q.Content,
			}})
		}
		if pending {
			return // the others come after this one
		}
		a.responded = true
		approved := strings.HasPrefix(q.Value, "allow_")
		if said == nil || *said != approved {
			r.send(&uiChunk{Type: "tool-approval-response", ApprovalID: a.id, Approved: &approved})
		}
	}
}

// claim notes what the client shows of the answer already.
func (r *uiTable) claim(parts []uiClaimed) {
	for i := range parts {
		c := &parts[i]
		var made uiProvider
		_ = json.Unmarshal(c.Provider, &made) // of another program, or forged
		id := made.Ponte.Entity
		switch {
		case c.CallID != "":
			p := r.part(c.CallID)
			p.announced, p.data = true, uiJsonOf(c.Input)
			p.ended = strings.HasPrefix(c.State, "output-")
			if c.Approval != nil {
				p.claims = map[string]*bool{c.Approval.ID: c.Approval.Approved}
			}
			r.begun(c.CallID)
		case c.Type == "text" && id != "", c.Type == "reasoning" && id != "":
			p := r.part(id)
			p.hasText += len(c.Text)
			p.pieces++
			r.begun(id)
		case c.Type == "file" && id != "", strings.HasPrefix(c.Type, "source-") && id != "":
			r.part(id).hasMedia++
			r.begun(id)
		case c.Type == "steering-message":
			r.part(c.ID).announced = true
		case strings.HasPrefix(c.Type, "data-") && c.ID != "":
			r.part(c.ID).data = uiJsonOf(c.Data)
		}
	}
}

// begun notes that the client has the step of an entity.
func (r *uiTable) begun(id string) {
	if step := stepOf(id); step != "" {
		r.steps[step], r.inStep = true, true
	}
}
