// SPDX-License-Identifier: Apache-2.0

package linediff_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/linediff"
)

func TestMerge(t *testing.T) {
	for name, c := range map[string]struct{ base, ours, theirs, want string }{
		"nothing":               {"a\n", "a\n", "a\n", "a\n"},
		"ours":                  {"a\n", "b\n", "a\n", "b\n"},
		"theirs":                {"a\n", "a\n", "b\n", "b\n"},
		"both the same":         {"a\nb\n", "a\nx\n", "a\nx\n", "a\nx\n"},
		"one line apart":        {"a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n"},
		"inserted and deleted":  {"a\nb\nc\nd\n", "a\nx\nb\nc\nd\n", "a\nb\nc\n", "a\nx\nb\nc\n"},
		"same insert":           {"a\nb\n", "a\nx\nb\n", "a\nx\nb\n", "a\nx\nb\n"},
		"no end":                {"a\nb\nc", "A\nb\nc", "a\nb\nc\n", "A\nb\nc\n"},
		"emptied by both":       {"a\n", "", "", ""},
		"line endings are kept": {"a\r\nb\r\nc\r\n", "A\r\nb\r\nc\r\n", "a\r\nb\r\nC\r\n", "A\r\nb\r\nC\r\n"},
	} {
		merged, conflicts := linediff.Merge(c.base, c.ours, c.theirs)
		require.Empty(t, conflicts, name)
		require.Equal(t, c.want, merged, name)
	}
}

func TestMergeConflicts(t *testing.T) {
	for name, c := range map[string]struct {
		base, ours, theirs string
		want               linediff.Conflict
	}{
		"same line":          {"a\nb\nc\n", "a\nx\nc\n", "a\ny\nc\n", linediff.Conflict{Base: "b\n", Ours: "x\n", Theirs: "y\n", Line: 2, Lines: 1}},
		"neighbouring lines": {"a\nb\nc\n", "A\nb\nc\n", "a\nB\nc\n", linediff.Conflict{Base: "a\nb\n", Ours: "A\nb\n", Theirs: "a\nB\n", Line: 1, Lines: 2}},
		"two inserts":        {"a\n", "a\nx\n", "a\ny\n", linediff.Conflict{Ours: "x\n", Theirs: "y\n", Line: 2, Lines: 1}},
		"deleted and edited": {"a\nb\nc\n", "a\nc\n", "a\nB\nc\n", linediff.Conflict{Base: "b\n", Theirs: "B\n", Line: 2}},
		"the end":            {"a", "a\nx", "a\n", linediff.Conflict{Base: "a", Ours: "a\nx", Theirs: "a\n", Line: 1, Lines: 2}},
	} {
		merged, conflicts := linediff.Merge(c.base, c.ours, c.theirs)
		require.Equal(t, []linediff.Conflict{c.want}, conflicts, name)
		require.Empty(t, merged, name)
	}
	_, conflicts := linediff.Merge(numbers(1, 9), strings.NewReplacer("2", "x", "8", "z").Replace(numbers(1, 9)), strings.NewReplacer("2", "y", "8", "w").Replace(numbers(1, 9)))
	require.Len(t, conflicts, 2)
}

// randomEdit replaces a few lines of a text by others, in places that are at least one line apart from those that are taken.
func randomEdit(r *rand.Rand, lines []string, taken []bool, name string) (changed map[int][]string) {
	changed = map[int][]string{}
	for n := range 1 + r.IntN(4) {
		at := r.IntN(len(lines))
		if slices.Contains(taken[max(at-1, 0):min(at+2, len(taken))], true) || changed[at] != nil {
			continue
		}
		with := []string{}
		for k := range r.IntN(3) {
			with = append(with, fmt.Sprintf("%s %d.%d\n", name, n, k))
		}
		if r.IntN(3) == 0 {
			with = append(with, lines[at]) // an insertion
		}
		changed[at] = with
	}
	return changed
}

func apply(lines []string, changes ...map[int][]string) string {
	var b strings.Builder
	for i, l := range lines {
		with := []string{l}
		for _, c := range changes {
			if c[i] != nil {
				with = c[i]
			}
		}
		b.WriteString(strings.Join(with, ""))
	}
	return b.String()
}

