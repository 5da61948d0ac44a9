// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/view"
)

// A patch replaces what it has, and nothing else. A status never goes back.
func TestMergeReplacesWhatThePatchHas(t *testing.T) {
	before := func() view.Entity {
		return view.Entity{
			ID: "id", Kind: view.ToolCall, Parent: "p", Role: view.User, Title: "t", Name: "n", Class: "c", Status: view.Running,
			Content: []view.Content{{Kind: view.Text, Text: "x"}}, Locations: []view.Location{{Path: "/a"}}, Input: json.RawMessage(`1`), Output: json.RawMessage(`2`), Meta: json.RawMessage(`3`),
		}
	}
	for name, c := range map[string]struct {
		patch view.Entity
		want  func(e *view.Entity)
	}{
		"nothing": {view.Entity{}, func(*view.Entity) {}}, "what is the entity's own": {view.Entity{ID: "x", Kind: view.Plan, Parent: "x", Role: view.Assistant}, func(*view.Entity) {}},
		"title": {view.Entity{Title: "T"}, func(e *view.Entity) { e.Title = "T" }}, "name": {view.Entity{Name: "N"}, func(e *view.Entity) { e.Name = "N" }},
		"class":      {view.Entity{Class: "C"}, func(e *view.Entity) { e.Class = "C" }},
		"content":    {view.Entity{Content: []view.Content{{Kind: view.Text, Text: "y"}}}, func(e *view.Entity) { e.Content = []view.Content{{Kind: view.Text, Text: "y"}} }},
		"no content": {view.Entity{Content: []view.Content{}}, func(e *view.Entity) { e.Content = []view.Content{} }},
		"locations":  {view.Entity{Locations: []view.Location{{Path: "/b"}}}, func(e *view.Entity) { e.Locations = []view.Location{{Path: "/b"}} }},
		"input":      {view.Entity{Input: json.RawMessage(`4`)}, func(e *view.Entity) { e.Input = json.RawMessage(`4`) }},
		"output":     {view.Entity{Output: json.RawMessage(`4`)}, func(e *view.Entity) { e.Output = json.RawMessage(`4`) }},
		"meta":       {view.Entity{Meta: json.RawMessage(`4`)}, func(e *view.Entity) { e.Meta = json.RawMessage(`4`) }},
	} {
		got, want := before(), before()
		got.Merge(&c.patch)
		c.want(&want)
		require.Equal(t, want, got, name)
	}
	order := [][]view.Status{{""}, {view.Pending}, {view.Running}, {view.Completed, view.Failed, view.Cancelled}}
	for from, all := range order {
		for _, was := range all {
			for to, next := range order {
				for _, status := range next {
					e := view.Entity{Status: was}
					e.Merge(&view.Entity{Status: status})
					want := was
					if to > from {
						want = status
					}
					require.Equal(t, want, e.Status, "%q to %q", was, status)
				}
			}
		}
	}
}

// Snapshots of each number of entities around the size of a piece have all of them, in order and backwards, and find each.
func TestSnapshotsHaveAllOfTheirEntities(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, 127, 128, 129} {
		f := new(view.Fold)
		for i := range n {
			kind := view.Message
			if i%2 == 1 {
				kind = view.Notice
			}
			require.NoError(t, f.Apply(view.Change{Op: view.Upsert, ID: fmt.Sprint(i), Entity: &view.Entity{ID: fmt.Sprint(i), Kind: kind}}))
		}
		s := f.Snapshot()
		require.EqualValues(t, n, s.Pos())
		require.Equal(t, n, len(slices.Collect(s.All())))
		i := 0
		for e := range s.All() {
			require.Equal(t, fmt.Sprint(i), e.ID)
			require.Same(t, e, s.Get(e.ID))
			i++
		}
		require.Equal(t, n, i)
		for e := range s.Backward() {
			i--
			require.Equal(t, fmt.Sprint(i), e.ID)
		}
		require.Zero(t, i)
		require.Nil(t, s.Get(fmt.Sprint(n)))
		require.Nil(t, s.Get(""))
		odd := 0
		for e := range s.Of(view.Notice) {
			require.Equal(t, fmt.Sprint(2*odd+1), e.ID)
			odd++
		}
		require.Equal(t, n/2, odd)
		if last := s.Last(view.Message); n > 0 {
			require.Equal(t, fmt.Sprint((n-1)/2*2), last.ID)
		} else {
			require.Nil(t, last)
		}
		require.Nil(t, s.Last(view.Plan))
		require.Equal(t, s, f.Snapshot(), "nothing has changed")
		again := s.Fold().Snapshot()
		require.Equal(t, n, len(slices.Collect(again.All())))
		if n > 1 {
			require.NoError(t, f.Apply(view.Change{Op: view.Remove, ID: fmt.Sprint(n - 1)}))
			require.Equal(t, n-1, len(slices.Collect(f.Snapshot().All())))
			require.Nil(t, f.Snapshot().Get(fmt.Sprint(n-1)))
			require.NotNil(t, s.Get(fmt.Sprint(n-1)), "the snapshot from before has it")
			require.Equal(t, n, len(slices.Collect(s.All())))
		}
	}
}
