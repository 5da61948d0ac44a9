// SPDX-License-Identifier: Apache-2.0

package online_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/evals/online"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/internal/sealtest"
)

// weak is a store that fails.
type weak struct {
	session.Store
	items, put, list, change error
	changes                  int
	full                     int // how many notes it takes; 0 means all
}

func (w *weak) Items(ctx context.Context, id string, after int64, kinds ...session.ItemKind) iter.Seq2[session.Item, error] {
	if w.items != nil {
		return func(yield func(session.Item, error) bool) { yield(session.Item{}, w.items) }
	}
	return w.Store.Items(ctx, id, after, kinds...)
}

func (w *weak) Put(ctx context.Context, id string, i session.Item) (session.Item, error) {
	if w.put != nil {
		return session.Item{}, w.put
	}
	if w.full--; w.full == 0 {
		w.put = errors.New("it is full")
	}
	return w.Store.Put(ctx, id, i)
}

func (w *weak) Change(ctx context.Context, id, item string, version int64, data json.RawMessage) (session.Item, error) {
	w.changes++
	if w.change != nil {
		i, _ := w.Store.Change(ctx, id, item, version, json.RawMessage(`{"turn":"x"}`))
		return i, w.change
	}
	return w.Store.Change(ctx, id, item, version, data)
}

func (w *weak) List(ctx context.Context, q session.Query) (session.Page, error) {
	if w.list != nil {
		return session.Page{}, w.list
	}
	return w.Store.List(ctx, q)
}

func TestFailuresOfTheStoreAreReturned(t *testing.T) {
	memory := new(session.Memory)
	talk(t, memory, "a", 2)
	broken := errors.New("no disk")
	called := evals.NotCalled("x")

	_, err := online.Score(t.Context(), &weak{Store: memory, items: broken}, "a", online.Options{}, called)
	require.ErrorIs(t, err, broken)
	_, err = online.Scores(t.Context(), &weak{Store: memory, items: broken}, "a")
	require.ErrorIs(t, err, broken)
	scored, err := online.Score(t.Context(), &weak{Store: memory, put: broken}, "a", online.Options{}, called)
	require.ErrorIs(t, err, broken)
	require.Empty(t, scored)
	other := new(session.Memory)
	talk(t, other, "a", 4)
	scored, err = online.Score(t.Context(), &weak{Store: other, full: 1}, "a", online.Options{By: "one"}, called)
	require.EqualError(t, err, "it is full")
	require.Len(t, scored, 1, "what was kept is returned")
	scored, err = online.ScoreAll(t.Context(), &weak{Store: other, full: 2}, session.Query{}, online.Options{By: "two"}, called)
	require.EqualError(t, err, "it is full")
	require.Len(t, scored, 2)
	_, err = online.ScoreAll(t.Context(), &weak{Store: memory, list: broken}, session.Query{}, online.Options{}, called)
	require.ErrorIs(t, err, broken)
	_, err = online.ScoreAll(t.Context(), &weak{Store: memory, put: broken}, session.Query{}, online.Options{}, called)
	require.ErrorIs(t, err, broken)
	require.ErrorIs(t, online.Mark(t.Context(), &weak{Store: memory, put: broken}, "a", "t1", "ann", true, ""), broken)

	require.NoError(t, online.Mark(t.Context(), memory, "a", "t1", "ann", true, "first"))
	same := &weak{Store: memory}
	require.NoError(t, online.Mark(t.Context(), same, "a", "t1", "ann", true, "first"))
	require.Zero(t, same.changes, "the same mark is there already")
	require.NoError(t, online.Mark(t.Context(), same, "a", "t1", "ann", true, "second"))
	require.Equal(t, 1, same.changes)
	require.ErrorIs(t, online.Mark(t.Context(), &weak{Store: memory, change: broken}, "a", "t1", "ann", true, "third"), broken)
	busy := &weak{Store: memory, change: session.ErrChanged}
	_ = online.Mark(t.Context(), busy, "a", "t1", "ann", true, "fourth")
	require.Equal(t, 10, busy.changes, "others are faster each time")

	_, err = memory.Put(t.Context(), "a", session.Item{ID: "other", Kind: session.ItemNote, By: "ann", Data: json.RawMessage(`{"turn":7}`)})
	require.NoError(t, err)
	all, err := online.Scores(t.Context(), memory, "a")
	require.NoError(t, err, "other notes are not scores")
	require.Len(t, all, 1)
	_, err = memory.Put(t.Context(), "a", session.Item{ID: "score/x", Kind: session.ItemNote, By: "ann", Data: json.RawMessage(`{"turn":7}`)})
	require.NoError(t, err)
	_, err = online.Scores(t.Context(), memory, "a")
	require.ErrorContains(t, err, "online: note score/x of session a: json: ")
}

