// SPDX-License-Identifier: Apache-2.0

package linediff_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/linediff"
)

// texts are all texts of up to n lines, each "a", "b" or "c".
func texts(n int) []string {
	all, last := []string{""}, []string{""}
	for range n {
		var next []string
		for _, text := range last {
			for _, line := range []string{"a\n", "b\n", "c\n"} {
				next = append(next, text+line)
			}
		}
		all, last = append(all, next...), next
	}
	return all
}

// common is how many lines two texts have in common, in order.
func common(a, b []string) int {
	last := make([]int, len(b)+1)
	for _, x := range a {
		now := make([]int, len(b)+1)
		for j, y := range b {
			if x == y {
				now[j+1] = last[j] + 1
			} else {
				now[j+1] = max(last[j+1], now[j])
			}
		}
		last = now
	}
	return last[len(b)]
}

// A comparison finds the least changes, and hunks have as many lines around these as are wanted, and
// are joined if they would touch.
func TestComparisonsAreShortest(t *testing.T) {
	for _, before := range texts(4) {
		for _, after := range texts(3) {
			a, b := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
			a, b = a[:len(a)-1], b[:len(b)-1]
			kept := common(a, b)
			for context := range 3 {
				hunks := linediff.Hunks(before, after, context)
				inserted, deleted := linediff.Count(hunks)
				require.Equal(t, [2]int{len(b) - kept, len(a) - kept}, [2]int{inserted, deleted}, "%q %q", before, after)
				checkHunks(t, a, b, hunks, context)
			}
		}
	}
}

func checkHunks(t *testing.T, a, b []string, hunks []linediff.Hunk, context int) {
	t.Helper()
	oldEnd, newEnd := 0, 0 // behind the last hunk
	for i, h := range hunks {
		oldFrom, newFrom := h.OldStart-1, h.NewStart-1
		if h.OldLines == 0 {
			oldFrom++
		}
		if h.NewLines == 0 {
			newFrom++
		}
		require.Equal(t, oldFrom-oldEnd, newFrom-newEnd, "what is between hunks is the same")
		if i > 0 {
			require.Positive(t, oldFrom-oldEnd, "hunks do not touch")
		}
		var old, now []string
		before, behind := 0, 0 // unchanged lines at the ends
		for j, l := range h.Lines {
			if l.Op != linediff.Insert {
				old = append(old, l.Text+"\n")
			}
			if l.Op != linediff.Delete {
				now = append(now, l.Text+"\n")
			}
			if l.Op == linediff.Keep {
				if behind++; behind == j+1 {
					before = behind
				}
			} else {
				behind = 0
			}
		}
		require.Equal(t, strings.Join(a[oldFrom:oldFrom+h.OldLines], ""), strings.Join(old, ""))
		require.Equal(t, strings.Join(b[newFrom:newFrom+h.NewLines], ""), strings.Join(now, ""))
		require.Equal(t, min(context, oldFrom+before-oldEnd), before, "%q %q %d", a, b, context)
		oldEnd, newEnd = oldFrom+h.OldLines, newFrom+h.NewLines
		left := len(a) - oldEnd + behind
		if i+1 < len(hunks) {
			left = context
		}
		require.Equal(t, min(context, left), behind, "%q %q %d", a, b, context)
	}
	require.Equal(t, len(a)-oldEnd, len(b)-newEnd)
}

// A thousand changes are compared; beyond that, all between the first and the last is replaced.
func TestComparisonsAreBounded(t *testing.T) {
	lines := func(name string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%s %d\n", name, i)
		}
		return b.String()
	}
	for more, want := range map[int][2]int{0: {500, 500}, 1: {501, 502}} {
		inserted, deleted := linediff.Count(linediff.Hunks("same\n"+lines("a", 250+more)+"mid\n"+lines("b", 250)+"end\n", "same\n"+lines("c", 250)+"mid\n"+lines("d", 250)+"end\n", 0))
		require.Equal(t, want, [2]int{inserted, deleted})
	}
	old, now := strings.Split(lines("a", 501), "\n"), strings.Split(lines("b", 501), "\n")
	var all []linediff.Line // what is replaced as a whole is deleted first
	for _, l := range old[:501] {
		all = append(all, linediff.Line{Op: linediff.Delete, Text: l})
	}
	for _, l := range now[:501] {
		all = append(all, linediff.Line{Op: linediff.Insert, Text: l})
	}
	require.Equal(t, []linediff.Hunk{{OldStart: 1, OldLines: 501, NewStart: 1, NewLines: 501, Lines: all}}, linediff.Hunks(lines("a", 501), lines("b", 501), 3))
}

// Longer texts are compared as exactly as short ones.
func TestComparisonsOfLongerTextsAreShortest(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	text := func() (lines []string) {
		for range 5 + r.IntN(25) {
			lines = append(lines, string(rune('a'+r.IntN(5)))+"\n")
		}
		return lines
	}
	for range 1000 {
		a, b := text(), text()
		hunks := linediff.Hunks(strings.Join(a, ""), strings.Join(b, ""), 1)
		inserted, deleted := linediff.Count(hunks)
		kept := common(a, b)
		require.Equal(t, [2]int{len(b) - kept, len(a) - kept}, [2]int{inserted, deleted}, "%q %q", a, b)
		checkHunks(t, a, b, hunks, 1)
	}
}

