// SPDX-License-Identifier: Apache-2.0

package clean_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/clean"
)

func TestHiddenCharactersAreWrittenOut(t *testing.T) {
	for text, want := range map[string]string{
		"größe 日本 ⟨x⟩\n\tok":         "größe 日本 ⟨x⟩\n\tok",
		"a\r\nb\rc":                  "a\nb⟨CR⟩c",
		"\x1b[2Kgone\x00":            "⟨ESC⟩[2Kgone⟨NUL⟩",
		"\u202egpj.exe\u2069":        "⟨U+202E⟩gpj.exe⟨U+2069⟩",
		"a\u200bb\U000e0041":         "a⟨U+200B⟩b⟨U+E0041⟩",
		"⚠\ufe0f 👩\u200d🔬\u00a0fine": "⚠\ufe0f 👩\u200d🔬\u00a0fine",
		"\xff":                       "⟨0xFF⟩",
	} {
		require.Equal(t, want, clean.Text(text))
	}
	require.Equal(t, "a b c", clean.Line(" a\n\tb  c\n"))
}

func TestTextIsCutBehindALineOrACharacter(t *testing.T) {
	kept, cut := clean.Cut("one\ntwo\nthree", 100)
	require.Equal(t, "one\ntwo\nthree", kept)
	require.False(t, cut)
	kept, cut = clean.Cut("one two\nthree", 9)
	require.Equal(t, "one two\n", kept)
	require.True(t, cut)
	for n := range 12 {
		kept, _ := clean.Cut("日本語です", n)
		require.True(t, utf8.ValidString(kept))
		require.LessOrEqual(t, len(kept), n)
	}
	require.Equal(t, "a b", clean.Short("a\nb", 10))
	require.Equal(t, "aaaa…", clean.Short(strings.Repeat("a", 100), 7))
	require.Equal(t, "…", clean.Short(strings.Repeat(" ", 100), 7))
}
