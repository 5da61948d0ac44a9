// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/render"
	"github.com/ponte-go/ponte/app/internal/term/text"
)

var update = flag.Bool("update", false, "write the golden files")

var sgr = regexp.MustCompile(`\x1b\[([0-9;]*)m`)

// styled returns lines with the codes of their styles in ‹›.
func styled(lines []text.Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.ReplaceAll(sgr.ReplaceAllString(l.ANSI(true), "‹$1›"), "‹0›", "‹›") + "⏎\n")
	}
	return b.String()
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func says(s string) []view.Content { return []view.Content{{Kind: view.Text, Text: s}} }

func changing(path, old, now string) view.Content {
	return view.Content{Kind: view.Diff, Diff: &view.FileChange{Path: path, Old: &old, New: now}}
}

// entities are what conversations show, by what is special about them.
var entities = []struct {
	name string
	view.Entity
}{
	{"a user's message", view.Entity{Kind: view.Message, Role: view.User, Content: says("read the whole of a.txt and tell me\n\nwhat it *says*\n")}},
	{"an empty message", view.Entity{Kind: view.Message, Role: view.User}},
	{"an answer", view.Entity{Kind: view.Message, Role: view.Assistant, Content: says("# It\n\nsays **one** and `two`.\n\n- a\n- b\x1b[31m")}},
	{"an answer that was stopped", view.Entity{Kind: view.Message, Role: view.Assistant, Status: view.Stopped, Content: says("It")}},
	{"an answer with media", view.Entity{Kind: view.Message, Role: view.Assistant, Content: []view.Content{
		{Kind: view.Image}, {Kind: view.Text, Text: "and"}, {Kind: view.Audio}, {Kind: view.Resource}, {Kind: view.Other}, {Kind: view.Link, Name: "a\nb", URI: "file:///a"},
		{Kind: view.Link, Name: "c", URI: "https://c.test"}, {Kind: view.Link, Name: "d", URI: "https://d.test"}, {Kind: view.Text, Text: "end"},
	}}},
	{"a thought", view.Entity{Kind: view.Thought, Content: says("First I look at the file.\nThen I think about what it says\tand\x1b[1m more\n")}},
	{"an empty thought", view.Entity{Kind: view.Thought, Content: says(" \n")}},
	{"a long thought", view.Entity{Kind: view.Thought, Content: says(strings.Repeat("x", 100))}},
	{"a call that waits", view.Entity{Kind: view.ToolCall, Title: "Read a.txt\nnow", Input: json.RawMessage(`{"path":"a.txt"}`)}},
	{"a call that runs", view.Entity{Kind: view.ToolCall, Title: "Read a.txt", Status: view.Running, Content: says("half")}},
	{"a call that is done", view.Entity{Kind: view.ToolCall, Title: "Read a.txt with a title that is longer than the line", Status: view.Completed, Content: says("\none\n\ttwo\n\n"), Input: json.RawMessage(`{}`)}},
	{"a call that was cancelled", view.Entity{Kind: view.ToolCall, Title: "Read a.txt", Status: view.Cancelled, Content: says("why")}},
	{"a call that failed", view.Entity{Kind: view.ToolCall, Title: "Read a.txt", Status: view.Failed, Content: says("no such file or directory: a.txt\n")}},
	{"a call that failed in six lines", view.Entity{Kind: view.ToolCall, Title: "Read a.txt", Status: view.Failed, Content: says(numbered(6))}},
	{"a call that failed in seven lines", view.Entity{Kind: view.ToolCall, Title: "Read a.txt", Status: view.Failed, Content: says(numbered(7))}},
	{"a call with the output of a command", view.Entity{Kind: view.ToolCall, Title: "Run", Status: view.Completed, Content: []view.Content{{Kind: view.Output, Ref: "c"}}}},
	{"a change", view.Entity{Kind: view.ToolCall, Title: "Edit a.txt", Status: view.Completed, Content: []view.Content{changing("/repo/a.txt", "one\ntwo\nthree\n", "one\n2\nthree\n"), {Kind: view.Text, Text: "done"}}}},
	{"two changes", view.Entity{Kind: view.ToolCall, Title: "Edit", Status: view.Completed, Content: []view.Content{changing("/repo/sub/a.txt", "a", "b"), changing("/other/b.txt", "", "new\n")}}},
	{"a change of 25 lines", view.Entity{Kind: view.ToolCall, Title: "Edit", Status: view.Completed, Content: []view.Content{changing("/repo/a.txt", "", numbered(23))}}},
	{"a change of 26 lines", view.Entity{Kind: view.ToolCall, Title: "Edit", Status: view.Completed, Content: []view.Content{changing("/repo/a.txt", "", numbered(24))}}},
	{"a command that runs", view.Entity{Kind: view.Command, Title: "go test ./...", Dir: "/repo", Status: view.Running, Content: says("a\nb\x1b[32m\n10 %\r20 %\n")}},
	{"a command in another directory", view.Entity{Kind: view.Command, Title: "make", Dir: "/repo/sub", Status: view.Completed, Exit: &view.Exit{}}},
	{"a command outside", view.Entity{Kind: view.Command, Title: "make", Dir: "/tmp", Status: view.Failed, Exit: &view.Exit{Code: 2}, Content: says("\n")}},
	{"a command that was killed", view.Entity{Kind: view.Command, Title: "make", Status: view.Failed, Exit: &view.Exit{Signal: "KILL\n"}, Content: says("no end")}},
	{"a command that was ended", view.Entity{Kind: view.Command, Title: "make", Status: view.Cancelled, Content: says("\n\nx\n\n")}},
	{"a command with six lines", view.Entity{Kind: view.Command, Title: "seq 6", Status: view.Completed, Exit: &view.Exit{}, Content: says(numbered(6))}},
	{"a command with seven lines", view.Entity{Kind: view.Command, Title: "seq 7", Status: view.Completed, Exit: &view.Exit{}, Content: says(numbered(7))}},
	{"a command with eight lines", view.Entity{Kind: view.Command, Title: "seq 8", Status: view.Completed, Exit: &view.Exit{}, Content: says(numbered(8))}},
	{"a command with an empty line above", view.Entity{Kind: view.Command, Title: "seq 6", Status: view.Completed, Exit: &view.Exit{}, Content: says("\n" + numbered(6))}},
	{"a command with a long line", view.Entity{Kind: view.Command, Title: "cat " + strings.Repeat("漢", 40), Status: view.Completed, Exit: &view.Exit{}, Content: says(strings.Repeat("漢", 40) + "\n" + strings.Repeat("y", 100))}},
	{"a plan", view.Entity{Kind: view.Plan, Steps: []view.Step{{Text: "look\nat it", Status: view.Completed}, {Text: "think about all of it for a while, and then some", Status: view.Running}, {Text: "write", Status: view.Pending}}}},
	{"a notice", view.Entity{Kind: view.Notice, Title: "It is\nlate", Class: "info"}},
	{"an error", view.Entity{Kind: view.Notice, Title: "The disk is full, and there is nothing to be done", Class: "error", Content: says("disk: full\n\x1b[1mof it")}},
	{"an open question", view.Entity{Kind: view.Question, Title: "May I?", Status: view.Running}},
	{"a question that was allowed", view.Entity{Kind: view.Question, Status: view.Completed, Value: "y", Choices: []view.Choice{{ID: "n", Title: "No", Class: "reject_once"}, {ID: "y", Title: "Yes\nplease", Class: "allow_once"}}}},
	{"a question that was rejected", view.Entity{Kind: view.Question, Status: view.Completed, Value: "n", Choices: []view.Choice{{ID: "n", Title: "No", Class: "reject_once"}, {ID: "y", Title: "Yes", Class: "allow_once"}}}},
	{"a question that was withdrawn", view.Entity{Kind: view.Question, Status: view.Cancelled, Choices: []view.Choice{{Title: "No"}, {ID: "y", Title: "Yes", Class: "allow_once"}}}},
	{"a form that was answered", view.Entity{Kind: view.Question, Status: view.Completed, Value: "accept"}},
	{"a form that was declined", view.Entity{Kind: view.Question, Status: view.Completed, Value: "decline"}},
	{"a summary", view.Entity{Kind: view.Compaction, Title: "x"}},
	{"an agent", view.Entity{Kind: view.SubAgent, Title: "researcher\nwith a long title"}},
	{"usage", view.Entity{Kind: view.Usage}},
	{"options", view.Entity{Kind: view.Options}},
	{"commands", view.Entity{Kind: view.Commands}},
	{"a session", view.Entity{Kind: view.Session}},
	{"a prompt that waits", view.Entity{Kind: view.Waiting}},
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	file = "testdata/" + file
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), got, "%s: go test -update writes it anew", file)
}