// Where several comparisons are as short, lines are deleted before others are inserted, and the
// first of equal lines are kept.
func TestOneOfSeveralShortestComparisons(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"ab", "ba", "-a b+a"}, {"abc", "cba", "-a-b c+b+a"}, {"aab", "ab", " a-a b"}, {"ab", "aab", " a+a b"}, {"a", "b", "-a+b"},
		{"ab", "cd", "-a-b+c+d"}, {"axb", "bxa", "-a-x b+x+a"}, {"abcabba", "cbabac", "-a-b c+b a b-b a+c"}, {"xaya", "ayax", "-x a y a+x"},
	} {
		lines := func(s string) string { return strings.Join(strings.Split(s, ""), "\n") + "\n" }
		var got strings.Builder
		for _, h := range linediff.Hunks(lines(c.before), lines(c.after), 9) {
			for _, l := range h.Lines {
				got.WriteString(string(l.Op) + l.Text)
			}
		}
		require.Equal(t, c.want, got.String(), "%s %s", c.before, c.after)
	}
}

// A unified diff has the names of the files, as git writes them, and says where a text has no line
// end.
func TestUnifiedDiffsHaveNames(t *testing.T) {
	for _, c := range []struct{ oldName, newName, before, after, want string }{
		{"a.go", "a.go", "x\n", "x\n", ""},
		{"a.go", "", "", "", "--- a/a.go\n+++ /dev/null\n"},
		{"", "a.go", "", "", "--- /dev/null\n+++ b/a.go\n"},
		{"/x/a.go", "/x/b.go", "x\n", "y\n", "--- a/x/a.go\n+++ b/x/b.go\n@@ -1 +1 @@\n-x\n+y\n"},
		{"a", "b", "x", "y\nz", "--- a/a\n+++ b/b\n@@ -1 +1,2 @@\n-x\n\\ No newline at end of file\n+y\n+z\n\\ No newline at end of file\n"},
		{"", "b", "", "y\n", "--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+y\n"},
		{"a b", "a b", "x\n", "", "--- a/a b\t\n+++ b/a b\t\n@@ -1 +0,0 @@\n-x\n"},
		{"a\tb", "ä\"\\", "x\n", "", "--- \"a/a\\011b\"\n+++ \"b/ä\\\"\\\\\"\n@@ -1 +0,0 @@\n-x\n"},
		{"a\xff", "\u202e\ufffd", "x\n", "", "--- \"a/a\\377\"\n+++ \"b/\\342\\200\\256\ufffd\"\n@@ -1 +0,0 @@\n-x\n"},
		{"n", "n", numbers(1, 20), strings.Replace(numbers(1, 20), "10\n", "ten\n", 1), "--- a/n\n+++ b/n\n@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n"},
	} {
		require.Equal(t, c.want, linediff.Unified(c.oldName, c.newName, c.before, c.after), "%+v", c)
	}
}

// Merges of small texts take each side's changes, or have conflicts that cover all of them.
func TestSmallMerges(t *testing.T) {
	all := texts(3)
	for _, base := range all {
		for _, ours := range all {
			merged, conflicts := linediff.Merge(base, ours, base)
			require.Empty(t, conflicts)
			require.Equal(t, ours, merged)
			merged, conflicts = linediff.Merge(base, base, ours)
			require.Empty(t, conflicts)
			require.Equal(t, ours, merged)
			merged, conflicts = linediff.Merge(base, ours, ours)
			require.Empty(t, conflicts)
			require.Equal(t, ours, merged)
		}
	}
	for _, c := range []struct {
		base, ours, theirs string
		want               []linediff.Conflict
	}{
		{"1\n2\n3\n4\n", "1\nx\ny\n3\n4\n", "1\nz\n3\n4\n", []linediff.Conflict{{Base: "2\n", Ours: "x\ny\n", Theirs: "z\n", Line: 2, Lines: 2}}},
		{"1\n2\n3\n4\n5\n", "0\n1\nx\n3\n4\n5\n", "1\ny\nz\n4\n5\n", []linediff.Conflict{{Base: "2\n3\n", Ours: "x\n3\n", Theirs: "y\nz\n", Line: 3, Lines: 2}}},
		{"1\n2\n3\n4\n5\n", "1\nx\n3\ny\n5\n", "1\na\nb\nc\n5\n", []linediff.Conflict{{Base: "2\n3\n4\n", Ours: "x\n3\ny\n", Theirs: "a\nb\nc\n", Line: 2, Lines: 3}}},
		{"1\n2\n3\n", "1\n", "1\n2\nx\n", []linediff.Conflict{{Base: "2\n3\n", Theirs: "2\nx\n", Line: 2}}},
	} {
		merged, conflicts := linediff.Merge(c.base, c.ours, c.theirs)
		require.Equal(t, c.want, conflicts, "%+v", c)
		require.Empty(t, merged)
	}
}
