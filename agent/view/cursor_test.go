// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/view"
)

// client is what a client makes of the deltas that it is told.
type client struct {
	view.Fold
	t testing.TB
}

// told applies a delta, and checks that the cursor knows what the client has.
func (c *client) told(d *view.Delta) {
	c.t.Helper()
	have := c.Get(d.ID)
	change := view.Change{Op: d.Op, ID: d.ID, Entity: d.Entity, Text: d.Text, Content: d.Content}
	switch d.Op {
	case view.Upsert:
		if !reflect.DeepEqual(have, d.Known) {
			require.Equal(c.t, have, d.Known)
		}
		require.NotEqual(c.t, d.Known, d.Entity, "nothing has changed")
		require.Equal(c.t, d.Entity.Kind, d.Kind)
	case view.Append:
		require.NotNil(c.t, have)
		require.True(c.t, d.Text != "" || len(d.Content) > 0)
		require.Nil(c.t, d.Entity)
	}
	require.NoError(c.t, c.Apply(change))
}

// Random changes, and a client that is told of them at random times and does not always get what it is told: it has what
// the fold has.
func TestClientsAreToldWhatTheyHaveNotBeenShown(t *testing.T) {
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 3))
		var f view.Fold
		c := &client{t: t}
		cursor := f.Cursor(nil)
		var d view.Delta
		follow := func() {
			for cursor.Take(&d) {
				if r.IntN(4) == 0 {
					cursor.Again()
					continue
				}
				c.told(&d)
				if r.IntN(3) == 0 { // changes come while it is being told
					apply(t, &f, randomChange(r, &f))
				}
			}
			same(t, f.Snapshot(), c.Snapshot())
		}
		for range r.IntN(200) {
			apply(t, &f, randomChange(r, &f))
			switch r.IntN(15) {
			case 0:
				follow()
			case 1:
				_ = f.Snapshot() // which makes the entities anew
			case 2:
				cursor, c = f.Cursor(f.Snapshot()), &client{t: t}
				for e := range f.Snapshot().All() {
					apply(t, &c.Fold, view.Change{Op: view.Upsert, ID: e.ID, Entity: e})
				}
			}
		}
		if f.Snapshot().Pos() > 0 {
			follow()
		}
	}
}

func TestCursorAndUpdatesGoTogether(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 4))
		var f view.Fold
		c := &client{t: t}
		cursor := f.Cursor(nil)
		var d view.Delta
		for range 100 {
			before := f.Snapshot().Pos()
			apply(t, &f, randomChange(r, &f))
			if f.Snapshot().Pos() == before {
				continue
			}
			switch r.IntN(4) {
			case 0:
				u, err := cursor.Update(t.Context())
				require.NoError(t, err)
				apply(t, &c.Fold, u.Changes...)
			case 1:
				for cursor.Take(&d) {
					c.told(&d)
				}
			default:
				continue
			}
			same(t, f.Snapshot(), c.Snapshot())
		}
	}
}

func TestWhatDoesNotDifferIsNotTold(t *testing.T) {
	var f view.Fold
	cursor := f.Cursor(nil)
	var d view.Delta
	apply(t, &f, upsert("a", message("one")))
	require.True(t, cursor.Take(&d))
	apply(t, &f, upsert("a", message("one")))
	require.False(t, cursor.Take(&d), "it is the same")
	apply(t, &f, upsert("a", message("one two")))
	require.True(t, cursor.Take(&d))
	require.Equal(t, view.Delta{Op: view.Append, ID: "a", Kind: view.Message, Role: view.Assistant, Text: " two"}, d)
	apply(t, &f, appendText("a", " three"), view.Change{Op: view.Append, ID: "a", Content: []view.Content{{Kind: view.Image}}})
	require.True(t, cursor.Take(&d))
	require.Equal(t, " three", d.Text)
	require.Equal(t, []view.Content{{Kind: view.Image}}, d.Content)
	apply(t, &f, upsert("b", message("brief")), view.Change{Op: view.Remove, ID: "b"})
	require.False(t, cursor.Take(&d), "it came and went")
	apply(t, &f, upsert("a", message("another")))
	require.True(t, cursor.Take(&d))
	require.Equal(t, "one two three", d.Known.Content[0].Text)
	require.Equal(t, "another", d.Entity.Text())
}

func TestClientsAreNotToldWhatTheySkipOrSaw(t *testing.T) {
	var f view.Fold
	cursor := f.Cursor(nil)
	cursor.Skip(view.Notice, view.Plan)
	apply(t, &f, upsert("n", view.Entity{Kind: view.Notice}), upsert("p", view.Entity{Kind: view.Plan}), upsert("mine", message("hello")), upsert("a", message("x")))
	cursor.Saw("mine")
	cursor.Saw("unknown")
	var d view.Delta
	require.True(t, cursor.Take(&d))
	require.Equal(t, "a", d.ID)
	require.False(t, cursor.Take(&d))
	apply(t, &f, appendText("mine", " again"), view.Change{Op: view.Remove, ID: "n"})
	require.True(t, cursor.Take(&d))
	require.Equal(t, " again", d.Text)
	require.False(t, cursor.Take(&d))
}

func TestNextWaitsForAChange(t *testing.T) {
	var f view.Fold
	cursor := f.Cursor(nil)
	got := make(chan string)
	go func() {
		defer close(got)
		for {
			var d view.Delta
			if err := cursor.Next(t.Context(), &d); err != nil {
				if err != io.EOF {
					got <- err.Error()
				}
				return
			}
			got <- string(d.Op) + " " + d.ID
		}
	}()
	apply(t, &f, upsert("a", message("x")))
	require.Equal(t, "upsert a", <-got)
	apply(t, &f, appendText("a", "y"))
	require.Equal(t, "append a", <-got)
	apply(t, &f, view.Change{Op: view.Remove, ID: "a"})
	require.Equal(t, "remove a", <-got)
	f.End(nil)
	_, more := <-got
	require.False(t, more)
}

func TestTakingAppendedTextDoesNotAllocate(t *testing.T) {
	var f view.Fold
	apply(t, &f, upsert("a", message("x")), upsert("b", message("x")))
	cursor := f.Cursor(nil)
	var d view.Delta
	for cursor.Take(&d) {
	}
	const n = 10_000
	allocs := testing.AllocsPerRun(5, func() {
		for i := range n {
			_ = f.Apply(appendText([]string{"a", "b"}[i%2], "a few more words "))
			if !cursor.Take(&d) || d.Op != view.Append || d.Text != "a few more words " {
				panic(fmt.Sprint(d))
			}
		}
	})
	require.Less(t, allocs/n, 0.02)
}

func ExampleCursor() {
	var f view.Fold
	_ = f.Apply(view.Change{Op: view.Upsert, ID: "m1", Entity: &view.Entity{Kind: view.Message, Role: view.Assistant}})
	client := f.Cursor(nil)
	var d view.Delta
	for client.Take(&d) {
		fmt.Println(d.Op, d.ID)
	}
	for _, word := range []string{"Hello,", " world"} {
		_ = f.Apply(view.Change{Op: view.Append, ID: "m1", Text: word})
	}
	for client.Take(&d) {
		fmt.Printf("%s %s %q\n", d.Op, d.ID, d.Text)
	}
	// Output:
	// upsert m1
	// append m1 "Hello, world"
}
