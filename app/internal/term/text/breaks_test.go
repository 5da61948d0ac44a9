// SPDX-License-Identifier: Apache-2.0

package text_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/app/internal/term/text"
)

// Nothing that is broken or cut is wider than there is room, and nothing is lost but spaces at breaks, for every width.
func TestLinesOfEveryWidth(t *testing.T) {
	red := text.Style{Color: text.Red}
	for _, s := range []string{"", "a", "one two three", " leading and  double spaces ", "averylongwordwithoutspaces and more", "漢字 漢字漢字 a漢b", "e\u0301e\u0301 e\u0301", "a b c d e f", "      ", "ab   cd"} {
		line := append(text.Of(s, text.Style{}), text.Of(s, red)...)
		for width := 2; width < 30; width++ {
			var broken, wrapped strings.Builder
			for _, l := range text.Break(line, width) {
				require.LessOrEqual(t, l.Width(), width, "%q", s)
				broken.WriteString(l.Plain())
			}
			require.Equal(t, s+s, broken.String())
			lines := text.Wrap(line, width)
			for _, l := range lines {
				require.LessOrEqual(t, l.Width(), width, "%q", s)
				wrapped.WriteString(l.Plain())
			}
			require.Equal(t, strings.ReplaceAll(s+s, " ", ""), strings.ReplaceAll(wrapped.String(), " ", ""))
			cut := text.Cut(line, width)
			require.LessOrEqual(t, cut.Width(), width)
			if line.Width() <= width {
				require.Equal(t, line, cut)
				continue
			}
			head, ok := strings.CutSuffix(cut.Plain(), "…")
			require.True(t, ok)
			require.True(t, strings.HasPrefix(s+s, head))
			require.GreaterOrEqual(t, cut.Width(), width-1, "%q of %d: %q", s, width, cut.Plain())
		}
	}
	for width, want := range map[int][]string{2: {"on", "e", "tw", "o"}, 3: {"one", "two"}, 6: {"one", "two"}, 7: {"one two"}} {
		var got []string
		for _, l := range text.Wrap(text.Of("one two", red), width) {
			got = append(got, l.Plain())
		}
		require.Equal(t, want, got, width)
	}
	require.Equal(t, "b", text.Output("a\rb"))
	require.Equal(t, "b", text.Output("\rb\r"))
}