// What people see of everything that happens in a conversation, folded and unfolded, on a narrow screen and a wide one,
// and where their terminal wraps.
func TestEntities(t *testing.T) {
	var b strings.Builder
	for _, e := range entities {
		e.ID = "e"
		d := document(t, 60, view.Change{Op: view.Upsert, ID: "e", Entity: &e.Entity})
		fmt.Fprintf(&b, "=== %s\n", e.name)
		last := ""
		show := func(how string) {
			lines, _ := d.From(render.Pos{}, 1<<30)
			if got := styled(lines); got != last {
				fmt.Fprintf(&b, "--- %s\n%s", how, got)
				last = got
			}
		}
		show("folded")
		if lines, _ := d.From(render.Pos{}, 1<<30); len(lines) < 15 {
			d.SetWidth(20)
			show("narrow")
			d.SetWidth(60)
		}
		d.Expand(true)
		last = ""
		show("unfolded")
		require.Equal(t, last, styled(d.Print(60)), "%s is printed as it is shown", e.name)
		d.Expand(false)
	}
	golden(t, "entities.golden", strings.ReplaceAll(b.String(), "sub"+string(filepath.Separator), "sub/"))
}

// Messages and thoughts have a blank line around them, and what belongs together has none.
func TestBlankLinesBetweenEntities(t *testing.T) {
	kinds := map[string]view.Entity{
		"m": {Kind: view.Message, Role: view.User, Content: says("m")}, "t": {Kind: view.Thought, Content: says("t")}, "c": {Kind: view.ToolCall, Title: "c"},
		"e": {Kind: view.Thought}, "s": {Kind: view.Notice, Title: "s"}, "n": {}, "u": {Kind: view.Usage},
	}
	for order, want := range map[string]string{
		"m": "› m\n", "mm": "› m\n\n› m\n", "mc": "› m\n\n○ c\n", "cm": "○ c\n\n› m\n", "cc": "○ c\n○ c\n", "ct": "○ c\n\n✻ t\n", "tc": "✻ t\n\n○ c\n",
		"cs": "○ c\n! s\n", "ec": "\n○ c\n", "cec": "○ c\n\n○ c\n", "n": "note\n", "nc": "note\n○ c\n", "cn": "○ c\nnote\n", "nn": "note\nnote\n", "mn": "› m\n\nnote\n",
		"nm": "note\n\n› m\n", "um": "› m\n", "mum": "› m\n\n› m\n",
	} {
		d := document(t, 40)
		for i, k := range order {
			id := fmt.Sprint(i)
			if k == 'n' {
				d.Note(id, func(int, bool) []text.Line { return []text.Line{text.Of("note", text.Style{})} })
				continue
			}
			e := kinds[string(k)]
			d.Apply([]view.Change{{Op: view.Upsert, ID: id, Entity: &e}})
		}
		require.Equal(t, want, whole(d), order)
	}
}

