// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/render"
	"github.com/ponte-go/ponte/app/internal/term/text"
	"github.com/ponte-go/ponte/toolset"
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
	{"a call that waits", view.Entity{Kind: view.ToolCall, Title: "Read a.txt\nnow", Input: json.RawMessage(`{"path":"a.txt and so on for longer than there is room in one line"}`)}},
	{"a call that runs", view.Entity{Kind: view.ToolCall, Title: "Read a.txt", Status: view.Running, Content: says("half")}},
	{"a call that is done", view.Entity{Kind: view.ToolCall, Title: "Read a.txt with a title that is longer than the line", Status: view.Completed, Content: says("\none\n\ttwo\n" + strings.Repeat("i", 80) + "\n\n"), Input: json.RawMessage(`{}`)}},
	{"a call that was cancelled", view.Entity{Kind: view.ToolCall, Title: "Read a.txt", Status: view.Cancelled, Content: says("why")}},
	{"a call that failed", view.Entity{Kind: view.ToolCall, Title: "Read a.txt", Status: view.Failed, Content: says("no such file or directory: a.txt\n" + strings.Repeat("i", 80) + "\n")}},
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
	{"a plan", view.Entity{Kind: view.Plan, Steps: []view.Step{{Text: "look\nat it", Status: view.Completed}, {Text: "think about all of it for a while, and then some", Status: view.Running}, {Text: strings.Repeat("i", 80), Status: view.Pending}}}},
	{"a notice", view.Entity{Kind: view.Notice, Title: "It is\nlate", Class: "info"}},
	{"an error", view.Entity{Kind: view.Notice, Title: "The disk is full, and there is nothing to be done", Class: "error", Content: says("disk: full\n\x1b[1mof it\n" + strings.Repeat("i", 80))}},
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

// What is not highlighted is the same in both lines, and as much as can be.
func TestAsMuchAsPossibleIsTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	words := []string{"a", "bb", "ccc", " ", "(", "é", "d1_"}
	line := func() (all []string) {
		for range 2 + r.IntN(8) {
			all = append(all, words[r.IntN(len(words))])
			if len(all) > 1 && all[len(all)-2] != " " && all[len(all)-1] != " " && all[len(all)-2] != "(" && all[len(all)-1] != "(" {
				all = append(all[:len(all)-1], " ") // words beside each other would be one
			}
		}
		return all
	}
	var common func(a, b []string) int
	common = func(a, b []string) int {
		if len(a) == 0 || len(b) == 0 {
			return 0
		}
		most := max(common(a[1:], b), common(a, b[1:]))
		if a[0] == b[0] {
			most = max(most, common(a[1:], b[1:])+len(a[0]))
		}
		return most
	}
	one := func(all []string) (tokens []string) { // runs of spaces are one
		for _, s := range all {
			if n := len(tokens); n > 0 && s == " " && strings.HasSuffix(tokens[n-1], " ") {
				tokens[n-1] += s
				continue
			}
			tokens = append(tokens, s)
		}
		return tokens
	}
	for range 300 {
		a, b := one(line()), one(line())
		before, after := strings.Join(a, ""), strings.Join(b, "")
		if before == after {
			continue
		}
		old := before + "\n"
		lines := render.Diff("x", &view.FileChange{Old: &old, New: after + "\n"}, 1000)
		same := []string{"", ""}
		for i, l := range lines[2:4] {
			for _, s := range l[1:] {
				if !s.Style.Highlighted {
					same[i] += s.Text
				}
			}
		}
		if most := common(a, b); 3*most < max(len(before), len(after)) {
			require.Equal(t, []string{before, after}, same)
		} else {
			require.Equal(t, same[0], same[1], "%q %q", before, after)
			require.Len(t, same[0], most, "%q %q", before, after)
		}
	}
}

