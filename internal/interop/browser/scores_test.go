// SPDX-License-Identifier: Apache-2.0

//go:build unix

package browser_test

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/ponte-go/ponte/webbridge"
)

func (s *mockSession) getScores(w http.ResponseWriter, _ *http.Request) {
	type told struct {
		Prompt string `json:"prompt"`
		Mine   bool   `json:"mine"`
		webbridge.Score
	}
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	all := []told{}
	for _, score := range s.scores {
		all = append(all, told{score.Turn, score.Mark, score})
	}
	reply(w, 200, map[string]any{"scores": all})
}

// mark keeps a mark. The first one is followed by the score of an evaluator.
func (s *mockSession) mark(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Good   bool   `json:"good"`
		Reason string `json:"reason"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	score := webbridge.Score{Turn: r.PathValue("prompt"), By: "user", Mark: true, Name: "people"}
	score.Reason = in.Reason
	if in.Good {
		score.Value = 1
	}
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	s.scores = slices.DeleteFunc(s.scores, func(o webbridge.Score) bool {
		return o.Mark && o.Turn == score.Turn
	})
	if len(s.scores) == 0 {
		polite := webbridge.Score{Turn: score.Turn, By: "nightly", Name: "polite", Value: 0.5}
		s.scores = append(s.scores, polite)
	}
	s.scores = append(s.scores, score)
	w.WriteHeader(204)
}
