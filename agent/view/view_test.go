// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func upsert(id string, e view.Entity) view.Change {
	return view.Change{Op: view.Upsert, ID: id, Entity: &e}
}

func appendText(id, text string) view.Change {
	return view.Change{Op: view.Append, ID: id, Text: text}
}

func message(text string) view.Entity {
	return view.Entity{Kind: view.Message, Role: view.Assistant, Content: []view.Content{{Kind: view.Text, Text: text}}}
}

func apply(t testing.TB, f *view.Fold, all ...view.Change) {
	t.Helper()
	for _, c := range all {
		require.NoError(t, f.Apply(c))
	}
}

func entities(s *view.Snapshot) []view.Entity {
	var all []view.Entity
	for e := range s.All() {
		all = append(all, *e)
	}
	return all
}

// same is quicker than require.Equal.
func same(t testing.TB, want, got *view.Snapshot) {
	t.Helper()
	if a, b := entities(want), entities(got); !reflect.DeepEqual(a, b) {
		require.Equal(t, a, b)
	}
}

func TestChangesAreApplied(t *testing.T) {
	var f view.Fold
	image := view.Content{Kind: view.Image, Data: "AA=="}
	apply(t, &f,
		upsert("a", view.Entity{Kind: view.Message}), appendText("a", "one "), appendText("a", "two"),
		upsert("b", view.Entity{Kind: view.ToolCall, Status: view.Pending}),
		view.Change{Op: view.Append, ID: "a", Text: "!", Content: []view.Content{image}}, appendText("a", "three"),
		upsert("b", view.Entity{Kind: view.ToolCall, Status: view.Completed}),
		upsert("c", view.Entity{Kind: view.Notice}), view.Change{Op: view.Remove, ID: "c"},
	)
	s := f.Snapshot()
	require.Equal(t, []view.Entity{
		{ID: "a", Kind: view.Message, Content: []view.Content{{Kind: view.Text, Text: "one two!"}, image, {Kind: view.Text, Text: "three"}}},
		{ID: "b", Kind: view.ToolCall, Status: view.Completed},
	}, entities(s))
	require.Equal(t, "one two!three", s.Get("a").Text())
	require.Equal(t, s.Get("b"), s.Last(view.ToolCall))
	require.Nil(t, s.Get("c"))
	require.Nil(t, s.Last(view.Notice))
	require.Same(t, s, f.Snapshot(), "nothing has changed")
	require.EqualValues(t, 9, s.Pos())
}

func TestMalformedChangesChangeNothing(t *testing.T) {
	var f view.Fold
	apply(t, &f, upsert("a", message("x")))
	before := f.Snapshot()
	require.ErrorIs(t, f.Apply(appendText("b", "x")), view.ErrUnknown)
	require.ErrorIs(t, f.Apply(view.Change{Op: view.Remove, ID: "b"}), view.ErrUnknown)
	require.ErrorIs(t, f.Apply(view.Change{Op: view.Upsert, ID: "b"}), view.ErrChange)
	require.ErrorIs(t, f.Apply(view.Change{Op: view.Append, Text: "x"}), view.ErrChange)
	require.ErrorIs(t, f.Apply(view.Change{Op: "twist", ID: "a"}), view.ErrChange)
	require.NoError(t, f.Apply(appendText("a", "")))
	require.Same(t, before, f.Snapshot())
	f.End(nil)
	require.Error(t, f.Apply(appendText("a", "x")))
}

func TestSnapshotsDoNotChange(t *testing.T) {
	var f view.Fold
	var snapshots []*view.Snapshot
	var want [][]view.Entity
	for i := range 300 {
		id := fmt.Sprint(i % 150)
		if f.Get(id) == nil || i%7 == 0 {
			apply(t, &f, upsert(id, message("m")))
		}
		apply(t, &f, appendText(id, strings.Repeat("x", i%40)))
		snapshots = append(snapshots, f.Snapshot())
		want = append(want, entities(f.Snapshot()))
	}
	for i, s := range snapshots {
		require.True(t, reflect.DeepEqual(want[i], entities(s)), i)
	}
}

func TestNilSnapshotIsEmpty(t *testing.T) {
	var s *view.Snapshot
	require.Empty(t, entities(s))
	require.Nil(t, s.Get("a"))
	require.Nil(t, s.Last(view.Plan))
	require.Zero(t, s.Pos())
	var f view.Fold
	require.Empty(t, entities(f.Snapshot()))
	require.Nil(t, f.Get("a"))
}