// A text is cut where a paragraph ends, and never within a block of code. A gap is a blank line above a piece.
func TestWherePiecesAreCut(t *testing.T) {
	for _, c := range []struct{ text, want, code string }{
		{"a\nb\n\nc\n", "a\nb\n\n|+c\n", "a\nb\n\nc\n"},
		{"\n\na\n\n\nb\n\n", "\n\n|a\n\n\n|+b\n\n", "\n\na\n\n\nb\n\n"},
		{"\na\n", "\n|a\n", "\na\n"},
		{"- a\n\n  b\n\n- c\n", "- a\n\n  b\n\n|+- c\n", "- a\n\n  b\n\n- c\n"},
		{"a\n\n```\nb\n\nc\n```\nd\n\ne\n", "a\n\n|+```\nb\n\nc\n```\nd\n\n|+e\n", "a\n\n```\nb\n\nc\n```\nd\n\ne\n"},
		{"a\n```\nb\n\nc\n```\n\nd\n", "a\n```\nb\n\nc\n```\n\n|+d\n", "a\n```\nb\n\nc\n```\n\nd\n"},
		{"\n```\nb\n```\n", "\n|```\nb\n```\n", "\n```\nb\n```\n"},
		{"~~~~\na\n\n~~~\n\nb\n~~~~~ \n\nc\n", "~~~~\na\n\n~~~\n\nb\n~~~~~ \n\n|+c\n", "~~~~\na\n\n~~~\n\nb\n~~~~~ \n\nc\n"},
		{"```\na\n\n``` go\n\nb", "```\na\n\n``` go\n\nb", "```\na\n\n``` go\n\nb"},
		{"   ```\na\n\nb\n```\n\nc\n", "   ```\na\n\nb\n```\n\n|+c\n", "   ```\na\n\nb\n```\n\nc\n"},
		{"    ```\na\n\nb\n", "    ```\na\n\n|+b\n", "    ```\na\n\nb\n"},
		{"a\r\n\r\nb\r\n", "a\r\n\r\n|+b\r\n", "a\r\n\r\nb\r\n"},
	} {
		for _, code := range []bool{false, true} {
			p := render.Pieces{Code: code}
			p.Set(c.text)
			got := ""
			for i, piece := range append(p.Whole(), p.Last()) {
				if i > 0 && piece != "" {
					got += "|"
				}
				if p.Gap(i) && piece != "" {
					got += "+"
				}
				got += piece
			}
			want := c.want
			if code {
				want = c.code
			}
			require.Equal(t, want, got, "%q", c.text)
		}
	}
	p := render.Pieces{}
	p.Set("```go\n" + strings.Repeat("x\n", 99) + "y\n```\n\nz\n")
	require.Equal(t, []string{"```go\n" + strings.Repeat("x\n", 99), "```go\ny\n```\n\n"}, p.Whole(), "code goes on as code")
	require.Equal(t, "z\n", p.Last())
	require.False(t, p.Gap(1))
	require.True(t, p.Gap(2))
	p.Set("another")
	require.Empty(t, p.Whole())
	require.Equal(t, "another", p.Last())
	require.False(t, p.Gap(0))
}

// A place in the transcript outlives what stood there.
func TestPlacesOfWhatIsGone(t *testing.T) {
	long := strings.Repeat("para\n\n", 20)
	d := document(t, 40, message(long), view.Change{Op: view.Upsert, ID: "n", Entity: &view.Entity{ID: "n", Kind: view.Notice, Title: "below"}})
	lines, place := d.From(render.Pos{}, 31)
	require.Len(t, lines, 31)
	at := func(p render.Pos) string {
		lines, _ := d.From(p, 1<<30)
		return plainOf(lines)
	}
	d.Apply([]view.Change{message("one\n\ntwo\n")})
	require.Equal(t, "\n! below\n", at(place))
	require.Equal(t, "two\n\n! below\n", at(d.Back(place, 1)))
	require.Equal(t, "one\n\ntwo\n\n! below\n", at(d.Back(place, 3)))
	d.Apply([]view.Change{{Op: view.Remove, ID: "m"}})
	require.Equal(t, "\n! below\n", at(place))
	require.Equal(t, "\n! below\n", at(d.Back(place, 5)))
	_, end := d.From(render.Pos{}, 1<<30)
	require.Equal(t, d.End(), end)
	require.Equal(t, render.Pos{}, d.Back(d.End(), 100))
	lines, next := d.From(render.Pos{}, 2)
	require.Len(t, lines, 2)
	require.Empty(t, at(next))
}

