// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"context"
	"strings"

	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

// asked is a question about a tool call, for a [Protocol] that has its own form of approvals.
type asked struct {
	// ID is the digest of the question: see [view.Entity]. If anything that it shows changes, so
	// does the ID. An answer to another ID has no effect.
	ID string
	// Question is the entity of the question. Call is the entity of the run's own call: the
	// question may be about it, or about a call of an agent inside it.
	Question, Call *view.Entity
	// Inside is set if it is about a call of an agent inside.
	Inside bool
	// External is set if the call waits for a result from outside, not for approval.
	External bool
	// Form is set if a tool asks for input, which Question.Input describes as a JSON schema.
	Form bool
}

// askedIn returns what a question of a snapshot is about. ok is false if the snapshot does not have its call.
func askedIn(s *view.Snapshot, q *view.Entity) (a asked, ok bool) {
	call, inside := callOf(s, q)
	if call == nil {
		return asked{}, false
	}
	a = asked{ID: q.Digest, Question: q, Call: call, Inside: inside, Form: q.Input != nil}
	a.External = !a.Form && len(q.Choices) == 0
	return a, true
}

// Open returns the questions of the session that wait for an answer, in their order.
func (s *openSession) Open(ctx context.Context) ([]asked, error) {
	snapshot, _, err := s.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	var all []asked
	for q := range snapshot.Of(view.Question) {
		if a, ok := askedIn(snapshot, q); ok && q.Status == view.Pending {
			all = append(all, a)
		}
	}
	return all, nil
}

// callOf returns the run's own call that a question is about, nil if it is not known. inside is set
// if it is about a call of an agent inside that call.
func callOf(s *view.Snapshot, q *view.Entity) (call *view.Entity, inside bool) {
	e := s.Get(q.Parent)
	for depth := 0; e != nil && e.Parent != "" && depth < 100; depth++ {
		e, inside = s.Get(e.Parent), true
	}
	if e == nil || e.Kind != view.ToolCall {
		return nil, false
	}
	return e, inside
}

// stepOf returns what the ids of the entities of one response have in common, such as "RUN/STEP".
// It is empty for ids of other entities.
func stepOf(id string) string {
	kind, rest, _ := strings.Cut(id, ":")
	switch kind {
	case "message", "thought", "call", "output":
	default:
		return ""
	}
	run, rest, ok := strings.Cut(rest, "/")
	if !ok {
		return ""
	}
	step, _, _ := strings.Cut(rest, "/")
	return run + "/" + step
}

// promptPrefix is the prefix of the ids of prompts.
var promptPrefix = transcript.PromptID("")

// isPrompt reports whether an entity is the prompt of a turn.
func isPrompt(e *view.Entity) bool {
	return e.Kind == view.Message && e.Role == view.User && strings.HasPrefix(e.ID, promptPrefix)
}

// exchange is a prompt, and what was shown after it, including turns that resume its pending run.
type exchange struct {
	// Prompt is nil for what was shown before the first prompt.
	Prompt *view.Entity
	Answer []*view.Entity
}

// exchangesOf returns the exchanges of a snapshot, in order.
func exchangesOf(s *view.Snapshot) []exchange {
	all := []exchange{{}}
	for e := range s.All() {
		if isPrompt(e) {
			all = append(all, exchange{Prompt: e})
			continue
		}
		last := &all[len(all)-1]
		last.Answer = append(last.Answer, e)
	}
	return all
}
