// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/elicit"
	"github.com/ponte-go/ponte/toolset"
)

// AnswerError says why an answer was refused. The question stays open.
type AnswerError struct {
	// Question is the id of the question.
	Question string
	// Problem describes the error and how to fix it. It names the field of a form.
	Problem string
}

// Error implements error.
func (e *AnswerError) Error() string {
	return fmt.Sprintf("host: the answer to the question %q is not valid: %s", e.Question, e.Problem)
}

// match returns the open question that an answer is for, and the answer with choices turned into
// decisions.
func (s *Session) match(ctx context.Context, id, by string, a Answer) (*question, Answer, error) {
	if set := a.count(); set != 1 {
		return nil, Answer{}, &AnswerError{id, fmt.Sprintf(
			"it has %d of Choice, Decision, Reply and Result: set exactly one", set,
		)}
	}
	s.mu.Lock()
	q := s.questions[id]
	s.mu.Unlock()
	if q == nil {
		var err error
		if q, err = s.followed(ctx, id); err != nil {
			return nil, Answer{}, &AnswerError{id, "answer where it is asked: " + err.Error()}
		}
	}
	switch {
	case q == nil:
		return nil, Answer{}, fmt.Errorf("%w: %q", ErrNoQuestion, id)
	case a.Digest == "":
		return nil, Answer{}, &AnswerError{id, "the digest is missing: send the digest of the question as it was shown"}
	case a.Digest != q.entity.Digest:
		return nil, Answer{}, fmt.Errorf("%w: %q", ErrChanged, id)
	}
	a, err := q.resolve(a, cmp.Or(by, transcript.ByUser))
	return q, a, err
}

// count returns how many ways to answer are set.
func (a *Answer) count() (set int) {
	for _, is := range [...]bool{a.Choice != "", a.Decision != nil, a.Reply != nil, a.Result != nil} {
		if is {
			set++
		}
	}
	return set
}

// resolve makes a decision of a choice, and checks that the answer fits.
func (q *question) resolve(a Answer, by string) (Answer, error) {
	wrong := func(format string, args ...any) (Answer, error) {
		return Answer{}, &AnswerError{q.entity.ID, fmt.Sprintf(format, args...)}
	}
	switch {
	case a.Choice != "":
		i := slices.IndexFunc(q.offers, func(c approval.Choice) bool { return c.ID == a.Choice })
		if i < 0 {
			return wrong("unknown choice %q: use one of %q", a.Choice, choiceIDs(q.entity.Choices))
		}
		d := q.offers[i].Decision
		if d.By = by; d.Verdict == toolset.VerdictDeny {
			d.Reason = "The user rejected this. The tool was not run. Do not try to do the same in another way; ask what to do instead."
		}
		return Answer{Decision: &d, Choice: a.Choice}, nil
	case a.Decision != nil:
		switch d := a.Decision; {
		case q.form != nil:
			return wrong("a tool asks for input: use a reply")
		case d.Verdict == toolset.VerdictAllow && q.call != nil && q.call.Approval == nil:
			return wrong("the call waits for a result from outside: give the result, or deny the call")
		case d.Verdict != toolset.VerdictAllow && d.Verdict != toolset.VerdictDeny:
			return wrong("the verdict is %q: use %q or %q", d.Verdict, toolset.VerdictAllow, toolset.VerdictDeny)
		case len(d.Args) > 0 && !isObject(d.Args):
			return wrong("the changed arguments are not a JSON object")
		}
		d := *a.Decision
		d.By = cmp.Or(d.By, by)
		d.Always = d.Always && q.always
		d.Lasting = d.Lasting && d.Always && q.lasting
		return Answer{Decision: &d}, nil
	case a.Reply != nil:
		if q.form == nil {
			return wrong("the question does not ask for input: use a choice or a decision")
		}
		reply, err := elicit.Reply(q.form, *a.Reply)
		if err != nil {
			return wrong("%v", err)
		}
		return Answer{Reply: &reply}, nil
	case q.follows: // it is checked where the call waits
	case q.call == nil || q.call.Approval != nil:
		return wrong("the call does not wait for a result: use a choice or a decision")
	}
	return a, nil
}

func choiceIDs(all []view.Choice) []string {
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	return ids
}

func isObject(data []byte) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(data, &fields) == nil && fields != nil
}

// subject is the subject of a question: its own id, the call, and the text for the person.
type subject struct {
	ID       string          `json:"id"`
	Path     []string        `json:"path"`
	Tool     string          `json:"tool"`
	Args     json.RawMessage `json:"args,omitempty"`
	Approval *model.Approval `json:"approval,omitempty"`
	Invalid  string          `json:"invalid,omitempty"`
	Message  string          `json:"message,omitempty"`
	Schema   json.RawMessage `json:"schema,omitempty"`
	URL      string          `json:"url,omitempty"`
}

// digest returns the SHA-256 of the subject's canonical JSON, in hex. Members are sorted by name,
// without white space.
func (s subject) digest() string {
	s.Args, s.Schema = valid(s.Args), valid(s.Schema)
	if s.Approval != nil {
		a := *s.Approval
		a.Meta = valid(a.Meta)
		s.Approval = &a
	}
	data, _ := json.Marshal(s) // every field has a JSON form
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var canonical map[string]any
	_ = d.Decode(&canonical) // it was encoded here
	data, _ = json.Marshal(canonical)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// valid returns JSON, or a string of what is not JSON. It is nil if there is nothing.
func valid(data json.RawMessage) json.RawMessage {
	if len(data) == 0 || json.Valid(data) {
		return append(json.RawMessage(nil), data...)
	}
	quoted, _ := json.Marshal(string(data)) // a string always has a JSON form
	return quoted
}
