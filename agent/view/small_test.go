// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/view"
)

// text and picture are content.
func text(s string) view.Content { return view.Content{Kind: view.Text, Text: s} }

var picture = view.Content{Kind: view.Image, Data: "eA=="}

// What a client has been shown of an entity is the entity, whatever its content ends with, and however
// much was appended since.
func TestShownEntitiesAreWholeAfterAppends(t *testing.T) {
	for name, content := range map[string][]view.Content{
		"nothing": nil, "text": {text("a")}, "two texts": {text("a"), text("b")}, "a picture": {picture}, "text and a picture": {text("a"), picture},
		"a picture and text": {picture, text("a")}, "three": {text("a"), picture, text("b")},
	} {
		for _, more := range []int{0, 1, 2} {
			var f view.Fold
			e := view.Entity{Kind: view.Message, Content: content}
			apply(t, &f, upsert("e", e))
			c := f.Cursor(nil)
			var d view.Delta
			require.True(t, c.Take(&d))
			for n := range more {
				apply(t, &f, appendText("e", fmt.Sprint("+", n)))
				require.True(t, c.Take(&d))
				require.Equal(t, view.Append, d.Op)
				require.Equal(t, fmt.Sprint("+", n), d.Text)
			}
			require.Equal(t, f.Get("e").Content, c.Shown("e").Content, "%s, %d appends", name, more)
			apply(t, &f, appendText("e", "!"))
			require.Len(t, c.Shown("e").Text(), len(f.Get("e").Text())-1, "%s: it has not been shown yet", name)
			require.True(t, c.Take(&d))
			c.Again()
			require.Len(t, c.Shown("e").Text(), len(f.Get("e").Text())-1, "%s: nor received", name)
			require.True(t, c.Take(&d))
			require.Equal(t, "!", d.Text)
			require.Equal(t, f.Get("e").Content, c.Shown("e").Content, name)
		}
	}
}

// The text of an entity is that of its texts, whatever else it has.
func TestTextOfTwoContents(t *testing.T) {
	for want, content := range map[string][]view.Content{
		"ab": {text("a"), text("b")}, "c": {text("c"), picture}, "d": {picture, text("d")}, "": {picture, picture},
	} {
		require.Equal(t, want, (&view.Entity{Content: content}).Text())
	}
}

// The first change of all can be marked as seen, and a client of its position is told of what follows.
func TestFirstChangeIsAPosition(t *testing.T) {
	var f view.Fold
	require.Zero(t, f.Snapshot().Pos())
	apply(t, &f, upsert("a", message("one")))
	require.EqualValues(t, 1, f.Snapshot().Pos())
	var d view.Delta
	c := f.Cursor(nil)
	c.Saw("a")
	require.False(t, c.Take(&d), "%+v", d)
	require.Equal(t, "one", c.Shown("a").Text())
	for pos, want := range map[uint64]int{0: 1, 1: 0, 2: 1} {
		n := 0
		for c := f.CursorAt(pos); c.Take(&d); n++ {
		}
		require.Equal(t, want, n, "position %d", pos)
	}
	apply(t, &f, view.Change{Op: view.Remove, ID: "a"})
	for pos, want := range map[uint64]int{0: 0, 1: 1, 2: 0} {
		n := 0
		for c := f.CursorAt(pos); c.Take(&d); n++ {
			require.Equal(t, view.Remove, d.Op)
		}
		require.Equal(t, want, n, "position %d", pos)
		u := 0
		if c := f.CursorAt(pos); c.Behind() {
			update, err := c.Update(t.Context())
			require.NoError(t, err)
			u = len(update.Changes)
		}
		require.Equal(t, want, u, "position %d", pos)
	}
}

// Entities that change in another order than they appeared in are told in the order of their places,
// also if they are two.
func TestTwoChangesAreToldInTheOrderOfTheEntities(t *testing.T) {
	for _, last := range []string{"a", "b"} {
		var f view.Fold
		apply(t, &f, upsert("a", message("one")), upsert("b", message("two")))
		c, u := f.Cursor(f.Snapshot()), f.Cursor(f.Snapshot())
		apply(t, &f, appendText("b", "!"), appendText("a", "!"), appendText(last, "?"))
		var d view.Delta
		for _, id := range []string{"a", "b"} {
			require.True(t, c.Behind())
			require.True(t, c.Take(&d))
			require.Equal(t, id, d.ID)
		}
		require.False(t, c.Behind())
		c.Again()
		require.True(t, c.Behind())
		<-c.Changed()
		require.True(t, c.Take(&d))
		require.Equal(t, "b", d.ID)
		update, err := u.Update(t.Context())
		require.NoError(t, err)
		require.Len(t, update.Changes, 2)
		require.Equal(t, []string{"a", "b"}, []string{update.Changes[0].ID, update.Changes[1].ID})
	}
}

