// SPDX-License-Identifier: Apache-2.0

package text_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/app/internal/term/text"
)

// The numbers are those of ECMA-48: 30 to 37 are the dark colours, 90 to 97 the bright ones.
func TestStylesAreSequencesOfTheTerminal(t *testing.T) {
	for want, style := range map[string]text.Style{
		"":                  {},
		"\x1b[31m":          {Color: text.Red},
		"\x1b[32m":          {Color: text.Green},
		"\x1b[33m":          {Color: text.Yellow},
		"\x1b[34m":          {Color: text.Blue},
		"\x1b[35m":          {Color: text.Magenta},
		"\x1b[36m":          {Color: text.Cyan},
		"\x1b[90m":          {Color: text.Gray},
		"\x1b[30m":          {Color: 1},
		"\x1b[37m":          {Color: 8},
		"\x1b[97m":          {Color: 16},
		"\x1b[1;2;3;4;7;9m": {Bold: true, Dim: true, Italic: true, Underline: true, Strikethrough: true, Highlighted: true},
		"\x1b[1;31m":        {Bold: true, Color: text.Red},
	} {
		require.Equal(t, want, style.SGR(true))
	}
	require.Empty(t, text.Style{Color: text.Red}.SGR(false), "without colours")
	require.Equal(t, "\x1b[1m", text.Style{Color: text.Red, Bold: true}.SGR(false))
	line := append(text.Of("a\tb\n", text.Style{Bold: true}), text.Of("c", text.Style{Color: text.Red})...)
	require.Equal(t, "\x1b[1ma    b⟨LF⟩\x1b[0m\x1b[31mc\x1b[0m", line.ANSI(true))
	require.Equal(t, "\x1b[1ma    b⟨LF⟩\x1b[0mc", line.ANSI(false))
	require.Equal(t, "a    b⟨LF⟩c", line.Plain())
	require.Equal(t, 11, line.Width())
	require.Nil(t, text.Of("", text.Style{}))
	require.Equal(t, 4, text.Of("漢字", text.Style{}).Width())
}
