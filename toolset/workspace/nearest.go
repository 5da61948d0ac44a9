// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// How much of a file is shown to a model whose text was not found.
const (
	shownLines    = 8
	shownLineSize = 200
)

// explainMissing reports that a text is not in the file, and shows the most similar lines.
func (t *foldedText) explainMissing(old string) string {
	lines := splitLines(t.folded)
	want := splitLines([]byte(old))
	at, how := nearestLines(lines, want)
	switch how {
	case sameWords:
		return fmt.Sprintf("old_text was not found. These lines differ from it in white space alone:\n%s\nCopy them exactly.", numbered(lines, at, len(want)))
	case alike:
		return fmt.Sprintf("old_text was not found. The nearest lines are:\n%s\nCopy the text exactly from the file.", numbered(lines, at, len(want)))
	}
	if len(t.folded) == 0 {
		return "old_text was not found: the file is empty."
	}
	return fmt.Sprintf("old_text was not found, and nothing like it. Read the file again with %s.", ToolReadFile)
}

// splitLines cuts a text into lines without their endings.
func splitLines(text []byte) [][]byte {
	if len(text) == 0 {
		return nil
	}
	return bytes.Split(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\n'})
}

// numbered shows lines with their numbers.
func numbered(lines [][]byte, from, n int) string {
	var b strings.Builder
	to := min(from+min(n, shownLines), len(lines))
	for i := from; i < to; i++ {
		if i > from {
			b.WriteByte('\n')
		}
		b.WriteString(numberedLine(i+1, string(lines[i])))
	}
	if n > shownLines {
		b.WriteString("\n       …")
	}
	return b.String()
}

// numberedLine shows a line with its number.
func numberedLine(n int, line string) string {
	if line == "" {
		return fmt.Sprintf("%6d", n)
	}
	return fmt.Sprintf("%6d\t%s", n, cutText(line, shownLineSize))
}

// likeness is the way in which a place was found.
type likeness int

const (
	different likeness = iota
	alike
	sameWords
)

// nearestLines returns where the lines want are most likely meant to be. Its cost is linear in
// the size of the texts.
func nearestLines(lines, want [][]byte) (at int, how likeness) {
	key := func(line []byte) string { return string(bytes.Join(bytes.Fields(line), []byte{' '})) }
	keys := make(map[string][]int) // by line of want
	for i, w := range want {
		if k := key(w); k != "" {
			keys[k] = append(keys[k], i)
		}
	}
	// Every line that is in both votes for where want would begin.
	votes := map[int]int{}
	full := 0 // how many lines of want are not blank
	for _, is := range keys {
		full += len(is)
	}
	best, bestVotes := -1, 0
	for n, line := range lines {
		is := keys[key(line)]
		if len(is) > 16 {
			is = is[:16]
		}
		for _, i := range is {
			start := n - i
			votes[start]++
			if v := votes[start]; v > bestVotes || v == bestVotes && start < best {
				best, bestVotes = start, v
			}
		}
	}
	switch {
	case bestVotes > 0 && bestVotes == full:
		return max(best, 0), sameWords
	case bestVotes > 0:
		return max(best, 0), alike
	}
	// No line is the same: find the one that shares most with the first line that says something.
	var first []byte
	offset := 0
	for i, w := range want {
		if f := bytes.TrimSpace(w); len(f) > len(first) {
			first, offset = f, i
		}
		if len(first) >= 8 {
			break
		}
	}
	if len(first) < 3 {
		return 0, different
	}
	pairs := pairsOf(first)
	best, bestScore := -1, 0.5
	for n, line := range lines {
		if s := pairs.score(bytes.TrimSpace(line)); s > bestScore {
			best, bestScore = n, s
		}
	}
	if best < 0 {
		return 0, different
	}
	return max(best-offset, 0), alike
}

// pairSet counts the pairs of neighbouring bytes in a line.
type pairSet struct {
	count map[[2]byte]int
	total int
}

// maxPairs bounds how much of a line is compared.
const maxPairs = 500

func pairsOf(line []byte) pairSet {
	line = line[:min(len(line), maxPairs)]
	p := pairSet{map[[2]byte]int{}, max(len(line)-1, 0)}
	for i := 1; i < len(line); i++ {
		p.count[[2]byte{line[i-1], line[i]}]++
	}
	return p
}

// score returns how alike a line is, from 0 to 1.
func (p pairSet) score(line []byte) float64 {
	line = line[:min(len(line), maxPairs)]
	total := p.total + max(len(line)-1, 0)
	if total == 0 || len(line) > 3*(p.total+1) || p.total > 3*len(line) {
		return 0
	}
	shared := 0
	used := map[[2]byte]int{}
	for i := 1; i < len(line); i++ {
		pair := [2]byte{line[i-1], line[i]}
		if used[pair] < p.count[pair] {
			used[pair]++
			shared++
		}
	}
	return 2 * float64(shared) / float64(total)
}

// cutText shortens a text to about n bytes.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
