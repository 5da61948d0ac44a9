// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
)

// givenKey is the key of the entry that says which answers to pending calls a turn was started
// with. It is in the same batch as the first entry of the turn. What was answered is not enough to
// know that: a turn may have begun without an answer, and another one may come later.
const givenKey = "given"

// given is the data of that entry.
type given struct {
	turn    string
	Answers agent.DeferredResults `json:"answers"`
	// Pending is the request with the pending calls if it is not the one that the history has:
	// calls that may have run are marked in it.
	Pending *model.Message `json:"pending,omitempty"`
}

func isGiven(e *session.Entry) bool { return e.Kind == session.KindValue && e.Key == givenKey }

// readGiven reads the entry. What it cannot read counts as if it were not there.
func readGiven(e *session.Entry) *given {
	var b struct {
		Given *given `json:"given"`
	}
	if json.Unmarshal(e.Data, &b) != nil || b.Given == nil {
		return nil
	}
	b.Given.turn = e.Run
	return b.Given
}

// decision returns the decision about a call with which the turn was started, nil if there is none.
func (g *given) decision(call string) *model.Decision {
	if d, ok := g.Answers.Decisions[model.PendingCall{ID: call}.Key()]; ok {
		return &d
	}
	return nil
}

// apply has the history be the one that the turn has begun with.
func (g *given) apply(h *history) {
	h.answers = agent.DeferredResults{
		Decisions: maps.Clone(g.Answers.Decisions), Results: maps.Clone(g.Answers.Results),
	}
	if n := len(h.Messages); n > 0 && g.Pending != nil && h.Messages[n-1].Pending {
		h.Messages, h.marked = append(h.Messages[:n-1:n-1], g.Pending), g.Pending
	}
}

// give notes which answers the turn is started with. Its first entry records them.
func (t *Turn) give(answers *agent.DeferredResults) error {
	h := t.c.h
	if answers == nil {
		return nil
	}
	t.answers = *answers
	if len(agent.PendingCalls(h.Messages)) == 0 {
		return nil
	}
	g := given{Answers: *answers}
	if last := h.Messages[len(h.Messages)-1]; last == h.marked {
		g.Pending = last
	}
	data, err := marshal(map[string]any{"given": g})
	if err != nil {
		return fmt.Errorf("transcript: begin: %w", err)
	}
	t.given = &session.Entry{Kind: session.KindValue, Time: now(), Run: t.id, Key: givenKey, Data: data}
	return nil
}

// takeGiven returns the entry if it has to be recorded.
func (t *Turn) takeGiven() (entries []session.Entry) {
	if t.given != nil {
		entries = append(entries, *t.given)
		t.given = nil
	}
	return entries
}
