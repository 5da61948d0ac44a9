// SPDX-License-Identifier: Apache-2.0

package online_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/evals/online"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/internal/leaktest"
	"github.com/ponte-go/ponte/toolset"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

type none struct{}

// talk makes a session whose turns call a tool, the last of which fails. It stays held.
func talk(t testing.TB, store session.Store, id string, turns int) {
	ctx := context.Background()
	_, err := store.Create(ctx, session.New{ID: id})
	require.NoError(t, err)
	w, err := session.Open(ctx, store, id, session.Claim{Holder: "somebody"})
	require.NoError(t, err)
	c, err := transcript.Open(ctx, w, transcript.Options{})
	require.NoError(t, err)
	refund := toolset.Func("refund", "Refund.", func(context.Context, *toolset.RunContext[none], none) (string, error) { return "done", nil })
	for n := range turns {
		m := modeltest.Script(modeltest.Say(model.ToolCall("1", "refund", "{}")), modeltest.SayText(fmt.Sprint("answer ", n)))
		if n == turns-1 {
			m = modeltest.Script(modeltest.Fail(errors.New("away")))
		}
		prompt := fmt.Sprint("prompt ", n)
		turn, err := c.Begin(ctx, model.User(prompt))
		require.NoError(t, err)
		a := agent.Must(agent.New(agent.Config[none, string]{Model: m, Tools: []*toolset.Tool[none]{refund}}))
		res, err := a.Run(ctx, none{}, prompt, turn.Options()...)
		require.NoError(t, transcript.End(ctx, turn, res, err))
	}
}

func stores(t *testing.T, test func(t *testing.T, s session.Store)) {
	t.Run("memory", func(t *testing.T) { test(t, new(session.Memory)) })
	t.Run("SQLite", func(t *testing.T) {
		s, err := sqlitestore.Open(t.TempDir(), sqlitestore.Options{})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		test(t, s)
	})
}

func TestStoredSessionsAreScoredOnce(t *testing.T) {
	stores(t, func(t *testing.T, s session.Store) {
		talk(t, s, "a", 3)
		talk(t, s, "b", 2)
		asked := 0
		polite := evals.New("polite", func(_ context.Context, t *evals.Trial[string, string]) (evals.Score, error) {
			asked++
			if t.Case.Input == "prompt 1" {
				return evals.Score{}, errors.New("the judge is away")
			}
			return evals.Number(float64(len(t.Output))).Because("%s, %d calls", t.Case.Input, len(t.Calls)), nil
		})
		var emitted []online.Scored
		o := online.Options{By: "nightly", Emit: func(_ context.Context, s online.Scored) { emitted = append(emitted, s) }}
		scored, err := online.ScoreAll(t.Context(), s, session.Query{}, o, polite, evals.Called(evals.Exact, "refund"), evals.NotCalled("refund"))
		require.NoError(t, err)
		require.Equal(t, scored, emitted)
		require.Len(t, scored, 5*3)
		all, err := online.Scores(t.Context(), s, "a")
		require.NoError(t, err)
		require.Len(t, all, 8, "the score of an evaluator that failed is not kept")
		require.Equal(t, "polite", all[0].Score.Name)
		require.Equal(t, "prompt 0, 1 calls", all[0].Score.Reason)
		require.Equal(t, "nightly", all[0].By)
		require.False(t, all[0].Time.IsZero())
		require.Equal(t, "polite 4 (2), calls 0.667 (3), not called 0.333 (3)", online.Summary(nil)+summary(all))

		before := asked
		scored, err = online.Score(t.Context(), s, "a", o, polite, evals.NotCalled("refund"))
		require.NoError(t, err)
		require.Len(t, scored, 1, "only what had failed")
		require.Equal(t, before+1, asked)
		o.By = "somebody else"
		scored, err = online.Score(t.Context(), s, "a", o, evals.NotCalled("refund"))
		require.NoError(t, err)
		require.Len(t, scored, 3)
	})
}

func summary(all []online.Scored) string { return online.Summary(all) }

func TestMarksOfPeopleAreReplaced(t *testing.T) {
	stores(t, func(t *testing.T, s session.Store) {
		talk(t, s, "a", 1)
		require.NoError(t, online.Mark(t.Context(), s, "a", "t1", "ann", true, ""))
		require.NoError(t, online.Mark(t.Context(), s, "a", "t1", "ann", false, "it lied"))
		require.NoError(t, online.Mark(t.Context(), s, "a", "t1", "bob", true, ""))
		all, err := online.Scores(t.Context(), s, "a")
		require.NoError(t, err)
		require.Len(t, all, 2)
		require.Equal(t, "people 0.5 (2)", online.Summary(all))
		for _, s := range all {
			require.Equal(t, "t1", s.Turn)
			require.Equal(t, s.By == "bob", s.Score.Passed())
		}
		require.ErrorIs(t, online.Mark(t.Context(), s, "none", "t1", "ann", true, ""), session.ErrNotFound)
	})
}

func TestMarksAtTheSameTime(t *testing.T) {
	s := new(session.Memory)
	talk(t, s, "a", 1)
	var people sync.WaitGroup
	for i := range 20 {
		people.Go(func() { require.NoError(t, online.Mark(t.Context(), s, "a", "t1", "ann", i%2 == 0, fmt.Sprint(i))) })
	}
	people.Wait()
	all, err := online.Scores(t.Context(), s, "a")
	require.NoError(t, err)
	require.Len(t, all, 1)
}

func TestASampleIsTheSameEachTime(t *testing.T) {
	s := new(session.Memory)
	talk(t, s, "a", 60)
	o := online.Options{Sample: 0.5}
	scored, err := online.Score(t.Context(), s, "a", o, evals.NotCalled("x"))
	require.NoError(t, err)
	require.InDelta(t, 30, len(scored), 15)
	scored, err = online.Score(t.Context(), s, "a", o, evals.NotCalled("x"))
	require.NoError(t, err)
	require.Empty(t, scored)
	_, err = online.Score(t.Context(), s, "a", online.Options{Sample: 2}, evals.NotCalled("x"))
	require.ErrorContains(t, err, "it is a share from 0 to 1")
	_, err = online.Score(t.Context(), s, "none", o)
	require.ErrorIs(t, err, session.ErrNotFound)
}