func TestMergeOfSeparateEditsMakesBoth(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		lines := make([]string, 1+r.IntN(40))
		for i := range lines {
			lines[i] = fmt.Sprintf("line %d\n", i)
		}
		taken := make([]bool, len(lines))
		ours := randomEdit(r, lines, taken, "ours")
		for at := range ours {
			taken[at] = true
		}
		theirs := randomEdit(r, lines, taken, "theirs")
		base, a, b := apply(lines), apply(lines, ours), apply(lines, theirs)
		merged, conflicts := linediff.Merge(base, a, b)
		require.Empty(t, conflicts, "%q %q %q", base, a, b)
		require.Equal(t, apply(lines, ours, theirs), merged, "%q %q %q", base, a, b)
	}
}

// requireNothingLost checks a merge of any three texts.
func requireNothingLost(t *testing.T, base, ours, theirs string) {
	merged, conflicts := linediff.Merge(base, ours, theirs)
	swapped, swappedConflicts := linediff.Merge(base, theirs, ours)
	require.Len(t, swappedConflicts, len(conflicts), "the sides are equals")
	require.Equal(t, merged, swapped)
	if conflicts != nil {
		require.Empty(t, merged)
		lines := strings.SplitAfter(ours, "\n")
		for _, c := range conflicts {
			require.NotEqual(t, c.Ours, c.Theirs)
			require.Equal(t, c.Ours, strings.Join(lines[c.Line-1:c.Line-1+c.Lines], ""), "a conflict says where it is")
		}
		return
	}
	count := func(text string) map[string]int {
		n := map[string]int{}
		for l := range strings.SplitAfterSeq(text, "\n") {
			n[l]++
		}
		delete(n, "")
		return n
	}
	inBase, inTheirs, inMerged := count(base), count(theirs), count(merged)
	for line, n := range count(ours) {
		if inBase[line] == 0 && inTheirs[line] == 0 {
			require.Equal(t, n, inMerged[line], "a line that only ours has: %q", line)
		}
		if inTheirs[line] >= inBase[line] {
			require.GreaterOrEqual(t, inMerged[line], min(n, inBase[line]), "a line that nobody deleted: %q", line)
		}
	}
}

func TestMergeLosesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	text := func(most int) string {
		var b strings.Builder
		for range r.IntN(most) {
			b.WriteString(string(rune('a'+r.IntN(4))) + "\n")
		}
		if r.IntN(3) == 0 {
			b.WriteString("end")
		}
		return b.String()
	}
	for range 5000 {
		requireNothingLost(t, text(10), text(10), text(10))
	}
}

func FuzzMerge(f *testing.F) {
	f.Add("a b c", "a x c", "a b d")
	f.Add("a b c d e", "A b c d e", "a b c d E ")
	f.Fuzz(func(t *testing.T, base, ours, theirs string) {
		base, ours, theirs = strings.ReplaceAll(base, " ", "\n"), strings.ReplaceAll(ours, " ", "\n"), strings.ReplaceAll(theirs, " ", "\n")
		requireNothingLost(t, base, ours, theirs)
		for _, c := range [][4]string{{base, ours, base, ours}, {base, base, theirs, theirs}, {base, ours, ours, ours}} {
			merged, conflicts := linediff.Merge(c[0], c[1], c[2])
			require.Empty(t, conflicts)
			require.Equal(t, c[3], merged)
		}
	})
}

func TestUnified(t *testing.T) {
	require.Equal(t, "--- a/x.go\n+++ b/x.go\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n", linediff.Unified("x.go", "x.go", "a\nb\n", "a\nc"))
	require.Equal(t, "--- /dev/null\n+++ b/my x\t\n@@ -0,0 +1 @@\n+a\n", linediff.Unified("", "my x", "", "a\n"))
	require.Equal(t, "--- \"a/x\\012y\"\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", linediff.Unified("x\ny", "", "a\n", ""))
	require.Equal(t, "--- /dev/null\n+++ b/x\n", linediff.Unified("", "x", "", ""))
	require.Empty(t, linediff.Unified("x", "x", "a", "a"))
}
