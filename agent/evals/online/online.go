// SPDX-License-Identifier: Apache-2.0

// Package online scores stored sessions, with the evaluators that score datasets. Scores are notes
// beside a session, which need no lease: people and judges score sessions while others work in
// them.
//
//	scored, err := online.Score(ctx, store, id, online.Options{Sample: 0.1, By: "nightly"},
//		evals.NotCalled("refund"), evals.Judge(m, "The answer is polite.", evals.JudgeOptions{}))
//
// [Mark] keeps what a person thinks of a turn. [Scores] reads all scores of a session.
package online

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
)

// Options select the turns that are scored.
type Options struct {
	// Sample is the share of turns that are scored, from 0 to 1; 0 means all. Which ones follows
	// from their ids, so a turn that was left out once is left out again.
	Sample float64
	// By names who scores, for people and to tell the scores of several apart.
	By string
	// Emit, if not nil, gets each new score, for example to pass it to otelagent.Evaluation.
	Emit func(ctx context.Context, s Scored)
}

// Scored is a score of a turn of a session.
type Scored struct {
	// Session and Turn name what was scored.
	Session string `json:"-"`
	Turn    string `json:"turn"`
	// Score is the score, By who gave it, and Time when.
	Score evals.Score `json:"score"`
	By    string      `json:"-"`
	Time  time.Time   `json:"-"`
}

// Score scores the turns of a session that have ended and have no score of the same metric by the
// same By, and keeps the scores. It returns the new ones. Scores of [evals.KindError] are returned
// and not kept, so the next call tries again.
func Score(ctx context.Context, s session.Store, id string, o Options,
	evaluators ...evals.Evaluator) ([]Scored, error) {
	if !(o.Sample >= 0 && o.Sample <= 1) {
		return nil, fmt.Errorf("online: Options.Sample is %v: it is a share from 0 to 1", o.Sample)
	}
	turns, err := transcript.Past(ctx, s, id)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for i, err := range s.Items(ctx, id, 0, session.ItemNote) {
		if err != nil {
			return nil, err
		}
		known[i.ID] = true
	}
	var all []Scored
	for i := range turns {
		t := &turns[i]
		if !o.selects(t.ID) || !ended(t) {
			continue
		}
		var missing []evals.Evaluator
		for _, e := range evaluators {
			if !known[noteID(t.ID, e.Name(), o.By)] {
				missing = append(missing, e)
			}
		}
		if len(missing) == 0 {
			continue
		}
		scores, err := evals.Evaluate(ctx, observe(t), missing...)
		if err != nil {
			return all, err
		}
		for _, score := range scores {
			scored := Scored{Session: id, Turn: t.ID, Score: score, By: o.By}
			if score.Kind != evals.KindError {
				if scored, err = put(ctx, s, scored); err != nil {
					return all, err
				}
			}
			if all = append(all, scored); o.Emit != nil {
				o.Emit(ctx, scored)
			}
		}
	}
	return all, nil
}

