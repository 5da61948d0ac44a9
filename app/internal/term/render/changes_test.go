// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/render"
	"github.com/ponte-go/ponte/app/internal/term/text"
)

func upsert(e view.Entity) view.Change {
	e.ID = "e"
	return view.Change{Op: view.Upsert, ID: "e", Entity: &e}
}

// However an entity changes, folded or not, it looks as if it had been so from the beginning.
func TestChangedEntitiesLookLikeNewOnes(t *testing.T) {
	exit := &view.Exit{Code: 3}
	forms := []view.Entity{
		{Kind: view.Command, Title: "make", Content: says(numbered(3))}, {Kind: view.Command, Title: "make all", Content: says(numbered(250))},
		{Kind: view.Command, Title: "make all", Status: view.Failed, Exit: exit, Content: says(numbered(120))}, {Kind: view.Command, Title: "x"},
		{Kind: view.Thought, Content: says("one\n\ntwo\n\nthree")}, {Kind: view.Thought, Content: says("one")},
		{Kind: view.Message, Role: view.User, Content: says(numbered(230))}, {Kind: view.Message, Role: view.User, Content: says("two\n\nthree")},
		{Kind: view.Message, Role: view.Assistant, Content: says("one\n\ntwo\n\n- three\n\nfour")}, {Kind: view.Message, Role: view.Assistant, Content: says("one\n\n2\n\nfour")}, {Kind: view.Message, Role: view.Assistant},
		{Kind: view.ToolCall, Title: "Read", Content: says("a")}, {Kind: view.Notice, Title: "low"},
	}
	for _, width := range []int{40, 12} {
		for i := range forms {
			for j := range forms {
				if forms[i].Kind != forms[j].Kind || forms[i].Role != forms[j].Role {
					continue
				}
				for _, expanded := range []bool{false, true} {
					want := document(t, width)
					want.Expand(expanded)
					want.Apply([]view.Change{upsert(forms[j])})
					d := document(t, width)
					d.Expand(expanded)
					d.Apply([]view.Change{upsert(forms[i])})
					whole(d)
					d.Apply([]view.Change{upsert(forms[j])})
					require.Equal(t, whole(want), whole(d), "%v to %v, %v", forms[i], forms[j], expanded)
					d.Expand(!expanded)
					whole(d)
					d.Expand(expanded)
					require.Equal(t, whole(want), whole(d), "%v, expanded and back", forms[j])
					d.Apply([]view.Change{{Op: view.Remove, ID: "e"}})
					require.Empty(t, whole(d))
					d.Expand(!expanded)
					require.Empty(t, whole(d), "what is gone stays gone")
					d.Apply([]view.Change{upsert(forms[i])})
					d.Expand(expanded)
					d.Apply([]view.Change{upsert(forms[j])})
					require.Equal(t, whole(want), whole(d), "it comes again")
				}
			}
		}
	}
}

// Prompts are wrapped beside their mark.
func TestPromptsAreWrappedBesideTheirMark(t *testing.T) {
	for width, want := range map[int]string{12: "› aaaa bbbbb\n", 11: "› aaaa\n  bbbbb\n"} {
		d := document(t, width, upsert(view.Entity{Kind: view.Message, Role: view.User, Content: says("aaaa bbbbb")}))
		require.Equal(t, want, whole(d))
		for _, line := range strings.Split(want, "\n") {
			require.LessOrEqual(t, text.Width(line), width)
		}
	}
}

// Of a folded thought, the last four kilobytes of its last line count.
func TestTheEndOfALongThought(t *testing.T) {
	var b strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&b, "%04d ", i)
	}
	long := strings.TrimSpace(b.String()) // 19,999 bytes, of which 4,096 begin within 3180
	d := document(t, 14, upsert(view.Entity{Kind: view.Thought, Content: says(long)}))
	require.Equal(t, "✻ "+long[len(long)-4096:][:11]+"…\n", whole(d))
	d = document(t, 5000, upsert(view.Entity{Kind: view.Thought, Content: says("first\n" + long[:4096])}))
	require.Equal(t, "✻ "+strings.TrimSpace(long[:4096])+"\n", whole(d))
}

