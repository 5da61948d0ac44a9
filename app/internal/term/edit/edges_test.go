// SPDX-License-Identifier: Apache-2.0

package edit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/app/internal/term/edit"
)

// buffered returns a buffer with the cursor where | is.
func buffered(s string) *edit.Buffer {
	var b edit.Buffer
	head, tail, _ := strings.Cut(s, "|")
	b.Insert(head + tail)
	for b.Cursor() > len(head) {
		b.Move(true)
	}
	return &b
}

var moves = map[string]func(b *edit.Buffer) bool{
	"left": func(b *edit.Buffer) bool { return b.Move(true) }, "right": func(b *edit.Buffer) bool { return b.Move(false) },
	"word left": func(b *edit.Buffer) bool { return b.MoveWord(true) }, "word right": func(b *edit.Buffer) bool { return b.MoveWord(false) },
	"up": func(b *edit.Buffer) bool { return b.Vertical(true) }, "down": func(b *edit.Buffer) bool { return b.Vertical(false) },
	"home": (*edit.Buffer).Home, "end": (*edit.Buffer).End, "backspace": (*edit.Buffer).Backspace, "delete": (*edit.Buffer).Delete,
	"kill word": func(b *edit.Buffer) bool { return b.KillWord(true) }, "kill next": func(b *edit.Buffer) bool { return b.KillWord(false) },
	"kill space": (*edit.Buffer).KillSpace, "kill end": (*edit.Buffer).KillToEnd, "kill start": (*edit.Buffer).KillToStart, "yank": (*edit.Buffer).Yank, "undo": (*edit.Buffer).Undo,
}

// Every command at the edges of words, lines and texts. An empty result says that nothing changes, which the command reports.
func TestEdges(t *testing.T) {
	for _, c := range []struct{ before, command, after string }{
		{"|ab", "left", ""}, {"ab|", "right", ""}, {"a|b", "left", "|ab"}, {"a|b", "right", "ab|"}, {"a|\nb", "right", "a\n|b"}, {"a\n\n|b", "left", "a\n|\nb"},
		{"ab  |", "word left", "|ab  "}, {"ab cd|ef", "word left", "ab |cdef"}, {"|ab", "word left", ""}, {"a_1 é|", "word left", "a_1 |é"}, {"...|", "word left", "|..."},
		{"|  ab c", "word right", "  ab| c"}, {"a|b", "word right", "ab|"}, {"ab|  ", "word right", "ab  |"}, {"ab|", "word right", ""}, {"|a_1 é", "word right", "a_1| é"},
		{"ab|\ncd", "up", ""}, {"ab\nc|d", "up", "a|b\ncd"}, {"ab\ncd|", "down", ""}, {"a|b\ncd", "down", "ab\nc|d"}, {"abc|\nd", "down", "abc\nd|"}, {"a\n|", "up", "|a\n"}, {"a|\n", "down", "a\n|"}, {"abc\n\nd|ef", "up", "abc\n|\ndef"},
		{"ab\n|cd", "home", ""}, {"ab\nc|d", "home", "ab\n|cd"}, {"ab|\ncd", "end", ""}, {"a|b\ncd", "end", "ab|\ncd"}, {"a\n|", "home", ""}, {"|a", "end", "a|"},
		{"|ab", "backspace", ""}, {"a|b", "backspace", "|b"}, {"ab|", "delete", ""}, {"a|b", "delete", "a|"},
		{"ab cd|", "kill word", "ab |"}, {"|ab", "kill word", ""}, {"ab |cd ef", "kill next", "ab | ef"}, {"ab|", "kill next", ""},
		{"a/b c/d|", "kill space", "a/b |"}, {"a/b  |", "kill space", "|"}, {"|a", "kill space", ""}, {"a\nb|", "kill space", "a\n|"},
		{"a|b\nc", "kill end", "a|\nc"}, {"a|\nc", "kill end", "a|c"}, {"a|", "kill end", ""}, {"a\nb|c", "kill start", "a\n|c"}, {"a\n|c", "kill start", ""},
	} {
		b := buffered(c.before)
		changed := moves[c.command](b)
		require.Equal(t, c.after != "", changed, "%s in %q", c.command, c.before)
		if c.after == "" {
			c.after = c.before
		}
		require.Equal(t, c.after, at(b), "%s in %q", c.command, c.before)
	}
}