func TestRemovedEntitiesStayInOlderSnapshots(t *testing.T) {
	var f view.Fold
	apply(t, &f, upsert("a", message("old")))
	before := f.Snapshot()
	apply(t, &f, view.Change{Op: view.Remove, ID: "a"}, upsert("b", message("b")), upsert("a", message("new")))
	require.Equal(t, "old", before.Get("a").Text())
	require.Equal(t, "new", f.Snapshot().Get("a").Text())
	require.Equal(t, "a", f.Snapshot().Last(view.Message).ID, "it is at the end now")
}

func TestSubscriptionsGiveWhatChanged(t *testing.T) {
	var f view.Fold
	apply(t, &f, upsert("a", message("one")), upsert("b", view.Entity{Kind: view.Plan}), upsert("gone", view.Entity{Kind: view.Notice}))
	sub := f.Cursor(nil)
	next := func() []view.Change {
		u, err := sub.Update(t.Context())
		require.NoError(t, err)
		for i := range u.Changes {
			if e := u.Changes[i].Entity; e != nil {
				require.Same(t, u.Snapshot.Get(u.Changes[i].ID), e)
			}
			u.Changes[i].Entity, u.Changes[i].Pos = nil, 0
		}
		return u.Changes
	}
	require.Equal(t, []view.Change{{Op: view.Upsert, ID: "a"}, {Op: view.Upsert, ID: "b"}, {Op: view.Upsert, ID: "gone"}}, next())
	apply(t, &f, appendText("a", " two"), appendText("a", " three"), view.Change{Op: view.Remove, ID: "gone"},
		upsert("brief", view.Entity{Kind: view.Notice}), view.Change{Op: view.Remove, ID: "brief"})
	require.Equal(t, []view.Change{{Op: view.Append, ID: "a", Text: " two three"}, {Op: view.Remove, ID: "gone"}}, next())
	apply(t, &f, upsert("b", view.Entity{Kind: view.Plan}), view.Change{Op: view.Append, ID: "a", Content: []view.Content{{Kind: view.Image}}})
	f.End(errors.New("the agent has died"))
	require.Equal(t, []view.Change{{Op: view.Upsert, ID: "a"}, {Op: view.Upsert, ID: "b"}}, next())
	_, err := sub.Update(t.Context())
	require.EqualError(t, err, "the agent has died")
	_, err = f.Cursor(f.Snapshot()).Update(t.Context())
	require.Error(t, err)
}

func TestNextEndsWithItsContext(t *testing.T) {
	var f view.Fold
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	_, err := f.Cursor(nil).Update(ctx)
	require.EqualError(t, err, "enough")
}

// Random changes, looked at at random times: whoever follows by changes has what the fold has, and what was appended in pieces is what was
// appended at once.
func TestFollowersSeeTheSame(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		var f, pieces view.Fold
		followers := make([]view.Fold, 3)
		subs := make([]*view.Cursor, len(followers))
		for i := range subs {
			subs[i] = f.Cursor(nil)
		}
		follow := func(i int) {
			u, err := subs[i].Update(t.Context())
			if err == io.EOF {
				return
			}
			require.NoError(t, err)
			apply(t, &followers[i], u.Changes...)
			same(t, u.Snapshot, followers[i].Snapshot())
		}
		pos := uint64(0)
		for range r.IntN(300) {
			c := randomChange(r, &f)
			apply(t, &f, c)
			for _, p := range split(r, c) {
				apply(t, &pieces, p)
			}
			if r.IntN(25) == 0 {
				same(t, f.Snapshot(), pieces.Snapshot())
			}
			if i := r.IntN(20); i < len(subs) && f.Snapshot().Pos() > pos {
				pos = f.Snapshot().Pos()
				follow(i)
			}
		}
		f.End(nil)
		for i := range subs {
			follow(i)
			want := f.Snapshot()
			if want.Pos() > 0 {
				same(t, want, followers[i].Snapshot())
			}
		}
	}
}

