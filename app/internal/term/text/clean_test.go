// SPDX-License-Identifier: Apache-2.0

package text_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/app/internal/term/text"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\n":               "plain\ttext\n",
		"\x1b[31mred\x1b[0m":          "red",
		"\x1b]0;title\x07x":           "x",
		"\x1b]8;;http://x\x1b\\y":     "y",
		"\x1bPq#0\x1b\\z":             "z",
		"a\rb\x08\x7fc\x00":           "a⟨CR⟩b⟨BS⟩⟨DEL⟩c⟨NUL⟩",
		"\x1b[2J\x1b[Hgone":           "gone",
		"half \x1b[3":                 "half ⟨ESC⟩[3",
		"\u202eabc\u2066":             "⟨U+202E⟩abc⟨U+2066⟩",
		"\u009b31mC1":                 "⟨U+009B⟩31mC1",
		"a\r\nb":                      "a\nb",
		"\x1bcreset \x1b(B \x1b7save": "⟨ESC⟩creset ⟨ESC⟩(B ⟨ESC⟩7save",
		"👩‍👩‍👧 ❤️ e\u0301":            "👩‍👩‍👧 ❤️ e\u0301",
		"\xff\x1b":                    "\uFFFD⟨ESC⟩",
		"a\U000E0041b":                "a⟨U+E0041⟩b",
	} {
		require.Equal(t, want, text.Clean(in), "%q", in)
	}
	require.Equal(t, "a b c", text.OneLine(" a\n\x1b[1mb\t c "))
	require.Equal(t, "50 %", text.Output("10 %\r\x1b[1m50 %\r"))
}