// What is killed is kept, what is deleted is not, and an undo brings back text and cursor.
func TestYankAndUndo(t *testing.T) {
	for command, killed := range map[string]string{"kill word": "two", "kill next": " three", "kill space": "two", "kill end": " three", "kill start": "one two", "backspace": "", "delete": ""} {
		b := buffered("one two| three\nfour")
		require.True(t, moves[command](b), command)
		after := at(b)
		require.Equal(t, killed != "", b.Yank(), command)
		require.Len(t, b.Text(), len(strings.Replace(after, "|", "", 1))+len(killed), command)
		require.Equal(t, strings.Replace(after, "|", killed+"|", 1), at(b), command)
		if killed != "" {
			b.Undo()
		}
		require.Equal(t, after, at(b), command)
		require.True(t, b.Undo())
		require.Equal(t, "one two| three\nfour", at(b), command)
	}
	var b edit.Buffer
	for i := range 250 {
		b.Set(fmt.Sprint(i))
	}
	n := 0
	for b.Undo() {
		n++
	}
	require.Equal(t, 200, n)
	require.Equal(t, "49|", at(&b))
	for _, changes := range []int{199, 200, 201, 202} {
		b := buffered("|")
		for i := range changes {
			b.Set(fmt.Sprint(i))
		}
		n := 0
		for b.Undo() {
			n++
		}
		require.Equal(t, min(changes, 200), n)
	}
	c := buffered("see @ma| now")
	require.True(t, c.Replace(4, "@main.go "))
	require.Equal(t, "see @main.go | now", at(c))
	require.True(t, c.Undo())
	require.Equal(t, "see @ma| now", at(c))
}

// Going over short lines keeps the column, until the cursor moves otherwise.
func TestColumnIsKept(t *testing.T) {
	b := buffered("abcdef\nab\nabcd|ef\nabcdef")
	b.Vertical(true)
	require.Equal(t, "abcdef\nab|\nabcdef\nabcdef", at(b))
	b.Vertical(true)
	require.Equal(t, "abcd|ef\nab\nabcdef\nabcdef", at(b))
	b.Vertical(false)
	b.Vertical(false)
	b.Vertical(false)
	require.Equal(t, "abcdef\nab\nabcdef\nabcd|ef", at(b))
	b.Vertical(true)
	b.Vertical(true)
	b.Home()
	b.Vertical(false)
	require.Equal(t, "abcdef\nab\n|abcdef\nabcdef", at(b))
	b.Vertical(true)
	b.Insert("x")
	b.Vertical(false)
	require.Equal(t, "abcdef\nxab\na|bcdef\nabcdef", at(b))
	b.Vertical(true)
	b.Undo()
	b.Vertical(false)
	require.Equal(t, "abcdef\nab\n|abcdef\nabcdef", at(b))
	b = buffered("abcd|ef\nabcdef")
	b.Insert("x")
	b.Undo()
	b.Vertical(false)
	require.Equal(t, "abcdef\nabcd|ef", at(b), "an undo aims at no column of its own")
}

func TestLayout(t *testing.T) {
	for _, c := range []struct {
		text        string
		width       int
		lines       string
		row, column int
	}{
		{"|", 4, "", 0, 0}, {"ab|", 4, "ab", 0, 2}, {"abcd|", 4, "abcd/", 1, 0}, {"abc|d", 4, "abcd", 0, 3}, {"abcd|e", 4, "abcd/e", 1, 0}, {"abcde|", 4, "abcd/e", 1, 1}, {"|abcde", 4, "abcd/e", 0, 0},
		{"ab\n|cd", 4, "ab/cd", 1, 0}, {"ab|\ncd", 4, "ab/cd", 0, 2}, {"abcd|\nef", 4, "abcd/ef", 1, 0}, {"ab\n\n|", 4, "ab//", 2, 0}, {"漢字|", 4, "漢字/", 1, 0}, {"a漢|字", 4, "a漢/字", 0, 3}, {"\t|x", 8, "    x", 0, 4},
	} {
		b := buffered(c.text)
		lines, row, column := b.Layout(c.width)
		var plain []string
		for _, l := range lines {
			plain = append(plain, l.Plain())
		}
		require.Equal(t, c.lines, strings.Join(plain, "/"), "%q", c.text)
		require.Equal(t, [2]int{c.row, c.column}, [2]int{row, column}, "%q", c.text)
	}
}

