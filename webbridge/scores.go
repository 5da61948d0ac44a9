// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"context"
	"log/slog"
	"net/http"
	"slices"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
)

// Scores has the scores of sessions, and keeps what people think of answers. The page shows scores
// in the list of sessions and below answers, where it has thumbs up and down. Programs on package
// app have a Scores over package agent/evals/online. Its methods are called concurrently.
type Scores interface {
	// Mark keeps whether a user finds the answer of a turn good, and why. It replaces an earlier
	// mark of the user.
	Mark(ctx context.Context, session, turn, user string, good bool, why string) error
	// Of returns the scores of a session, the one that was changed last at the end.
	Of(ctx context.Context, session string) ([]Score, error)
	// Summary returns a line about the scores of a session, for the list of sessions. It is empty
	// if there are none.
	Summary(ctx context.Context, session string) (string, error)
}

// Score is a score of a turn: a person's mark, or what an evaluator said.
type Score struct {
	// Turn is the id of the turn, By who gave the score, and Mark that it is from [Scores.Mark].
	Turn string `json:"-"`
	By   string `json:"by"`
	Mark bool   `json:"mark"`
	// Name is the metric. Value is the number, or 1 for a yes and 0 for a no. A Label that is not
	// empty replaces it.
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Label string  `json:"label,omitempty"`
	// Reason explains the score.
	Reason string `json:"reason,omitempty"`
}

// scored is a score as clients are told of it.
type scored struct {
	Prompt string `json:"prompt"`
	Mine   bool   `json:"mine"`
	Score
}

const maxReason = 2000 // bytes

var errNoScores = refuse(KindNotFound, "this server keeps no scores")

func (h *Handler) getScores(w http.ResponseWriter, r *http.Request) error {
	info, err := h.info(r)
	if err != nil {
		return err
	}
	if h.o.Scores == nil {
		return errNoScores
	}
	all, err := h.o.Scores.Of(r.Context(), info.ID)
	if err != nil {
		return err
	}
	user, told := marker(r.Context()), make([]scored, len(all))
	for i, s := range all {
		told[i] = scored{transcript.PromptID(s.Turn), s.Mark && s.By == user, s}
	}
	writeJSON(w, http.StatusOK, map[string][]scored{"scores": told})
	return nil
}

func (h *Handler) putMark(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Good   *bool  `json:"good"`
		Reason string `json:"reason"`
	}
	if err := h.decode(w, r, h.o.Limits.Body, &in); err != nil {
		return err
	}
	info, err := h.info(r)
	if err != nil {
		return err
	}
	prompt := r.PathValue("prompt")
	switch {
	case h.o.Scores == nil:
		return errNoScores
	case in.Good == nil:
		return refuse(KindInvalid, "good is missing: true for a thumb up, false for a thumb down")
	case len(in.Reason) > maxReason:
		return refuse(KindTooLarge, "the reason has %d bytes: use at most %d",
			len(in.Reason), maxReason)
	}
	turns, err := transcript.Past(r.Context(), h.host.Store(), info.ID)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(turns, func(t transcript.PastTurn) bool {
		return transcript.PromptID(t.ID) == prompt
	})
	if at < 0 {
		return refuse(KindNotFound, "there is no prompt %q in the session", prompt)
	}
	user := marker(r.Context())
	err = h.o.Scores.Mark(r.Context(), info.ID, turns[at].ID, user, *in.Good, in.Reason)
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// marker names the user of a request in marks.
func marker(ctx context.Context) string {
	if user := User(ctx); user != "" {
		return user
	}
	return "user"
}

// summaries returns the lines about the scores of sessions, by id. A session whose scores cannot be
// read has none.
func (h *Handler) summaries(ctx context.Context, all []session.Info) map[string]string {
	lines := map[string]string{}
	if h.o.Scores == nil {
		return lines
	}
	for i := range all {
		line, err := h.o.Scores.Summary(ctx, all[i].ID)
		if err != nil {
			h.o.Logger.WarnContext(ctx, "webbridge: scores cannot be read",
				slog.String("session", all[i].ID), slog.Any("error", err))
			continue
		}
		if line != "" {
			lines[all[i].ID] = line
		}
	}
	return lines
}
