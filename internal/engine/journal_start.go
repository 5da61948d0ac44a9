// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/loop"
)

// recordVersion is the version of the records that this package writes. It reads all versions up to this one.
const recordVersion = 1

// start has the parameters of a run that must be the same when the run resumes.
type start struct {
	Version int    `json:"v"`
	Run     string `json:"run"`
	Agent   string `json:"agent,omitempty"`
	// Conversation is the id that the caller gave the conversation.
	Conversation string `json:"conversation,omitempty"`
	// Prompt, Last and Results are hashes of the prompt, of the history's last message, and of the results of pending calls.
	Prompt   string `json:"prompt,omitempty"`
	Messages int    `json:"messages,omitempty"`
	Last     string `json:"last,omitempty"`
	Results  string `json:"results,omitempty"`

	// Steered is set if the run had an inbox. If the run resumes without one, it still gets the
	// recorded messages.
	Steered bool `json:"steered,omitempty"`
	// Calls are the open calls of the history, and Given is how many of them have a result from
	// elsewhere. Both serve to sum up the records.
	Calls []string `json:"calls,omitempty"`
	Given int      `json:"given,omitempty"`
	// Seed is the seed of the run's ids.
	Seed string `json:"seed"`
}

func newStart(cfg *loop.Config, agent string) (*start, error) {
	s := &start{Version: recordVersion, Run: cfg.RunID, Agent: agent, Conversation: cfg.ConversationID, Messages: len(cfg.History), Steered: cfg.Steered, Seed: rand.Text()}
	var err error
	hash := func(what string, present bool, value any) string {
		if !present || err != nil {
			return ""
		}
		var data []byte
		if data, err = json.Marshal(value); err != nil {
			err = fmt.Errorf("%s: %w", what, err)
		}
		sum := sha256.Sum256(data)
		return fmt.Sprintf("%x", sum[:16])
	}
	s.Calls = openCalls(cfg.History)
	var answers []loop.Answer
	if cfg.Answers != nil {
		answers = cfg.Answers.List
	}
	for i := range answers {
		if r := answers[i].Result; r != nil && r.Outcome == model.OutcomeSuccess {
			s.Given++
		}
	}
	s.Prompt = hash("prompt", cfg.Prompt != nil, cfg.Prompt)
	if n := len(cfg.History); n > 0 {
		s.Last = hash("history", true, cfg.History[n-1])
	}
	s.Results = hash("results", cfg.Answers != nil, answers)
	return s, err
}

// openCalls returns the calls in which a history may be resumed: the calls of its last response,
// calls that wait for calls inside them, and the hand-over that the conversation stays with.
func openCalls(history []*model.Message) (ids []string) {
	for i := len(history) - 1; i >= 0; i-- {
		m := history[i]
		if m == nil {
			continue // the loop refuses it
		}
		if m.HandOver != nil && m.HandOver.Stays {
			ids = append(ids, m.HandOver.ID)
		}
		for j := range m.SuspendedCalls {
			ids = append(ids, m.SuspendedCalls[j].ID)
		}
		for j := range m.Parts {
			if p := &m.Parts[j]; p.Kind == model.PartToolCall {
				ids = append(ids, p.CallID)
			}
		}
		if m.Kind == model.KindResponse {
			break
		}
	}
	return ids
}

// check compares the recorded parameters with the parameters of this run.
func (s *start) check(now *start) error {
	if s.Version > recordVersion {
		return fmt.Errorf("%w: records of version %d, this program reads up to %d", journal.ErrVersion, s.Version, recordVersion)
	}
	for _, c := range []struct {
		what      string
		then, now any
		hashed    bool
	}{
		{"agent", s.Agent, now.Agent, false},
		{"conversation", s.Conversation, now.Conversation, false},
		{"prompt", s.Prompt, now.Prompt, true},
		{"number of messages in the history", s.Messages, now.Messages, false},
		{"last message of the history", s.Last, now.Last, true},
		{"results", s.Results, now.Results, true},
	} {
		switch {
		case c.then == c.now:
		case c.hashed:
			return fmt.Errorf("%w: not the same %s: pass what the run was started with, or use another run id", journal.ErrMismatch, c.what)
		default:
			return fmt.Errorf("%w: the %s was %q and is %q: pass what the run was started with, or use another run id", journal.ErrMismatch, c.what, fmt.Sprint(c.then), fmt.Sprint(c.now))
		}
	}
	return nil
}