// Of a thousand entries the last ones are kept, each once in a row, and a search goes back by one each time.
func TestHistoryIsSearchedAndBounded(t *testing.T) {
	h := &edit.History{}
	_, ok := h.Search("x")
	require.False(t, ok)
	_, ok = h.Step(-1, "")
	require.False(t, ok)
	for i := range 1002 {
		h.Add(fmt.Sprint("entry ", i))
	}
	n, now := 0, "entry"
	for {
		next, ok := h.Search(now)
		if !ok {
			require.Empty(t, next)
			break
		}
		require.Equal(t, fmt.Sprint("entry ", 1001-n), next)
		now = next
		n++
	}
	require.Equal(t, 1000, n)
	h = &edit.History{}
	for _, s := range []string{"make a", "go make", "other", "make a"} {
		h.Add(s)
	}
	now, ok = h.Search("make")
	require.Equal(t, "make a true", fmt.Sprint(now, " ", ok))
	now, ok = h.Search(now)
	require.Equal(t, "go make true", fmt.Sprint(now, " ", ok))
	now, ok = h.Search(now)
	require.Equal(t, "make a true", fmt.Sprint(now, " ", ok))
	_, ok = h.Search(now)
	require.False(t, ok)
	now, ok = h.Step(1, now)
	require.Equal(t, "make true", fmt.Sprint(now, " ", ok), "nothing else after it begins like what was typed")
	h.Add("new")
	now, ok = h.Search("e")
	require.Equal(t, "new true", fmt.Sprint(now, " ", ok), "an entry ends the search")
	h.Leave()
	now, ok = h.Search("o")
	require.Equal(t, "other true", fmt.Sprint(now, " ", ok))
	for range 2000 {
		h.Add("same")
	}
	h.Leave()
	_, ok = h.Step(-1, "same")
	require.False(t, ok, "what is there already is no step")
}

func TestHistoryOfAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a", "b", "history")
	h := edit.OpenHistory(file)
	for _, s := range []string{"one", "one", "", "two\n", "one"} {
		h.Add(s)
	}
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "\"one\"\n\"two\\n\"\n\"one\"\n", string(data))
	long := strings.Repeat("x", 1<<20)
	h.Add(long)
	h.Add("last")
	h = edit.OpenHistory(file)
	got, _ := h.Step(-1, "")
	require.Equal(t, "last", got)
	got, _ = h.Step(-1, got)
	require.Equal(t, long, got)
	if runtime.GOOS != "windows" {
		info, err := os.Stat(filepath.Dir(file))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	}
	h = edit.OpenHistory(filepath.Join(file, "no directory"))
	h.Add("x")
	got, _ = h.Step(-1, "")
	require.Equal(t, "x", got, "it is in memory")
}

// A long entry hides no others, and a last line may have no end.
func TestLongEntriesOfAHistory(t *testing.T) {
	file, entry := filepath.Join(t.TempDir(), "history"), strings.Repeat("x", 9<<20)
	require.NoError(t, os.WriteFile(file, []byte("\"first\"\n\""+entry+"\"\n\"second\"\nbroken\n\"last\""), 0o600))
	h, got := edit.OpenHistory(file), ""
	for _, want := range []string{"last", "second", entry, "first"} {
		got, _ = h.Step(-1, got)
		require.True(t, got == want, want[:4])
	}
	_, more := h.Step(-1, got)
	require.False(t, more)
}

// How well a name fits counts more than how short it is.
func TestLongNamesThatFitComeFirst(t *testing.T) {
	deep := strings.Repeat("deeply/nested/", 300)
	want := []string{"@" + deep + "make", "@amake", "@xma/y", "@m/a/k/e"}
	var got []string
	for _, c := range edit.Files("@ma", []string{"m/a/k/e", "xma/y", "amake", deep + "make"}) {
		got = append(got, c.Text)
	}
	require.Equal(t, want, got)
}

func TestCandidates(t *testing.T) {
	texts := func(all []edit.Candidate) (s []string) {
		for _, c := range all {
			s = append(s, c.Text)
		}
		return s
	}
	commands := []edit.Candidate{{Text: "/ab"}, {Text: "/xab"}, {Text: "/AB2", Note: "n"}, {Text: "/b"}}
	require.Equal(t, []string{"/ab", "/AB2", "/xab"}, texts(edit.Commands("/Ab", commands)))
	require.Equal(t, []string{"/b", "/ab", "/xab", "/AB2"}, texts(edit.Commands("/b", commands)))
	require.Equal(t, []string{"/ab", "/xab", "/AB2", "/b"}, texts(edit.Commands("/", commands)))
	require.Empty(t, edit.Commands("/z", commands))
	require.Equal(t, []string{"@ma", "@src/ma", "@mabcd/longer", "@x/yma", "@dma/x", "@m/x/a", "@m/y.ab"}, texts(edit.Files("@MA", []string{"m/y.ab", "m/x/a", "dma/x", "x/yma", "mabcd/longer", "src/ma", "ma", "am"})))
	require.Equal(t, []string{"@é/x"}, texts(edit.Files("@éx", []string{"é/x", "x/é"})))
	var many []string
	for i := range 60 {
		many = append(many, fmt.Sprint("f", i))
	}
	require.Len(t, edit.Files("@f", many), 50)
	for text, want := range map[string]string{"/a|b": "/ 0 /a", "x /a|": "\x00 0 ", " /a|": "\x00 0 ", "@|": "@ 0 @", "a @b|c": "@ 2 @b", "a@b|": "\x00 0 ", "|": "\x00 0 "} {
		b := buffered(text)
		kind, start, word := b.Token()
		require.Equal(t, want, fmt.Sprintf("%c %d %s", kind, start, word), text)
	}
}
