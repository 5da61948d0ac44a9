// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/view"
)

// excerpt selects the answer to a prompt from what a session shows. Every protocol of streamed answers has one. It keeps
// the steps of the answer, the text that is being written, and the questions about the calls.
type excerpt struct {
	words  words
	prompt string // whose answer it is; "" for what is before the first one
	in     bool   // the answer has begun
	over   bool   // a later prompt is there
	parts  map[string]*part
	steps  map[string]bool // that have begun
	inStep bool
	open   *part // the text or reasoning that is being written
	asked  []*question
	// answered are questions that this request has answered, as they were then.
	answered map[*view.Entity]bool
	failure  string // what has gone wrong
}

// words are what a protocol says of messages and thoughts.
type words interface {
	// begin, more and end write a text or reasoning. One that is continued later begins again.
	begin(p *part)
	more(p *part, text string)
	end(p *part)
	// beside shows the content number n of a message that is not text, and ended why it is not whole.
	beside(p *part, c *view.Content, n int)
	ended(p *part, status view.Status)
	// step begins or ends the step with a number.
	step(begin bool, n int)
}

// part holds the client's knowledge of an entity.
type part struct {
	id     string
	kind   view.Kind
	role   view.Role
	pieces int    // parts that the text has become
	media  int    // contents beside text
	data   []byte // as it was sent: the input of a call, or state

	taken                              bool // it belongs to the answer
	announced, denied, external, ended bool

	// hasText, hasMedia and claims come from a client that already had a part of the answer: bytes of text, contents beside
	// it, and approvals with their answers.
	hasText, hasMedia int
	claims            map[string]*bool
}

// question is a question about a call.
type question struct {
	asked
	id        string // of the request, as it was sent
	responded bool
}

func newExcerpt(prompt string, w words) excerpt {
	return excerpt{words: w, prompt: prompt, in: prompt == "", parts: map[string]*part{}, steps: map[string]bool{}}
}

// takes reports whether a delta is shown: of what belongs to the answer, or to no answer in particular.
func (x *excerpt) takes(d *view.Delta) bool {
	switch {
	case d.Op == view.Remove:
		return false
	case isNew(d) && isPrompt(d.Entity):
		x.over = x.over || x.in
		x.in = x.in || d.ID == x.prompt
		return false
	case ofSession(d.Kind):
	case isNew(d) && (!x.in || x.over), !isNew(d) && (x.parts[d.ID] == nil || !x.parts[d.ID].taken):
		return false
	}
	p := x.part(d.ID)
	p.kind, p.role, p.taken = d.Kind, d.Role, true
	return true
}

// ofSession reports whether entities of a kind belong to no answer in particular.
func ofSession(k view.Kind) bool { return k == view.Session || k == view.Usage || k == view.Plan }

func (x *excerpt) part(id string) *part {
	p := x.parts[id]
	if p == nil {
		p = &part{id: id}
		x.parts[id] = p
	}
	return p
}

// isNew reports whether the client is told of an entity for the first time.
func isNew(d *view.Delta) bool { return d.Op == view.Upsert && d.Known == nil }

// said shows new content of a message or a thought. Content that was shown cannot be removed.
func (x *excerpt) said(d *view.Delta) {
	p, more := x.parts[d.ID], d.Content
	if isNew(d) {
		more = d.Entity.Content
	}
	x.text(p, d.Text)
	for i := range more {
		c := &more[i]
		if c.Kind == view.Text {
			x.text(p, c.Text)
			continue
		}
		if p.media++; p.media > p.hasMedia {
			x.words.beside(p, c, p.media)
		}
	}
	if d.Entity != nil && d.Entity.Status.Ending() != "" {
		x.words.ended(p, d.Entity.Status)
	}
}

// text shows a piece of a text, without what the client has already.
func (x *excerpt) text(p *part, text string) {
	has := min(p.hasText, len(text))
	p.hasText -= has
	if text = text[has:]; text == "" {
		return
	}
	if x.open != p {
		x.enter(p.id)
		x.close()
		x.open = p
		p.pieces++
		x.words.begin(p)
	}
	x.words.more(p, text)
}

// close ends the text or reasoning that is being written.
func (x *excerpt) close() {
	if p := x.open; p != nil {
		x.open = nil
		x.words.end(p)
	}
}

// enter begins the step that an entity belongs to, if it is a new one.
func (x *excerpt) enter(id string) {
	step := stepOf(id)
	if step == "" || x.steps[step] {
		return
	}
	x.leave()
	x.steps[step], x.inStep = true, true
	x.words.step(true, len(x.steps))
}

// leave ends the step.
func (x *excerpt) leave() {
	x.close()
	if x.inStep {
		x.inStep = false
		x.words.step(false, len(x.steps))
	}
}

// ask notes a question about a call.
func (x *excerpt) ask(a asked) *question {
	i := slices.IndexFunc(x.asked, func(q *question) bool { return q.Question.ID == a.Question.ID })
	if i < 0 {
		x.asked = append(x.asked, new(question))
		i = len(x.asked) - 1
	}
	x.asked[i].asked = a
	return x.asked[i]
}

// waiting returns the questions that wait for an answer of the client.
func (x *excerpt) waiting() (all []*question) {
	for _, q := range x.asked {
		if q.Question.Status == view.Pending && !x.answered[q.Question] {
			all = append(all, q)
		}
	}
	return all
}

// grows reports whether the answer may still grow: no later prompt has arrived, and the run does not wait for an answer. A
// run that is pending has ended.
func (x *excerpt) grows() bool {
	return !x.over && !slices.ContainsFunc(x.waiting(), func(q *question) bool { return !strings.Contains(q.Question.ID, "/pending/") })
}

// entityOf returns the entity of a delta as it is now, nil if it is gone.
func entityOf(f *view.Fold, d *view.Delta) *view.Entity {
	if d.Entity != nil {
		return d.Entity
	}
	return f.Get(d.ID)
}

// tail returns the end of the output of a command that is sent while it runs: it is sent whole with each change.
func tail(text string) string {
	const most = 4 << 10 // bytes
	if len(text) > most {
		return strings.ToValidUTF8(text[len(text)-most:], "")
	}
	return text
}
