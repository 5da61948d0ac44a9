// SPDX-License-Identifier: Apache-2.0

package show_test

import (
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/show"
)

func TestInvisibleCharactersAreWrittenOut(t *testing.T) {
	for text, want := range map[string]string{
		"plain text, größe 日本": "plain text, größe 日本",
		"a\nb\tc\rd":           "a⟨LF⟩b⟨TAB⟩c⟨CR⟩d",
		"\x00\x1b[2K\u0085":    "⟨NUL⟩⟨ESC⟩[2K⟨U+0085⟩",
		"\u202egpj.exe":        "⟨U+202E⟩gpj.exe",
		"a\u200bb\ufeff\u00a0": "a⟨U+200B⟩b⟨BOM⟩⟨U+00A0⟩",
		"\xff\xfe\ufffd":       "⟨0xFF⟩⟨0xFE⟩⟨U+FFFD⟩",
		"⟨LF⟩":                 "⟨U+27E8⟩LF⟩",
		"\U000e0041\ufe0f":     "⟨U+E0041⟩⟨U+FE0F⟩",
	} {
		require.Equal(t, want, show.Line(text))
		require.True(t, show.Plain(show.Line(text)))
		require.Equal(t, want == text || text == "⟨LF⟩", show.Plain(text))
	}
	require.Equal(t, "a\n\tb⟨CR⟩", show.Text("a\n\tb\r"))
	require.Equal(t, "> a⟨LF⟩\n> b⟨TAB⟩", show.Lines("> ", "a\nb\t"))
	require.False(t, show.Plain("\xff"))
}

func TestCommandsAreQuoted(t *testing.T) {
	require.Equal(t, `go test -run '^A$' '' 'it'\''s' 'a b'`, show.Command([]string{"go", "test", "-run", "^A$", "", "it's", "a b"}))
}

// Different texts look different.
func FuzzLine(f *testing.F) {
	f.Add("a\u202e", "a⟨U+202E⟩")
	f.Add("\xff", "⟨0xFF⟩")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, r := range show.Line(a) {
			require.True(t, unicode.IsGraphic(r))
		}
		if a != b {
			require.NotEqual(t, show.Line(a), show.Line(b))
		}
	})
}

func TestReceivedTextIsWrittenOutOnce(t *testing.T) {
	for _, text := range []string{"a\nb", "plain", "\x1b[2J\u202e\xff", "⟨LF⟩", "a ⟨ b\n\t"} {
		require.Equal(t, show.Line(text), show.Received(show.Line(text)))
		require.Equal(t, show.Text(text), show.ReceivedText(show.Text(text)))
		require.True(t, show.Plain(show.Received(text)), "nothing invisible is left")
	}
	require.Equal(t, "a⟨LF⟩⟨", show.Received("a\n⟨"))
	require.Equal(t, "a\n⟨ESC⟩⟨", show.ReceivedText("a\n\x1b⟨"))
}

// A program whose name looks like an assignment is shown as a program.
func TestCommandIsAProgram(t *testing.T) {
	require.Equal(t, "'A=b' make", show.Command([]string{"A=b", "make"}))
	require.Equal(t, "make A=b", show.Command([]string{"make", "A=b"}))
}