// What is taken back comes first again, before what has not been taken yet.
func TestWhatIsTakenBackComesFirst(t *testing.T) {
	var f view.Fold
	apply(t, &f, upsert("a", message("one")), upsert("b", message("two")), upsert("c", message("three")))
	c := f.Cursor(nil)
	var d view.Delta
	require.True(t, c.Take(&d))
	c.Again()
	for _, id := range []string{"a", "b", "c"} {
		require.True(t, c.Take(&d))
		require.Equal(t, id, d.ID)
	}
	require.False(t, c.Take(&d))
}

// A change of content is told as what was added if the rest is as it was.
func TestAddedContentIsTold(t *testing.T) {
	b := []view.Content{text("b")}
	for name, c := range map[string]struct {
		before, now []view.Content
		op          view.Op
		text        string
		more        []view.Content
	}{
		"text to nothing":            {nil, b, view.Append, "b", nil},
		"a picture to nothing":       {nil, []view.Content{picture}, view.Append, "", []view.Content{picture}},
		"both to nothing":            {nil, []view.Content{text("b"), picture}, view.Append, "b", []view.Content{picture}},
		"text to text":               {[]view.Content{text("a")}, []view.Content{text("ab")}, view.Append, "b", nil},
		"a text to text":             {[]view.Content{text("a")}, []view.Content{text("a"), text("b")}, view.Append, "", b},
		"both to text":               {[]view.Content{text("a")}, []view.Content{text("ab"), picture}, view.Append, "b", []view.Content{picture}},
		"text to a picture":          {[]view.Content{picture}, []view.Content{picture, text("b")}, view.Append, "b", nil},
		"a link to a picture":        {[]view.Content{picture}, []view.Content{picture, {Kind: view.Link, URI: "u"}}, view.Append, "", []view.Content{{Kind: view.Link, URI: "u"}}},
		"a text with more":           {[]view.Content{picture}, []view.Content{picture, {Kind: view.Text, Text: "b", Name: "n"}}, view.Append, "", []view.Content{{Kind: view.Text, Text: "b", Name: "n"}}},
		"text behind two":            {[]view.Content{picture, text("a")}, []view.Content{picture, text("ab")}, view.Append, "b", nil},
		"other text":                 {[]view.Content{text("a")}, b, view.Upsert, "", nil},
		"another picture":            {[]view.Content{{Kind: view.Image}, text("a")}, []view.Content{picture, text("ab")}, view.Upsert, "", nil},
		"another picture, and text":  {[]view.Content{{Kind: view.Image}}, []view.Content{picture, text("b")}, view.Upsert, "", nil},
		"the name of a text":         {[]view.Content{text("a")}, []view.Content{{Kind: view.Text, Text: "ab", Name: "n"}}, view.Upsert, "", nil},
		"less":                       {[]view.Content{text("a"), picture}, []view.Content{text("a")}, view.Upsert, "", nil},
		"text that became a picture": {[]view.Content{text("a")}, []view.Content{picture}, view.Upsert, "", nil},
	} {
		var f view.Fold
		apply(t, &f, upsert("e", view.Entity{Kind: view.Message, Content: c.before}))
		cursor := f.Cursor(f.Snapshot())
		apply(t, &f, upsert("e", view.Entity{Kind: view.Message, Content: c.now}))
		var d view.Delta
		require.True(t, cursor.Take(&d), name)
		require.Equal(t, c.op, d.Op, name)
		if c.op == view.Append {
			require.Equal(t, c.text, d.Text, name)
			require.Equal(t, c.more, d.Content, name)
			require.Nil(t, d.Entity, name)
		}
		require.False(t, cursor.Take(&d), name)
		require.Equal(t, c.now, cursor.Shown("e").Content, name)
	}
}
