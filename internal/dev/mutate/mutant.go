// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"hash/fnv"
	"strings"
)

// mutant is one change to one file.
type mutant struct {
	// id names the mutant by file, function, operator and a hash of the changed lines, before and
	// after. It stays the same while other lines are edited.
	id         string
	pkg        *pkg
	file       *file
	function   string
	around     *ast.FuncDecl // nil if it is outside of functions
	form       form          // of its copy: see switch.go
	operator   string
	start, end int // offsets of what is replaced
	text       string
}

// source returns the whole file with the change.
func (m *mutant) source() []byte {
	return bytes.Join([][]byte{m.file.src[:m.start], []byte(m.text), m.file.src[m.end:]}, nil)
}

// lines returns the changed lines before and after the change.
func (m *mutant) lines() (before, after string) {
	from := bytes.LastIndexByte(m.file.src[:m.start], '\n') + 1
	to := len(m.file.src)
	if i := bytes.IndexByte(m.file.src[m.end:], '\n'); i >= 0 {
		to = m.end + i
	}
	src := string(m.file.src)
	return src[from:to], src[from:m.start] + m.text + src[m.end:to]
}

func (m *mutant) line() int { return 1 + bytes.Count(m.file.src[:m.start], []byte{'\n'}) }

// diff returns the change, at most a few lines of each side.
func (m *mutant) diff() string {
	const limit = 8
	before, after := m.lines()
	var b strings.Builder
	for _, side := range []struct{ mark, text string }{{"-", before}, {"+", after}} {
		lines := strings.Split(side.text, "\n")
		for i, line := range lines {
			if i == limit {
				fmt.Fprintf(&b, "%s … %d more lines\n", side.mark, len(lines)-limit)
				break
			}
			fmt.Fprintf(&b, "%s %s\n", side.mark, strings.TrimSpace(line))
		}
	}
	return b.String()
}

// name sets the ids of one file's mutants. Mutants that would have the same id are told apart by a
// number.
func name(mutants []*mutant) {
	seen := map[string]int{}
	for _, m := range mutants {
		before, after := m.lines()
		h := fnv.New32a()
		for _, side := range []string{before, after} {
			for _, word := range strings.Fields(side) {
				_, _ = h.Write([]byte(word + " "))
			}
			_, _ = h.Write([]byte{0})
		}
		m.id = fmt.Sprintf("%s:%s:%s:%06x", m.file.name, m.function, m.operator, h.Sum32()&0xffffff)
		if seen[m.id]++; seen[m.id] > 1 {
			m.id += fmt.Sprintf("#%d", seen[m.id])
		}
	}
}

func indent(text string) string {
	return "\t" + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n\t") + "\n"
}
