// SPDX-License-Identifier: Apache-2.0

package edit_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/app/internal/term/edit"
)

// at returns the text with a mark where the cursor is.
func at(b *edit.Buffer) string { return b.Text()[:b.Cursor()] + "|" + b.Text()[b.Cursor():] }

func TestEditing(t *testing.T) {
	for _, c := range []struct {
		name, before string
		do           func(b *edit.Buffer) bool
		after        string
	}{
		{"insert", "a|c", func(b *edit.Buffer) bool { return b.Insert("b\x1b\x07\n\t") }, "ab\n\t|c"},
		{"left over an emoji", "a👩‍👩‍👧|", func(b *edit.Buffer) bool { return b.Move(true) }, "a|👩‍👩‍👧"},
		{"right over a combined letter", "|e\u0301x", func(b *edit.Buffer) bool { return b.Move(false) }, "e\u0301|x"},
		{"left over a line break", "a\n|b", func(b *edit.Buffer) bool { return b.Move(true) }, "a|\nb"},
		{"backspace takes a whole emoji", "x👩‍👩‍👧|", (*edit.Buffer).Backspace, "x|"},
		{"backspace joins lines", "a\n|b", (*edit.Buffer).Backspace, "a|b"},
		{"delete", "|漢字", (*edit.Buffer).Delete, "|字"},
		{"home", "a\nbc|d", (*edit.Buffer).Home, "a\n|bcd"},
		{"end", "a\n|bcd\ne", (*edit.Buffer).End, "a\nbcd|\ne"},
		{"word left", "go test ./...|", func(b *edit.Buffer) bool { return b.MoveWord(true) }, "go |test ./..."},
		{"word right", "go| test ./...", func(b *edit.Buffer) bool { return b.MoveWord(false) }, "go test| ./..."},
		{"kill word", "go test|", func(b *edit.Buffer) bool { return b.KillWord(true) }, "go |"},
		{"kill next word", "|go test", func(b *edit.Buffer) bool { return b.KillWord(false) }, "| test"},
		{"kill to a space", "cat a/b.txt |x", (*edit.Buffer).KillSpace, "cat |x"},
		{"kill to the end", "a|bc\nd", (*edit.Buffer).KillToEnd, "a|\nd"},
		{"kill the line break", "a|\nd", (*edit.Buffer).KillToEnd, "a|d"},
		{"kill to the start", "x\nab|c", (*edit.Buffer).KillToStart, "x\n|c"},
		{"yank", "ab cd|", func(b *edit.Buffer) bool { b.KillWord(true); b.Home(); return b.Yank() }, "cd|ab "},
		{"undo", "ab|", func(b *edit.Buffer) bool { b.Insert("c"); b.Backspace(); b.Undo(); return b.Undo() }, "ab|"},
		{"up keeps the column", "漢字x\nabcdef|", func(b *edit.Buffer) bool { b.Vertical(true); return b.Vertical(false) }, "漢字x\nabcdef|"},
		{"up into a wide character", "漢字\nabc|", func(b *edit.Buffer) bool { return b.Vertical(true) }, "漢|字\nabc"},
		{"down", "ab|c\n漢字", func(b *edit.Buffer) bool { return b.Vertical(false) }, "abc\n漢|字"},
	} {
		var b edit.Buffer
		head, tail, _ := strings.Cut(c.before, "|")
		b.Insert(head)
		b.Insert(tail)
		for b.Cursor() > len(head) {
			b.Move(true)
		}
		require.Equal(t, c.before, at(&b), c.name)
		require.True(t, c.do(&b), c.name)
		require.Equal(t, c.after, at(&b), c.name)
	}
	var b edit.Buffer
	for name, do := range map[string]func() bool{
		"left": func() bool { return b.Move(true) }, "right": func() bool { return b.Move(false) }, "up": func() bool { return b.Vertical(true) },
		"down": func() bool { return b.Vertical(false) }, "backspace": b.Backspace, "delete": b.Delete, "undo": b.Undo, "yank": b.Yank,
		"kill": b.KillToEnd, "word": func() bool { return b.KillWord(true) }, "home": b.Home, "end": b.End,
	} {
		require.False(t, do(), "%s changes nothing in an empty text", name)
	}
}