// TestObservedTurnsAreWhole looks at what evaluators see of turns, and at scores that are kept.
func TestObservedTurnsAreWhole(t *testing.T) {
	memory := new(session.Memory)
	talk(t, memory, "a", 2)
	var got []string
	see := evals.OnFailure(evals.New("see", func(_ context.Context, tr *evals.Trial[string, string]) (evals.Score, error) {
		failed := "fine"
		if tr.Err != nil {
			failed = tr.Err.Error()
		}
		require.Len(t, tr.Runs, 1)
		require.Equal(t, tr.Case.Name, tr.Runs[0].RunID)
		require.Equal(t, -1, tr.Runs[0].Outer)
		require.GreaterOrEqual(t, tr.Duration, time.Duration(0))
		reason, _ := tr.Case.Metadata["reason"].(string)
		require.NotEmpty(t, reason)
		got = append(got, strings.Join([]string{tr.Case.Input, tr.Output, failed}, "|"))
		require.Equal(t, len(tr.Calls), tr.Usage.ToolCalls)
		if tr.Err == nil {
			require.Equal(t, 2, tr.Usage.Requests)
			require.EqualValues(t, 20, tr.Usage.InputTokens)
			require.EqualValues(t, 10, tr.Usage.OutputTokens)
		}
		return evals.Pass(true).Because("so"), nil
	}))
	before := time.Now()
	scored, err := online.Score(t.Context(), memory, "a", online.Options{By: "me", Sample: 1}, see, see.Named("again"))
	require.NoError(t, err)
	require.Equal(t, []string{"prompt 0|answer 0|fine", "prompt 0|answer 0|fine", "prompt 1||the turn ended: failed", "prompt 1||the turn ended: failed"}, got)
	require.Len(t, scored, 4)
	for i, s := range scored {
		require.Equal(t, "a", s.Session)
		require.NotEmpty(t, s.Turn)
		require.Equal(t, "me", s.By)
		require.False(t, s.Time.Before(before.Truncate(time.Second)))
		require.Equal(t, evals.Score{Name: []string{"see", "again"}[i%2], Kind: evals.KindPass, Value: 1, Reason: "so"}, s.Score)
	}
	kept, err := online.Scores(t.Context(), memory, "a")
	require.NoError(t, err)
	require.Equal(t, scored, kept)
	for _, sample := range []float64{-0.1, 1.1} {
		_, err = online.Score(t.Context(), memory, "a", online.Options{Sample: sample}, see)
		require.ErrorContains(t, err, "online: Options.Sample is ")
	}
	_, err = online.Score(t.Context(), memory, "a", online.Options{By: "typed"}, evals.New("typed", func(context.Context, *evals.Trial[int, int]) (evals.Score, error) {
		return evals.Score{}, nil
	}))
	require.ErrorContains(t, err, `evaluator "typed" is for int and int, not for string and string`)
}

func TestSamplesGrow(t *testing.T) {
	memory := new(session.Memory)
	talk(t, memory, "a", 60)
	last := map[string]bool{}
	for _, sample := range []float64{0.01, 0.2, 0.4, 0.9, 1} {
		by := time.Duration(sample * 1000).String()
		scored, err := online.Score(t.Context(), memory, "a", online.Options{Sample: sample, By: by}, evals.NotCalled("x"))
		require.NoError(t, err)
		turns := map[string]bool{}
		for _, s := range scored {
			turns[s.Turn] = true
		}
		for turn := range last {
			require.True(t, turns[turn], "what a small sample has, a larger one has too")
		}
		require.InDelta(t, 60*sample, len(turns), 14)
		last = turns
	}
	require.Len(t, last, 60)
}

