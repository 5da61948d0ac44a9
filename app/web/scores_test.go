// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/evals/online"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/webbridge"
)

func TestScoresOfThePageAreThoseOfTheStore(t *testing.T) {
	ctx, store := context.Background(), new(session.Memory)
	_, err := store.Create(ctx, session.New{ID: "s"})
	require.NoError(t, err)
	s := scores{store}
	require.NoError(t, s.Mark(ctx, "s", "t1", "ada", true, ""))
	require.NoError(t, s.Mark(ctx, "s", "t1", "ada", false, "it lied"))
	of, err := online.Scores(ctx, store, "s")
	require.NoError(t, err)
	require.Equal(t, online.People, of[0].Score.Name)
	require.Equal(t, "it lied", of[0].Score.Reason)
	require.Equal(t, evals.KindPass, of[0].Score.Kind)
	all, err := s.Of(ctx, "s")
	require.NoError(t, err)
	bad := webbridge.Score{Turn: "t1", By: "ada", Mark: true, Name: online.People, Reason: "it lied"}
	require.Equal(t, []webbridge.Score{bad}, all)
	line, err := s.Summary(ctx, "s")
	require.NoError(t, err)
	require.Equal(t, "people 0 (1)", line)
	_, err = s.Of(ctx, "none")
	require.ErrorIs(t, err, session.ErrNotFound)
}