// A remark knows the width and whether it is folded, and can be replaced where it stands.
func TestNotes(t *testing.T) {
	d := document(t, 30)
	note := func(id, name string) {
		d.Note(id, func(width int, expanded bool) []text.Line {
			return []text.Line{text.Of(fmt.Sprintf("%s%d%t", name, width, expanded), text.Style{})}
		})
	}
	note("1", "a")
	note("2", "b")
	require.Equal(t, "a30false\nb30false\n", whole(d))
	note("1", "c")
	require.Equal(t, "c30false\nb30false\n", whole(d))
	d.Expand(true)
	require.True(t, d.Expanded())
	d.SetWidth(20)
	require.Equal(t, "c20true\nb20true\n", whole(d))
	d.Expand(false)
	require.False(t, d.Expanded())
	require.Equal(t, "c20false\nb20false\n", whole(d))
	require.Equal(t, "c9false\nb9false\n", plainOf(d.Print(9)))
}

// What is drawn is kept, until something changes.
func TestLinesAreDrawnOnce(t *testing.T) {
	d, drawn := document(t, 30), 0
	for i := range 1000 {
		d.Note(fmt.Sprint(i), func(int, bool) []text.Line { drawn++; return []text.Line{nil} })
	}
	whole(d)
	require.Equal(t, 1000, drawn)
	whole(d)
	d.SetWidth(30)
	d.Expand(false)
	whole(d)
	require.Equal(t, 1000, drawn)
	d.SetWidth(31)
	whole(d)
	require.Equal(t, 2000, drawn)
	d.Expand(true)
	whole(d)
	require.Equal(t, 3000, drawn)
	d.Note("more", func(int, bool) []text.Line { return nil })
	whole(d)
	require.Equal(t, 3000, drawn, "what was drawn is forgotten once it is too much")
	whole(d)
	require.Equal(t, 4000, drawn)
}

