// SPDX-License-Identifier: Apache-2.0

package linediff_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/linediff"
)

func unified(hunks []linediff.Hunk) string {
	var b strings.Builder
	for _, h := range hunks {
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
		for _, l := range h.Lines {
			fmt.Fprintf(&b, "%c%s\n", l.Op, l.Text)
			if l.NoNewline {
				b.WriteString("\\\n")
			}
		}
	}
	return b.String()
}

func numbers(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintln(&b, i)
	}
	return b.String()
}

func TestUnifiedDiffs(t *testing.T) {
	for name, c := range map[string]struct{ before, after, want string }{
		"equal":            {"a\nb\n", "a\nb\n", ""},
		"empty":            {"", "", ""},
		"new file":         {"", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		"emptied":          {"a\n", "", "@@ -1,1 +0,0 @@\n-a\n"},
		"one line":         {numbers(1, 9), strings.Replace(numbers(1, 9), "5", "five", 1), "@@ -3,5 +3,5 @@\n 3\n 4\n-5\n+five\n 6\n 7\n"},
		"at the end":       {"a\n", "a\nb\n", "@@ -1,1 +1,2 @@\n a\n+b\n"},
		"no newline":       {"a", "a\n", "@@ -1,1 +1,1 @@\n-a\n\\\n+a\n"},
		"two hunks":        {numbers(1, 20), "0\n" + numbers(1, 19) + "twenty\n", "@@ -1,2 +1,3 @@\n+0\n 1\n 2\n@@ -18,3 +19,3 @@\n 18\n 19\n-20\n+twenty\n"},
		"joined hunks":     {numbers(1, 6), "1\nx\n3\n4\n5\ny\n", "@@ -1,6 +1,6 @@\n 1\n-2\n+x\n 3\n 4\n 5\n-6\n+y\n"},
		"moved and mended": {"a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n", "@@ -1,7 +1,6 @@\n-a\n-b\n c\n+b\n a\n b\n-b\n a\n+c\n"},
	} {
		require.Equal(t, c.want, unified(linediff.Hunks(c.before, c.after, 2)), name)
	}
}

func TestCount(t *testing.T) {
	inserted, deleted := linediff.Count(linediff.Hunks("a\nb\nc\n", "a\nx\ny\nc\n", 0))
	require.Equal(t, 2, inserted)
	require.Equal(t, 1, deleted)
}

func TestALargeDifferenceIsStillADifference(t *testing.T) {
	before, after := "same\n"+strings.Repeat("a\n", 50_000)+"end\n", "same\n"+strings.Repeat("b\n", 60_000)+"end\n"
	inserted, deleted := linediff.Count(linediff.Hunks(before, after, 3))
	require.Equal(t, 60_000, inserted)
	require.Equal(t, 50_000, deleted)
}

func FuzzHunks(f *testing.F) {
	f.Add("a\nb\nc", "a\nx\nc\n", 1)
	f.Add("a b c a b b a", "c b a b a c", 0)
	f.Fuzz(func(t *testing.T, before, after string, context int) {
		context = max(context, 0) % 5
		before, after = strings.ReplaceAll(before, " ", "\n"), strings.ReplaceAll(after, " ", "\n")
		// Applying the hunks to the old text gives the new one.
		old := strings.SplitAfter(before, "\n")
		var b strings.Builder
		at := 0
		for _, h := range linediff.Hunks(before, after, context) {
			start := h.OldStart - 1
			if h.OldLines == 0 {
				start++
			}
			require.GreaterOrEqual(t, start, at)
			b.WriteString(strings.Join(old[at:start], ""))
			at = start + h.OldLines
			for _, l := range h.Lines {
				if l.Op != linediff.Delete {
					b.WriteString(l.Text)
					if !l.NoNewline {
						b.WriteByte('\n')
					}
				}
			}
		}
		b.WriteString(strings.Join(old[at:], ""))
		require.Equal(t, after, b.String())
	})
}
