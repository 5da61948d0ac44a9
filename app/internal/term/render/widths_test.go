// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/render"
)

// What is indented has the rest of the line, to the last column, and no more than that.
func TestLinesAreFullToTheLastColumn(t *testing.T) {
	answer := []view.Choice{{ID: "y", Title: "aaaa bbbb", Class: "allow_once"}}
	for _, c := range []struct {
		name   string
		entity view.Entity
		fits   int // columns that it needs
		want   string
		broken string
	}{
		{
			"an answer", view.Entity{Kind: view.Question, Status: view.Completed, Value: "y", Choices: answer},
			13, "  ↳ aaaa bbbb\n", "  ↳ aaaa\n  bbbb\n",
		},
		{"a command", view.Entity{Kind: view.Command, Title: "make all"}, 10, "$ make all\n", "$ make al\n  l\n"},
		{"a call", view.Entity{Kind: view.ToolCall, Title: "read all"}, 10, "○ read all\n", "○ read al\n  l\n"},
		{
			"a change", view.Entity{Kind: view.ToolCall, Title: "x", Content: []view.Content{changing("a", "", "abcdefghijklmnop\n")}},
			21, "○ x\n    a  +1 -0\n    @@ -0,0 +1,1 @@\n    +abcdefghijklmnop\n", "○ x\n    a  +1 -0\n    @@ -0,0 +1,1 @@\n    +abcdefghijklmno\n     p\n",
		},
		{
			"a notice", view.Entity{Kind: view.Notice, Title: "x", Content: says("aaaa bbbb")},
			11, "! x\n  aaaa bbbb\n", "! x\n  aaaa\n  bbbb\n",
		},
		{"a plan", view.Entity{Kind: view.Plan, Steps: []view.Step{{Text: "aaaa bbbb"}}}, 11, "☐ aaaa bbbb\n", "☐ aaaa\n  bbbb\n"},
	} {
		require.Equal(t, c.want, whole(document(t, c.fits, upsert(c.entity))), c.name)
		require.Equal(t, c.broken, whole(document(t, c.fits-1, upsert(c.entity))), c.name)
	}
	expanded := func(width int) string {
		d := document(t, width)
		d.Expand(true)
		d.Apply([]view.Change{upsert(view.Entity{Kind: view.Command, Title: "x", Content: says("abcdefgh")})})
		return whole(d)
	}
	require.Equal(t, "$ x\n│ abcdefgh\n", expanded(10))
	require.Equal(t, "$ x\n│ abcdefg\n│ h\n", expanded(9))
}

// Of a line of an output, the last 16 kilobytes are looked at.
func TestTheEndOfALongLineOfAnOutput(t *testing.T) {
	line := strings.Repeat("a", 1000) + strings.Repeat("b", 1000) + strings.Repeat("c", 16<<10-1000)
	for _, after := range []string{"", "\n", "\nnext\n"} {
		got := whole(document(t, 40_000, upsert(view.Entity{Kind: view.Command, Title: "x", Content: says("before\n" + line + after)})))
		want := "$ x\n│ before\n│ " + line[1000:] + "\n"
		if after == "\nnext\n" {
			want += "│ next\n"
		}
		require.True(t, want == got, "%q", after)
	}
}

// Lines that are added have nothing to be compared with.
func TestAddedLinesAreNotComparedWithEachOther(t *testing.T) {
	lines := render.Diff("a.go", &view.FileChange{New: "return one\nreturn two\n"}, 40)
	require.Equal(t, "a.go (new)  +2 -0\n@@ -0,0 +1,2 @@\n+return one\n+return two\n", plainOf(lines))
	for _, l := range lines {
		for _, s := range l {
			require.False(t, s.Style.Highlighted, l.Plain())
		}
	}
}

// A place that is some lines above another one may be in the first paragraph, which has several.
func TestScrollingBackIntoTheFirstParagraph(t *testing.T) {
	d := document(t, 40, message("one\\\ntwo\\\nthree\n\nfour\n"))
	all := "one\ntwo\nthree\n\nfour\n"
	require.Equal(t, all, whole(d))
	for n, want := range []string{"", "four\n", "\nfour\n", "three\n\nfour\n", "two\nthree\n\nfour\n", all, all} {
		lines, _ := d.From(d.Back(d.End(), n), 100)
		require.Equal(t, want, plainOf(lines), n)
	}
}

// A line without an end is cut between characters, whatever their bytes are.
func TestCharactersAreNotCut(t *testing.T) {
	for _, c := range []string{"é", "è", "漢", "✓", "🙂"} {
		for begin := range 5 {
			all := strings.Repeat("x", begin) + strings.Repeat(c, 33<<10/len(c))
			p := render.Pieces{}
			p.Set(all)
			require.Len(t, p.Whole(), 1)
			end := 16<<10 - (16<<10-begin)%len(c)
			require.Equal(t, end, len(p.Whole()[0]), "%d %s", begin, c)
			require.True(t, all[end:] == p.Last())
		}
	}
}

// Each piece has a hundred lines, not only the first one.
func TestAllPiecesHaveAHundredLines(t *testing.T) {
	p := render.Pieces{Code: true}
	p.Set(strings.Repeat("x\n", 299))
	require.Equal(t, []string{strings.Repeat("x\n", 100), strings.Repeat("x\n", 100)}, p.Whole())
	require.Equal(t, strings.Repeat("x\n", 99), p.Last())
}

// Blank lines at the beginning of an answer are not shown, however it comes.
func TestAnswersThatBeginWithBlankLines(t *testing.T) {
	for _, blank := range []string{"\n", "\n\n", "  \n", "\r\n\n"} {
		for _, rest := range []string{"one", "one\n\ntwo\n", "```\none\n```\n"} {
			want := whole(document(t, 40, message(rest)))
			require.Equal(t, want, whole(document(t, 40, message(blank+rest))), "%q", blank+rest)
			d := document(t, 40)
			for n := range len(blank + rest) {
				d.Apply([]view.Change{message((blank + rest)[:n+1])})
			}
			require.Equal(t, want, whole(d), "%q", blank+rest)
		}
	}
}

// The arguments are what a question is about if there is nothing else, however short they are.
func TestQuestionsAboutShortArguments(t *testing.T) {
	r := acpclient.PermissionRequest{Call: &view.Entity{Input: json.RawMessage("7")}}
	require.Equal(t, []string{"Arguments:\n7"}, render.Parts(&r, nil))
}

// Lines of up to 300 words are compared word by word, on either side.
func TestLinesOfManyWordsAreCompared(t *testing.T) {
	marks := func(n int, first string) string { return first + strings.Repeat(",", n-1) }
	for _, c := range []struct {
		old, now int
		compared bool
	}{
		{299, 299, true}, {300, 299, true}, {299, 300, true}, {300, 300, true},
		{301, 299, false}, {299, 301, false}, {301, 301, false},
	} {
		old, now := marks(c.old, "a")+"\n", marks(c.now, "b")+"\n"
		highlighted := 0
		for _, l := range render.Diff("x", &view.FileChange{Old: &old, New: now}, 1000) {
			for _, s := range l {
				if s.Style.Highlighted {
					highlighted++
				}
			}
		}
		require.Equal(t, c.compared, highlighted > 0, c)
	}
}