// A message may be of nothing but sources or pictures, in any order.
func TestMessagesOfSources(t *testing.T) {
	link := func(name string) view.Content {
		return view.Content{Kind: view.Link, Name: name, URI: "https://a.test/" + name}
	}
	file := view.Content{Kind: view.Link, Name: "f", URI: "file:///f"}
	text, image := view.Content{Kind: view.Text, Text: "x"}, view.Content{Kind: view.Image}
	for want, content := range map[string][]view.Content{
		"- [a] <https://a.test/a>\n- [b] <https://a.test/b>":                           {link("a"), link("b")},
		"- [a] <https://a.test/a>\n- [b] <https://a.test/b>\n- [c] <https://a.test/c>": {link("a"), link("b"), link("c")},
		"x\n\n- [a] <https://a.test/a>":                                                {text, link("a")},
		"- [a] <https://a.test/a>\n\nx\n\n- [b] <https://a.test/b>":                    {link("a"), text, link("b")},
		"[image]":                         {image},
		"[image]x[image]":                 {image, text, image},
		"[f]":                             {file},
		"[f]\n\n- [a] <https://a.test/a>": {file, link("a")},
		"xx":                              {text, text},
		"x\n\n- [f] <file:///f> for “x”":  {text, {Kind: view.Link, Name: "f", URI: "file:///f", Cites: []view.Span{{Start: 0, End: 1}}}},
		"x\n\n- [f] <file:///f>":          {text, {Kind: view.Link, Name: "f", URI: "file:///f", Cites: []view.Span{{Start: 0, End: 2}}}},
		"x[content of an unknown kind]":   {text, {Kind: view.Other}},
	} {
		require.Equal(t, want, render.Said(&view.Entity{Kind: view.Message, Content: content}))
	}
}

// Arguments are shown in full, however short.
func TestShortArguments(t *testing.T) {
	for input, want := range map[string]string{"": "○ Read\n", "7": "○ Read\n  7\n", "{}": "○ Read\n  {}\n"} {
		d := document(t, 40)
		d.Expand(true)
		d.Apply([]view.Change{upsert(view.Entity{Kind: view.ToolCall, Title: "Read", Input: json.RawMessage(input)})})
		require.Equal(t, want, whole(d))
	}
}

// Lines without an end are cut between characters, have no blank lines between their parts, and what
// follows the cut is looked at as the beginning of a piece.
func TestLinesWithoutAnEnd(t *testing.T) {
	p := render.Pieces{}
	p.Set(strings.Repeat("漢", 20<<10))
	require.Equal(t, []int{16383, 16383}, []int{len(p.Whole()[0]), len(p.Whole()[1])})
	for i := range 4 {
		require.False(t, p.Gap(i))
	}
	p = render.Pieces{}
	long := strings.Repeat("x", 16<<10) + "```" + strings.Repeat("y", 16<<10)
	p.Set(long)
	p.Set(long + "\n\na\n\nb\n```\n\nc\n\nd\n")
	whole := p.Whole()
	require.Equal(t, strings.Repeat("x", 16<<10), whole[0])
	require.Equal(t, "d\n", p.Last())
	require.Equal(t, "c\n\n", whole[len(whole)-1])
	require.NotContains(t, whole, "a\n\n", "it is within a block of code")

	p = render.Pieces{}
	p.Set("~~~~\na\n\n~~~   \n\nb\n~~~~  \n\nc\n")
	require.Equal(t, []string{"~~~~\na\n\n~~~   \n\nb\n~~~~  \n\n"}, p.Whole(), "three do not close what four have opened")
}

// The most recently drawn thousand blocks are kept: others are drawn again when they are looked at.
func TestBlocksAreDrawnOnce(t *testing.T) {
	d := document(t, 40)
	drawn := 0
	note := func(id int) {
		d.Note(fmt.Sprint(id), func(int, bool) []text.Line { drawn++; return []text.Line{text.Of("x", text.Style{})} })
	}
	for i := range 1000 {
		note(i)
	}
	for range 2 {
		whole(d)
		require.Equal(t, 1000, drawn)
	}
	note(1000)
	whole(d)
	require.Equal(t, 1001, drawn)
	whole(d)
	require.Equal(t, 2001, drawn, "all were forgotten but the last one")
	whole(d)
	require.Equal(t, 2001, drawn)
	d.SetWidth(41)
	lines, _ := d.From(d.Back(d.End(), 3), 3)
	require.Len(t, lines, 3)
	require.Equal(t, 2004, drawn, "what is looked at")
}
