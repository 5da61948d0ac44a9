// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
)

// uiAsked is a question about a call. A tool part holds a single request, so several questions are
// asked one after another.
type uiAsked struct {
	Asked
	id        string // of the request, as it was sent
	responded bool
}

// waits reports whether a run waits for the answer. A run that is pending has ended.
func (a *uiAsked) waits() bool {
	return !a.External && a.Question.Status == view.Pending && !strings.Contains(a.Question.ID, "/pending/")
}

// ask notes a question about a call.
func (r *uiRenderer) ask(s *view.Snapshot, e *view.Entity) bool {
	if p := r.known(e); p.entity == e {
		return false
	}
	found, ok := AskedIn(s, e)
	if !ok || found.Form {
		return false
	}
	all := r.asked[found.Call.ID]
	i := slices.IndexFunc(all, func(a *uiAsked) bool { return a.Question.ID == e.ID })
	if i < 0 {
		if all == nil {
			r.calls = append(r.calls, found.Call.ID)
		}
		all = append(all, &uiAsked{Asked: found})
		r.asked[found.Call.ID] = all
		i = len(all) - 1
	}
	a := all[i]
	if a.Asked = found; e.Status == view.Pending && a.id != found.ID { // of another preview
		a.id, a.responded = "", false
	}
	p := r.known(found.Call)
	p.external = p.external || found.External
	p.denied = p.denied || !found.Inside && e.Status == view.Completed && (e.Value == host.RejectOnce || e.Value == host.RejectAlways)
	return true
}

// request tells the client what it is asked about a call, and what became of that.
func (r *uiRenderer) request(p *uiEntity, all []*uiAsked) {
	for _, a := range all {
		q := a.Question
		if a.External || a.responded {
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
		approved := q.Value == host.AllowOnce || q.Value == host.AllowAlways
		if said == nil || *said != approved {
			r.send(&uiChunk{Type: "tool-approval-response", ApprovalID: a.id, Approved: &approved})
		}
	}
}

// asks reports whether a request waits for the client.
func (r *uiRenderer) asks() bool {
	for _, all := range r.asked {
		for _, a := range all {
			if a.Question.Status == view.Pending && !r.answered[a.Question] {
				return true
			}
		}
	}
	return false
}