func TestUsageIsDescribed(t *testing.T) {
	for want, tokens := range map[string]*view.Tokens{
		"":                                   nil,
		"context: 0 tokens":                  {},
		"context: 5 tokens":                  {Used: 5},
		"context: 1 of 3 tokens (33 %)":      {Used: 1, Size: 3},
		"context: 2 of 1 tokens (200 %)":     {Used: 2, Size: 1},
		"context: 5 tokens, cost: 0.1235 US": {Used: 5, Cost: 0.12345, Currency: "\nUS"},
	} {
		require.Equal(t, want, render.Usage(tokens))
	}
}

func TestDiffsOfManyLines(t *testing.T) {
	var b strings.Builder
	words := func(n int, first string) string { return first + strings.Repeat(" w", n-1) }
	for _, c := range []struct{ name, old, now string }{
		{"one word", "a b c\n", "a x c\n"},
		{"spaces", "a  b\n", "a b\n"},
		{"added", "a b\n", "a b c\n"},
		{"added in front", "b\n", "a b\n"},
		{"taken away", "a b c\n", "b\n"},
		{"a third is the same", "abc def ghi\n", "abc 123 456\n"},
		{"less than a third is the same", "ab def ghij\n", "ab 123 4567\n"},
		{"nothing is the same", "abc\n", "xyz\n"},
		{"punctuation", "f(a,b)\n", "f(a;b)\n"},
		{"combined letters", "e\u0301a\u200db_c 1\n", "e\u0301a\u200db_d 1\n"},
		{"two lines for two", "a b\nc d\n", "a x\nc y\n"},
		{"two lines for one", "a b\nc d\n", "a x\n"},
		{"one line for two", "a b\n", "a x\nc y\n"},
		{"no line break", "a b", "a c"},
		{"300 words", words(150, "a") + "\n", words(150, "b") + "\n"},
		{"301 words", words(151, "a") + "\n", words(151, "b") + "\n"},
		{"301 words before", words(151, "a") + "\n", words(150, "b") + "\n"},
		{"nothing", "", "a\n"},
		{"everything", "a\n", ""},
		{"far apart", "a\n" + numbered(8) + "b\n", "A\n" + numbered(8) + "B\n"},
	} {
		fmt.Fprintf(&b, "=== %s\n%s", c.name, strings.ReplaceAll(styled(render.Diff("a.go", &view.FileChange{Old: &c.old, New: c.now}, 1000)), strings.Repeat(" w", 149), "(149w)"))
	}
	golden(t, "diffs.golden", b.String())
	for n, highlighted := range map[int]bool{100: true, 101: false} {
		old, now := strings.Repeat("a b\n", n), strings.Repeat("a c\n", n)
		require.Equal(t, highlighted, strings.Contains(styled(render.Diff("a.go", &view.FileChange{Old: &old, New: now}, 40)), "‹7;"), n)
	}
}

func TestChangesAreTheSame(t *testing.T) {
	a, b := "a", "b"
	base := view.FileChange{Path: "p", Old: &a, New: "n"}
	require.True(t, render.SameChange(&base, &view.FileChange{Path: "p", Old: new("a"), New: "n"}))
	require.True(t, render.SameChange(&view.FileChange{New: "n"}, &view.FileChange{New: "n"}))
	for _, other := range []view.FileChange{{Path: "q", Old: &a, New: "n"}, {Path: "p", Old: &b, New: "n"}, {Path: "p", Old: &a, New: "m"}, {Path: "p", New: "n"}} {
		require.False(t, render.SameChange(&base, &other))
		require.False(t, render.SameChange(&other, &base))
	}
}