func TestSummariesCountWhatCanBeAdded(t *testing.T) {
	score := func(name string, kind evals.Kind, v float64) online.Scored {
		return online.Scored{Score: evals.Score{Name: name, Kind: kind, Value: v}}
	}
	require.Equal(t, "b 0.333 (3), a 2.5 (2)", online.Summary([]online.Scored{
		score("b", evals.KindPass, 1), score("a", evals.KindNumber, 2), score("l", evals.KindLabel, 0), score("b", evals.KindFailed, 0),
		score("a", evals.KindNumber, 3), score("e", evals.KindError, 0), score("b", evals.KindPass, 0),
	}))
	require.Empty(t, online.Summary(nil))
	require.Empty(t, online.Summary([]online.Scored{score("l", evals.KindLabel, 0)}))
}

func TestCommandsSayWhyThereIsNoMark(t *testing.T) {
	var store session.Store
	var broken error
	commands := online.Commands(func(context.Context) (session.Store, error) { return store, broken }, nil)
	require.Len(t, commands, 2)
	for i, want := range []string{"good", "bad"} {
		c := commands[i]
		require.Equal(t, []string{want, "Mark the last answer as " + want, "reason"}, []string{c.Name, c.Description, c.Hint})
		store, broken = nil, nil
		res, err := c.Run(t.Context(), &host.CommandCall{})
		require.NoError(t, err)
		require.Equal(t, "Marks are kept with sessions, and this one is kept in memory only.", res.Notice)
		store = new(session.Memory)
		res, err = c.Run(t.Context(), &host.CommandCall{Messages: []*model.Message{model.UserText("x")}})
		require.NoError(t, err)
		require.Equal(t, "There is no answer to mark yet.", res.Notice)
		broken = errors.New("no disk")
		_, err = c.Run(t.Context(), &host.CommandCall{})
		require.ErrorIs(t, err, broken)
	}
}

// TestMarksNameThePerson marks answers in a host that knows its people.
func TestMarksNameThePerson(t *testing.T) {
	store := &weak{Store: new(session.Memory)}
	a := agent.Must(agent.New(agent.Config[none, string]{Model: modeltest.Script(modeltest.SayText("one"))}))
	of := func(context.Context) (session.Store, error) { return store, nil }
	by := func(s *host.Session) string { return "owner of " + s.ID() }
	h, err := host.New(host.Config[none, string]{Agent: a, Store: store.Store, Commands: online.Commands(of, by)})
	require.NoError(t, err)
	defer func() { require.NoError(t, h.Close(t.Context())) }()
	s, err := h.Create(t.Context(), session.New{ID: "s1"}, nil)
	require.NoError(t, err)
	for _, text := range []string{"hello", "/bad it lied"} {
		_, err = s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User(text)}})
		require.NoError(t, err)
	}
	all, err := online.Scores(t.Context(), store, "s1")
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, []string{"owner of s1", "people", "it lied"}, []string{all[0].By, all[0].Score.Name, all[0].Score.Reason})
}

// Of sessions and scores that are damaged, the others are scored and returned.
func TestWhatIsDamagedLeavesTheOtherScores(t *testing.T) {
	inner := new(session.Memory)
	store, err := session.Encrypted(inner, sealtest.Ring())
	require.NoError(t, err)
	a := agent.Must(agent.New(agent.Config[none, string]{
		Model: modeltest.Script(modeltest.SayText("one"), modeltest.SayText("two")),
	}))
	h, err := host.New(host.Config[none, string]{Agent: a, Store: store})
	require.NoError(t, err)
	for _, id := range []string{"a", "b"} {
		s, err := h.Create(t.Context(), session.New{ID: id}, nil)
		require.NoError(t, err)
		_, err = s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User("hello")}})
		require.NoError(t, err)
	}
	require.NoError(t, h.Close(t.Context()))
	_, err = inner.Update(t.Context(), "b", session.Change{Title: new("planted")})
	require.NoError(t, err)
	all, err := online.ScoreAll(t.Context(), store, session.Query{}, online.Options{}, evals.NotCalled("refund"))
	require.ErrorIs(t, err, session.ErrCorrupt)
	require.Contains(t, turnsOf(all), "a")

	note := session.Item{ID: "score/0", Kind: session.ItemNote, By: "planted"}
	_, err = inner.Put(t.Context(), "a", note)
	require.NoError(t, err)
	require.NoError(t, online.Mark(t.Context(), store, "a", "t", "ann", true, ""))
	all, err = online.Scores(t.Context(), store, "a")
	require.ErrorIs(t, err, session.ErrCorrupt)
	require.Len(t, all, 2, "the one before and the one after")
}

func turnsOf(all []online.Scored) (ids []string) {
	for _, s := range all {
		ids = append(ids, s.Session)
	}
	return ids
}