func randomChange(r *rand.Rand, f *view.Fold) view.Change {
	id := fmt.Sprint(r.IntN(100))
	known := f.Get(id) != nil
	switch n := r.IntN(10); {
	case !known || n == 0:
		e := view.Entity{Kind: view.Message, Title: fmt.Sprint(r.Int())}
		for range r.IntN(3) {
			e.Content = append(e.Content, view.Content{Kind: []view.ContentKind{view.Text, view.Image}[r.IntN(2)], Text: "t"})
		}
		return upsert(id, e)
	case n == 1:
		return view.Change{Op: view.Remove, ID: id}
	case n == 2:
		return view.Change{Op: view.Append, ID: id, Text: "x", Content: []view.Content{{Kind: view.Image}, {Kind: view.Text, Text: "after"}}}
	}
	return appendText(id, strings.Repeat("äb", r.IntN(20)))
}

// split cuts a change that appends into pieces.
func split(r *rand.Rand, c view.Change) []view.Change {
	if c.Op != view.Append {
		return []view.Change{c}
	}
	var all []view.Change
	for text := c.Text; text != ""; {
		n := 1 + r.IntN(len(text))
		all = append(all, appendText(c.ID, text[:n]))
		text = text[n:]
	}
	for _, one := range c.Content {
		all = append(all, view.Change{Op: view.Append, ID: c.ID, Content: []view.Content{one}})
	}
	return all
}

func TestConcurrentUse(t *testing.T) {
	var f view.Fold
	var all sync.WaitGroup
	const n = 2000
	for range 3 {
		all.Go(func() {
			var got view.Fold
			last := uint64(0)
			for u, err := range f.Cursor(nil).All(t.Context()) {
				require.NoError(t, err)
				require.Greater(t, u.Snapshot.Pos(), last)
				last = u.Snapshot.Pos()
				for _, c := range u.Changes {
					require.NoError(t, got.Apply(c))
				}
				for e := range u.Snapshot.All() {
					_ = len(strings.TrimLeft(e.Text(), "x")) // reads all of it
				}
			}
			require.Len(t, got.Snapshot().Get("1").Text(), n/10)
		})
	}
	all.Go(func() {
		for i := range n {
			id := fmt.Sprint(i % 10)
			if i < 10 {
				apply(t, &f, upsert(id, view.Entity{Kind: view.Message}))
			}
			apply(t, &f, appendText(id, "x"))
			if i%50 == 0 {
				_ = f.Snapshot().Get(id)
			}
		}
		f.End(nil)
	})
	all.Wait()
}

func TestAppendingDoesNotAllocate(t *testing.T) {
	var f view.Fold
	apply(t, &f, upsert("a", message("x")))
	const n = 10_000
	allocs := testing.AllocsPerRun(5, func() {
		for range n {
			_ = f.Apply(appendText("a", "a few more words "))
		}
	})
	require.Less(t, allocs/n, 0.02)
}

func TestSnapshotsCostWhatHasChanged(t *testing.T) {
	measure := func(entities int) float64 {
		var f view.Fold
		for i := range entities {
			apply(t, &f, upsert(fmt.Sprint(i), message("x")))
		}
		return testing.AllocsPerRun(100, func() {
			_ = f.Apply(appendText("0", "y"))
			_ = f.Snapshot()
		})
	}
	small, large := measure(10), measure(10_000)
	require.LessOrEqual(t, large, small+1)
	require.LessOrEqual(t, large, 8.0)
}

func ExampleFold() {
	var f view.Fold
	_ = f.Apply(view.Change{Op: view.Upsert, ID: "m1", Entity: &view.Entity{Kind: view.Message, Role: view.Assistant}})
	_ = f.Apply(view.Change{Op: view.Append, ID: "m1", Text: "Hello,"})
	before := f.Snapshot()
	_ = f.Apply(view.Change{Op: view.Append, ID: "m1", Text: " world"})
	fmt.Println(before.Get("m1").Text())
	fmt.Println(f.Snapshot().Get("m1").Text())
	// Output:
	// Hello,
	// Hello, world
}

