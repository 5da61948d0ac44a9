// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/view"
)

// A status says whether more is expected, and of an answer that is not whole how to continue.
func TestStatusesEnd(t *testing.T) {
	const again = " Send a message to continue."
	for s, want := range map[view.Status]struct {
		ended bool
		text  string
	}{
		"": {}, view.Pending: {}, view.Running: {}, "else": {}, view.Completed: {true, ""}, view.Cancelled: {true, ""}, view.Stopped: {true, "Stopped." + again},
		view.CutOff: {true, "Cut off: the answer is not complete." + again}, view.Failed: {true, "Failed: the answer is not complete." + again},
		view.Interrupted: {true, "Interrupted: the program ended before the answer was complete." + again},
	} {
		require.Equal(t, want.ended, s.Ended(), s)
		require.Equal(t, want.text, s.Ending(), s)
	}
}

// What a patch says takes the place of what was known, and what it leaves empty stays. A status never goes back.
func TestEntitiesAreMerged(t *testing.T) {
	for _, c := range []struct{ before, patch, want view.Status }{
		{"", view.Pending, view.Pending}, {view.Pending, view.Running, view.Running}, {view.Running, view.Completed, view.Completed}, {view.Pending, view.Failed, view.Failed},
		{"", view.Cancelled, view.Cancelled}, {view.Pending, "else", "else"}, {"else", view.Completed, view.Completed},
		{view.Running, view.Pending, view.Running}, {view.Completed, view.Running, view.Completed}, {view.Completed, view.Failed, view.Completed}, {view.Running, "", view.Running},
		{view.Running, "else", view.Running}, {view.Failed, "", view.Failed}, {view.Pending, view.Pending, view.Pending},
	} {
		e := view.Entity{Status: c.before}
		e.Merge(&view.Entity{Status: c.patch})
		require.Equal(t, c.want, e.Status, "%v", c)
	}
	whole := view.Entity{
		ID: "a", Kind: view.ToolCall, Title: "T", Name: "N", Class: "read", Status: view.Running, Content: []view.Content{{Kind: view.Text, Text: "x"}},
		Locations: []view.Location{{Path: "/a"}}, Input: json.RawMessage(`1`), Output: json.RawMessage(`2`), Meta: json.RawMessage(`3`),
	}
	e := whole
	e.Merge(&view.Entity{ID: "b", Kind: view.Notice})
	require.Equal(t, whole, e)
	patch := view.Entity{
		Title: "T2", Name: "N2", Class: "edit", Status: view.Failed, Content: []view.Content{}, Locations: []view.Location{}, Input: json.RawMessage(`4`), Output: json.RawMessage(`5`), Meta: json.RawMessage(`6`),
	}
	e.Merge(&patch)
	patch.ID, patch.Kind = "a", view.ToolCall
	require.Equal(t, patch, e)
}

func TestTextOfContentIsJoined(t *testing.T) {
	text, picture := view.Content{Kind: view.Text, Text: "a"}, view.Content{Kind: view.Resource, Text: "not this"}
	for want, all := range map[string][]view.Content{"": nil, "a": {text}, "aa": {text, picture, text}, "aaa": {text, text, text}} {
		require.Equal(t, want, (&view.Entity{Content: all}).Text())
	}
	require.Empty(t, (&view.Entity{Content: []view.Content{picture}}).Text())
}

// Entities are found by their kind and from both ends, however many there are, and the walk can be left anywhere.
func TestSnapshotsAreWalked(t *testing.T) {
	var f view.Fold
	for i := range 200 {
		kind := view.Message
		if i%3 == 0 {
			kind = view.Notice
		}
		apply(t, &f, upsert(string(rune('A'+i)), view.Entity{Kind: kind}))
	}
	apply(t, &f, view.Change{Op: view.Remove, ID: string(rune('A' + 199))}, view.Change{Op: view.Remove, ID: "A"})
	s := f.Snapshot()
	for name, walk := range map[string]func(yield func(*view.Entity) bool){"all": s.All(), "messages": s.Of(view.Message), "notices": s.Of(view.Notice), "backward": s.Backward()} {
		var ids []string
		for e := range walk {
			ids = append(ids, e.ID)
		}
		require.Len(t, ids, map[string]int{"all": 198, "messages": 132, "notices": 66, "backward": 198}[name])
		for stop := range len(ids) {
			n := 0
			for e := range walk {
				if e.ID != ids[n] {
					require.Equal(t, ids[n], e.ID)
				}
				if n++; n > stop {
					break
				}
			}
			require.Equal(t, stop+1, n)
		}
	}
	require.Equal(t, string(rune('A'+198)), s.Last(view.Notice).ID)
	require.Equal(t, string(rune('A'+197)), s.Last(view.Message).ID)
	require.Nil(t, s.Last(view.Plan))
	again := s.Fold()
	same(t, s, again.Snapshot())
	require.EqualValues(t, 198, again.Snapshot().Pos())
	apply(t, again, upsert("more", view.Entity{Kind: view.Plan}))
	require.Nil(t, s.Get("more"))
	require.NotNil(t, s.Get("B"))
	require.Nil(t, s.Get("A"))
}

// A cursor says what its client has been shown, whether there is more, and when it is over.
func TestCursorsSayWhereTheyAre(t *testing.T) {
	var f view.Fold
	apply(t, &f, upsert("a", message("one")), upsert("b", message("two")))
	c := f.Cursor(nil)
	require.Same(t, &f, c.Fold())
	require.True(t, c.Behind())
	require.Nil(t, c.Shown("a"))
	var d view.Delta
	require.True(t, c.Take(&d))
	require.Equal(t, "a", d.ID)
	require.Equal(t, "one", c.Shown("a").Text())
	require.Nil(t, c.Shown("b"))
	require.Nil(t, c.Shown("none"))
	require.True(t, c.Behind())
	<-c.Changed()
	require.True(t, c.Take(&d))
	require.False(t, c.Take(&d))
	require.False(t, c.Behind())
	require.EqualValues(t, 2, c.Pos())
	changed := c.Changed()
	select {
	case <-changed:
		require.Fail(t, "nothing has changed")
	default:
	}
	apply(t, &f, appendText("a", "!"))
	<-changed
	require.True(t, c.Behind())
	require.True(t, c.Take(&d))
	require.Equal(t, "!", d.Text)
	c.Again()
	require.Equal(t, "one", c.Shown("a").Text())
	c.Again() // it is taken back once
	require.True(t, c.Take(&d))
	require.Equal(t, "!", d.Text)
	require.False(t, c.Take(&d))
	require.NoError(t, c.Ended())
	apply(t, &f, view.Change{Op: view.Remove, ID: "b"})
	require.True(t, c.Take(&d))
	require.Equal(t, view.Remove, d.Op)
	require.Nil(t, c.Shown("b"))
	f.End(nil)
	require.Error(t, c.Ended())
	<-c.Changed()

	var g view.Fold
	apply(t, &g, upsert("a", message("one!")), upsert("x", message("new")))
	other := g.CursorFrom(f.Snapshot())
	require.True(t, other.Take(&d))
	require.Equal(t, "x", d.ID, "what the client has is not told again")
	require.False(t, other.Take(&d))
}
