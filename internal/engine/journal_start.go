// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/internal/loop"
)

// recordVersion is the version of the records that this package writes. It reads all versions up to this one.
const recordVersion = 1

// start is what a run was started with, as far as it must be the same when the run is taken up.
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

	// Steered says that the run had an inbox. It will not miss what it read there when it is taken up without one.
	Steered bool `json:"steered,omitempty"`
	// Seed is what the run's ids are made of.
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
	s.Prompt = hash("prompt", cfg.Prompt != nil, cfg.Prompt)
	if n := len(cfg.History); n > 0 {
		s.Last = hash("history", true, cfg.History[n-1])
	}
	s.Results = hash("results", cfg.Answers != nil, cfg.Answers)
	return s, err
}

// check compares what the run was started with to what it is started with now.
func (s *start) check(now *start) error {
	if s.Version > recordVersion {
		return fmt.Errorf("%w: records of version %d, this program reads up to %d", journal.ErrVersion, s.Version, recordVersion)
	}
	for _, c := range []struct {
		what      string
		then, now any
	}{
		{"agent", s.Agent, now.Agent},
		{"conversation", s.Conversation, now.Conversation},
		{"prompt", s.Prompt, now.Prompt},
		{"number of messages in the history", s.Messages, now.Messages},
		{"last message of the history", s.Last, now.Last},
		{"results", s.Results, now.Results},
	} {
		if c.then != c.now {
			return fmt.Errorf("%w: the %s was %q and is %q", journal.ErrMismatch, c.what, fmt.Sprint(c.then), fmt.Sprint(c.now))
		}
	}
	return nil
}
