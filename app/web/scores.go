// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"

	"github.com/ponte-go/ponte/agent/evals/online"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/webbridge"
)

// scores are the scores of the sessions of a store, for the page.
type scores struct{ store session.Store }

func (s scores) Mark(ctx context.Context, id, turn, user string, good bool, why string) error {
	return online.Mark(ctx, s.store, id, turn, user, good, why)
}

func (s scores) Of(ctx context.Context, id string) ([]webbridge.Score, error) {
	all, err := online.Scores(ctx, s.store, id)
	if err != nil {
		return nil, err
	}
	told := make([]webbridge.Score, len(all))
	for i := range all {
		score := &all[i].Score
		told[i] = webbridge.Score{
			Turn: all[i].Turn, By: all[i].By, Mark: score.Name == online.People,
			Name: score.Name, Value: score.Value, Label: score.Label, Reason: score.Reason,
		}
	}
	return told, nil
}

func (s scores) Summary(ctx context.Context, id string) (string, error) {
	all, err := online.Scores(ctx, s.store, id)
	return online.Summary(all), err
}