func FuzzFold(f *testing.F) {
	f.Add([]byte("abcdefgh"), uint64(1))
	f.Fuzz(func(t *testing.T, script []byte, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 2))
		var all, follower view.Fold
		sub := all.Cursor(nil)
		for _, b := range script {
			_ = all.Apply(view.Change{
				Op: []view.Op{view.Upsert, view.Append, view.Append, view.Remove}[b%4], ID: string(rune('a' + b/4%8)), Text: strings.Repeat("x", int(b)/32),
				Entity: &view.Entity{Kind: view.Thought, Content: slices.Repeat([]view.Content{{Kind: view.Text, Text: "y"}}, r.IntN(3))},
			})
			if r.IntN(3) == 0 && all.Snapshot().Pos() > follower.Snapshot().Pos() {
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				if u, err := sub.Update(ctx); err == nil {
					apply(t, &follower, u.Changes...)
					same(t, u.Snapshot, follower.Snapshot())
				}
			}
		}
	})
}

func TestSubscribeAtAPosition(t *testing.T) {
	var f view.Fold
	put := func(id, text string) {
		require.NoError(t, f.Apply(view.Change{Op: view.Upsert, ID: id, Entity: &view.Entity{Kind: view.Message, Content: []view.Content{{Kind: view.Text, Text: text}}}}))
	}
	put("a", "one")
	put("b", "two")
	pos := f.Snapshot().Pos()
	require.NoError(t, f.Apply(view.Change{Op: view.Append, ID: "b", Text: " more"}))
	require.NoError(t, f.Apply(view.Change{Op: view.Remove, ID: "a"}))
	put("c", "three")
	s := f.CursorAt(pos)
	u, err := s.Update(t.Context())
	require.NoError(t, err)
	require.Len(t, u.Changes, 3)
	require.Equal(t, view.Remove, u.Changes[0].Op, "the subscriber may know it")
	require.Equal(t, "two more", u.Changes[1].Entity.Text())
	require.Equal(t, view.Upsert, u.Changes[1].Op)
	require.Equal(t, "c", u.Changes[2].ID)
	require.NoError(t, f.Apply(view.Change{Op: view.Append, ID: "c", Text: "!"}))
	u, err = s.Update(t.Context())
	require.NoError(t, err)
	require.Equal(t, view.Append, u.Changes[0].Op)
	require.Equal(t, "!", u.Changes[0].Text)

	u, err = f.CursorAt(1000).Update(t.Context())
	require.NoError(t, err)
	require.Len(t, u.Changes, 2, "everything there is")
}

// A client that knows no more than the first change may know what has been removed, a client that knows nothing does not.
func TestRemovalsAreToldFromTheFirstPositionOn(t *testing.T) {
	var f view.Fold
	notice := &view.Entity{Kind: view.Notice}
	apply(t, &f, view.Change{Op: view.Upsert, ID: "a", Entity: notice})
	first := f.Snapshot().Pos()
	require.EqualValues(t, 1, first)
	apply(t, &f, view.Change{Op: view.Upsert, ID: "b", Entity: notice}, view.Change{Op: view.Remove, ID: "a"})
	for pos, want := range map[uint64][]view.Op{
		0:         {view.Upsert},
		first:     {view.Remove, view.Upsert},
		first + 1: {view.Remove},
		first + 2: nil,
		first + 3: {view.Upsert}, // which the fold has not reached
	} {
		var d view.Delta
		var told []view.Op
		for c := f.CursorAt(pos); c.Take(&d); {
			told = append(told, d.Op)
		}
		require.Equal(t, want, told, "position %d", pos)
	}
}

func TestSnapshotsAreReadFromBothEnds(t *testing.T) {
	var f view.Fold
	var want []string
	for n := range 200 {
		id := fmt.Sprint(n)
		require.NoError(t, f.Apply(view.Change{Op: view.Upsert, ID: id, Entity: &view.Entity{ID: id, Kind: view.Notice}}))
		if n%3 == 0 {
			require.NoError(t, f.Apply(view.Change{Op: view.Remove, ID: id}))
			continue
		}
		want = append(want, id)
	}
	s := f.Snapshot()
	var forward, backward []string
	for e := range s.All() {
		forward = append(forward, e.ID)
	}
	for e := range s.Backward() {
		backward = append(backward, e.ID)
	}
	slices.Reverse(backward)
	require.Equal(t, want, forward)
	require.Equal(t, want, backward)
	for e := range s.Backward() {
		require.Equal(t, want[len(want)-1], e.ID)
		require.Same(t, e, s.Last(view.Notice))
		break
	}
	require.Nil(t, s.Last(view.Plan))
	for range (*view.Snapshot)(nil).Backward() {
		t.Fatal("nil is empty")
	}
}