// What a question is about: the commands first, nothing that is shown already, and the arguments if there is nothing else.
func TestPartsOfQuestions(t *testing.T) {
	old, now := "a\n", "b\n"
	diff := toolset.Preview{Diff: &toolset.Diff{Path: "/repo/a", Old: &old, New: &now}}
	make := toolset.Preview{Command: &toolset.CommandLine{Line: "make", Dir: "/repo"}}
	const run = "Run in a shell:\n  make\nDirectory:\n  /repo"
	call := &view.Entity{Input: json.RawMessage(`{"x":1}`)}
	shown := []view.FileChange{{Path: "/repo/a", Old: &old, New: now}}
	for name, c := range map[string]struct {
		r     acpclient.PermissionRequest
		shown []view.FileChange
		want  []string
	}{
		"nothing":                   {acpclient.PermissionRequest{}, nil, nil},
		"a title":                   {acpclient.PermissionRequest{Approval: toolset.Approval{Title: "t\nu"}}, nil, []string{"t\nu"}},
		"a title with a preview":    {acpclient.PermissionRequest{Approval: toolset.Approval{Title: "t", Preview: []toolset.Preview{{Text: "p\x1b"}}}}, nil, []string{"p⟨ESC⟩"}},
		"a call":                    {acpclient.PermissionRequest{Call: call, Approval: toolset.Approval{Title: "t", Reason: "r"}}, nil, []string{"r", "Arguments:\n{\"x\":1}"}},
		"a call without anything":   {acpclient.PermissionRequest{Call: &view.Entity{}, Approval: toolset.Approval{Title: "t"}}, nil, nil},
		"a call with a preview":     {acpclient.PermissionRequest{Call: call, Approval: toolset.Approval{Preview: []toolset.Preview{make, {Text: "x"}}}}, nil, []string{run, "x"}},
		"a command last":            {acpclient.PermissionRequest{Approval: toolset.Approval{Preview: []toolset.Preview{{Text: "x"}, diff, make}}}, nil, []string{run, "x", "Change /repo/a\n@@ -1,1 +1,1 @@\n-a\n+b"}},
		"a change that is shown":    {acpclient.PermissionRequest{Approval: toolset.Approval{Preview: []toolset.Preview{diff, {Text: "x"}}}}, shown, []string{"x"}},
		"a change back":             {acpclient.PermissionRequest{Approval: toolset.Approval{Preview: []toolset.Preview{{Diff: &toolset.Diff{Path: "/repo/a", Old: &now, New: &old}}}}}, shown, []string{"Change /repo/a\n@@ -1,1 +1,1 @@\n-b\n+a"}},
		"a file that is removed":    {acpclient.PermissionRequest{Approval: toolset.Approval{Preview: []toolset.Preview{{Diff: &toolset.Diff{Path: "/repo/a", Old: &old}}}}}, shown, []string{"Delete /repo/a\n@@ -1,1 +0,0 @@\n-a"}},
		"a command told twice":      {acpclient.PermissionRequest{Approval: toolset.Approval{Preview: []toolset.Preview{make, {Text: " ```text\n" + run + "\n```\n"}, {Text: "```text\n" + run}, {Text: run + "\n```"}}}}, nil, []string{run, "```text\n" + run, run + "\n```"}},
		"a command without a place": {acpclient.PermissionRequest{Approval: toolset.Approval{Preview: []toolset.Preview{{Command: &toolset.CommandLine{Line: "make"}}}}}, nil, []string{"Run in a shell:\n  make"}},
	} {
		require.Equal(t, c.want, render.Parts(&c.r, c.shown), name)
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