// ScoreAll scores the sessions that a query selects, as [Score] does. Sessions that cannot be read
// are reported in the error, and the others are scored.
func ScoreAll(ctx context.Context, s session.Store, q session.Query, o Options,
	evaluators ...evals.Evaluator) ([]Scored, error) {
	var all []Scored
	var errs []error
	for {
		page, err := s.List(ctx, q)
		errs = append(errs, err)
		if err != nil && (len(page.Sessions) == 0 || !errors.Is(err, session.ErrCorrupt)) {
			return all, errors.Join(errs...)
		}
		for i := range page.Sessions {
			scored, err := Score(ctx, s, page.Sessions[i].ID, o, evaluators...)
			all, errs = append(all, scored...), append(errs, err)
			if ctx.Err() != nil {
				return all, errors.Join(errs...)
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return all, errors.Join(errs...)
		}
	}
}

// selects reports whether a turn is in the sample.
func (o *Options) selects(turn string) bool {
	if o.Sample == 0 || o.Sample == 1 {
		return true
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(turn))
	return float64(h.Sum64()>>11)/(1<<53) < o.Sample
}

func ended(t *transcript.PastTurn) bool {
	return t.Reason != transcript.Pending && t.Reason != transcript.Interrupted
}

// observe returns a turn of a session in the form in which evaluators see it. The input is the text
// of the prompt, and the output the text of the last response.
func observe(t *transcript.PastTurn) evals.Observed {
	o := evals.Observed{Name: t.ID, Metadata: map[string]any{"reason": t.Reason}}
	var texts []string
	for i := range t.Prompt {
		if t.Prompt[i].Text != "" {
			texts = append(texts, t.Prompt[i].Text)
		}
	}
	o.Input = strings.Join(texts, "\n")
	run := evals.AgentRun{RunID: t.ID, Outer: -1, Messages: t.Messages}
	for _, m := range t.Messages {
		if m.Kind != model.KindResponse {
			continue
		}
		o.Output = m.Text()
		run.Usage.Requests++
		run.Usage.Usage.Add(m.Usage)
		for i := range m.Parts {
			if m.Parts[i].Kind == model.PartToolCall {
				run.Usage.ToolCalls++
			}
		}
	}
	if n := len(t.Messages); n > 0 {
		run.Duration = t.Messages[n-1].Time.Sub(t.Messages[0].Time)
	}
	if t.Reason == transcript.Failed || t.Reason == transcript.Refused {
		o.Err = errors.New("the turn ended: " + t.Reason)
	}
	o.Runs = []evals.AgentRun{run}
	return o
}

// People is the metric of [Mark].
const People = "people"

// Mark keeps what a person thinks of a turn: thumbs up or down, and why. A person who marks a turn
// again changes the mark.
func Mark(ctx context.Context, s session.Store, id, turn, by string, up bool, why string) error {
	score := evals.Pass(up)
	score.Name, score.Reason = People, why
	_, err := put(ctx, s, Scored{Session: id, Turn: turn, Score: score, By: by})
	return err
}

// notePrefix begins the ids of notes that are scores.
const notePrefix = "score/"

func noteID(turn, metric, by string) string {
	h := fnv.New64a() // the parts may be long, and have any characters
	for _, part := range []string{turn, metric, by} {
		_, _ = fmt.Fprintf(h, "%q", part)
	}
	return fmt.Sprintf("%s%016x", notePrefix, h.Sum64())
}

// put keeps a score. One by the same person or program for the same metric is replaced.
func put(ctx context.Context, s session.Store, scored Scored) (Scored, error) {
	data, err := json.Marshal(scored)
	if err != nil {
		return scored, fmt.Errorf("online: %w", err)
	}
	item, err := s.Put(ctx, scored.Session, session.Item{
		ID: noteID(scored.Turn, scored.Score.Name, scored.By), Kind: session.ItemNote,
		By: scored.By, Data: data,
	})
	for range maxTries {
		if err != nil || same(item.Data, data) {
			break
		}
		item, err = s.Change(ctx, scored.Session, item.ID, item.Version, data)
		if errors.Is(err, session.ErrChanged) { // somebody was faster
			err = nil
		}
	}
	scored.Time = item.Time
	return scored, err
}

// maxTries is how often a note is replaced that others replace at the same time.
const maxTries = 10

// same reports whether two documents are equal, apart from how they are written.
func same(a, b []byte) bool {
	var x, y Scored
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && x == y
}

// Scores returns the scores of a session, the one that was changed last at the end. If some are
// damaged, it returns the others and a [session.ErrCorrupt].
func Scores(ctx context.Context, in session.Inbox, id string) (all []Scored, damaged error) {
	for i, err := range in.Items(ctx, id, 0, session.ItemNote) {
		if errors.Is(err, session.ErrCorrupt) {
			damaged = err
			continue
		}
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(i.ID, notePrefix) {
			continue
		}
		scored := Scored{Session: id, By: i.By, Time: i.Time}
		if err := json.Unmarshal(i.Data, &scored); err != nil {
			return nil, fmt.Errorf("online: note %s of session %s: %w", i.ID, id, err)
		}
		all = append(all, scored)
	}
	return all, damaged
}

// Summary is a line about scores for lists: each metric with the share of passes or the mean, and
// how many scores it has. As in reports, a turn that failed counts as a no, or as 0.
func Summary(scores []Scored) string {
	type sum struct{ n, total float64 }
	sums, names := map[string]*sum{}, []string{}
	for _, s := range scores {
		if s.Score.Kind == evals.KindLabel || s.Score.Kind == evals.KindError {
			continue
		}
		at := sums[s.Score.Name]
		if at == nil {
			at = new(sum)
			sums[s.Score.Name] = at
			names = append(names, s.Score.Name)
		}
		at.n++
		at.total += s.Score.Value
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %.3g (%g)", name, sums[name].total/sums[name].n, sums[name].n)
	}
	return strings.Join(names, ", ")
}
