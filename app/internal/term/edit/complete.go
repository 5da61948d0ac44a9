// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode"
)

// Candidate is something that can be completed to.
type Candidate struct {
	// Text replaces what was typed. Note is shown beside it.
	Text, Note string
}

// Token returns what is being typed and can be completed: a command at the beginning of the text,
// or a file after a space. start is where it begins; kind is '/' or '@', or 0 for neither.
func (b *Buffer) Token() (kind byte, start int, word string) {
	head := b.text[:b.cursor]
	start = strings.LastIndexFunc(head, unicode.IsSpace) + 1
	word = head[start:]
	switch {
	case strings.HasPrefix(word, "/") && start == 0:
		return '/', 0, word
	case strings.HasPrefix(word, "@"):
		return '@', start, word
	}
	return 0, 0, ""
}

// maxCandidates is how many candidates are offered.
const maxCandidates = 50

// Commands returns the commands that begin with a word, and then those that have it in them.
func Commands(word string, all []Candidate) []Candidate {
	return ranked(all, func(c Candidate) int {
		switch i := strings.Index(strings.ToLower(c.Text), strings.ToLower(word[1:])); {
		case i < 0:
			return -1
		case i == 1:
			return 0
		}
		return 1
	})
}

// Files returns the files that fit a word that begins with @: names that begin with it before names
// that have it in them, before paths that have it in them, before paths that have its letters in
// this order. Short names come first.
func Files(word string, files []string) []Candidate {
	word = strings.ToLower(word[1:])
	all := make([]Candidate, 0, len(files))
	for _, f := range files {
		all = append(all, Candidate{Text: "@" + f})
	}
	slices.SortStableFunc(all, func(a, b Candidate) int { return len(a.Text) - len(b.Text) })
	return ranked(all, func(c Candidate) int {
		file := strings.ToLower(c.Text[1:])
		base := path.Base(file)
		switch {
		case strings.HasPrefix(base, word), strings.HasPrefix(file, word):
			return 0
		case strings.Contains(base, word):
			return 1
		case strings.Contains(file, word):
			return 2
		case subsequence(word, file):
			return 3
		}
		return -1
	})
}

func subsequence(word, s string) bool {
	for _, r := range word {
		i := strings.IndexRune(s, r)
		if i < 0 {
			return false
		}
		s = s[i+len(string(r)):]
	}
	return true
}

// ranked returns the candidates with the lowest ranks; those below 0 are left out.
func ranked(all []Candidate, rank func(Candidate) int) []Candidate {
	type one struct {
		Candidate
		rank int
	}
	var fit []one
	for _, c := range all {
		if r := rank(c); r >= 0 {
			fit = append(fit, one{c, r})
		}
	}
	slices.SortStableFunc(fit, func(a, b one) int { return cmp.Compare(a.rank, b.rank) })
	out := make([]Candidate, 0, min(len(fit), maxCandidates))
	for _, f := range fit[:min(len(fit), maxCandidates)] {
		out = append(out, f.Candidate)
	}
	return out
}