func TestRandomEditing(t *testing.T) {
	pieces := []string{"a", "漢", "👩‍👩‍👧", "e\u0301", "\n", " ", "word ", "🇩🇪", "\t"}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		var b edit.Buffer
		moves := []func() bool{
			func() bool { return b.Move(true) }, func() bool { return b.Move(false) }, func() bool { return b.MoveWord(true) }, func() bool { return b.MoveWord(false) },
			func() bool { return b.Vertical(true) }, func() bool { return b.Vertical(false) }, b.Home, b.End, b.Backspace, b.Delete, b.KillSpace, b.KillToEnd,
			b.KillToStart, b.Yank, b.Undo, func() bool { return b.KillWord(false) },
		}
		for range 100 {
			if r.IntN(2) == 0 {
				b.Insert(pieces[r.IntN(len(pieces))])
			} else {
				before := at(&b)
				require.Equal(t, moves[r.IntN(len(moves))](), before != at(&b), "%q", before)
			}
			require.True(t, utf8.ValidString(b.Text()[:b.Cursor()]))
			width := 4 + r.IntN(40)
			lines, row, column := b.Layout(width)
			require.Less(t, row, len(lines))
			require.Less(t, column, width)
			for _, l := range lines {
				require.LessOrEqual(t, l.Width(), width)
			}
		}
	}
}

func TestHistory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sub", "history")
	h := edit.OpenHistory(file)
	for _, s := range []string{"one", "two\nlines", "two\nlines", " ", "other"} {
		h.Add(s)
	}
	h = edit.OpenHistory(file)
	step := func(n int, now, want string) string {
		t.Helper()
		got, ok := h.Step(n, now)
		require.Equal(t, want != "-", ok)
		if ok {
			require.Equal(t, want, got)
			return got
		}
		return now
	}
	now := step(-1, "", "other")
	now = step(-1, now, "two\nlines")
	now = step(-1, now, "one")
	now = step(-1, now, "-")
	now = step(1, now, "two\nlines")
	now = step(1, now, "other")
	step(1, step(1, now, ""), "-")
	now = step(-1, "o", "other")
	step(-1, now, "one")
	h.Leave()
	step(-1, "tw", "two\nlines")
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077, "what was typed is nobody else's business")
	require.NoError(t, os.WriteFile(file, []byte("{broken\n\"kept\"\n"), 0o600))
	h = edit.OpenHistory(file)
	step(-1, "", "kept")
}

func TestCompletion(t *testing.T) {
	token := func(s string) (byte, string) {
		var b edit.Buffer
		b.Insert(s)
		kind, start, word := b.Token()
		require.Equal(t, s[start:][:len(word)], word)
		return kind, word
	}
	for in, want := range map[string]string{"/co": "//co", "see @a/b": "@@a/b", "a/b": "\x00", "see /co": "\x00", "@": "@@", "x@y": "\x00", "/co x": "\x00", "a\n@b": "@@b"} {
		kind, word := token(in)
		require.Equal(t, want, string(kind)+word, in)
	}
	var got []string
	for _, c := range edit.Files("@mo", []string{"docs/modes.md", "go.mod", "model/x.go", "some/demo.go", "m/o.txt", "zzz"}) {
		got = append(got, c.Text)
	}
	require.Equal(t, []string{"@model/x.go", "@docs/modes.md", "@go.mod", "@some/demo.go", "@m/o.txt"}, got)
	require.Equal(t, []edit.Candidate{{Text: "/mode"}, {Text: "/compact-model"}},
		edit.Commands("/mo", []edit.Candidate{{Text: "/compact-model"}, {Text: "/mode"}, {Text: "/help"}}))
}
