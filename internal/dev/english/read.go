// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// phrases are usual in translated English, and rare in the documentation of libraries that are
// known to read well.
var phrases = regexp.MustCompile(`\b(?:(?:is|are) no [a-z]+|as far as|go(?:es)? on|going on|whoever|say(?:s|ing)? (?:what|that|so|how|which|who|whether|where)` +
	`|What (?:a|an|the|is|was|has|it|they|comes|belongs|does|such)|stands? (?:for|in|at|behind|beside)|somebody|nobody|anybody|in place of` +
	`|th(?:ose|at) of|so that|of (?:its|their) own|what is to be|behind (?:a|the|it|them|this)|(?:give|take)s? up` +
	`|has (?:a|the) \w+ (?:done|made|asked)|are those|is (?:that of|what)|be had|no more|not any ?more|comes? to|by which|makes? of)\b`)

// room is a part of the repository: a directory of at most two levels, or a document. All decisions
// are one.
type room struct {
	name  string
	words int
	found []found
}

// found is a phrase in its line.
type found struct {
	file         string
	line         int
	phrase, text string
}

// rate returns the number of phrases in 10,000 words.
func (r *room) rate() float64 { return 1e4 * float64(len(r.found)) / float64(max(r.words, 1)) }

// read returns the rooms below root, those with the greatest rates first.
func read(root string) ([]*room, error) {
	rooms := map[string]*room{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if slices.Contains([]string{".git", "node_modules", "testdata", "dist"}, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		case !readable(file):
			return nil
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(file)
		name := roomOf(filepath.ToSlash(rel))
		if rooms[name] == nil {
			rooms[name] = &room{name: name}
		}
		rooms[name].read(filepath.ToSlash(rel), string(text))
		return err
	})
	var all []*room
	for _, r := range rooms {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *room) int {
		return cmp.Or(cmp.Compare(b.rate(), a.rate()), cmp.Compare(a.name, b.name))
	})
	return all, err
}

func readable(file string) bool {
	switch filepath.Ext(file) {
	case ".md":
		return true
	case ".go", ".ts", ".tsx":
		return !strings.HasSuffix(file, "_test.go") && !strings.HasSuffix(file, "_gen.go")
	}
	return false
}

func roomOf(file string) string {
	if strings.HasSuffix(file, ".md") && !strings.HasPrefix(file, "docs/decisions/") {
		return file
	}
	parts := strings.Split(file, "/")
	return strings.Join(parts[:min(2, len(parts)-1)], "/")
}

// read adds the comments of a program, or the prose of a document.
func (r *room) read(file, text string) {
	document, code := strings.HasSuffix(file, ".md"), false
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if document && strings.HasPrefix(line, "```") {
			code = !code
		}
		if document && (code || strings.HasPrefix(line, "```")) {
			continue
		}
		if !document {
			comment, ok := strings.CutPrefix(line, "//")
			if !ok || strings.HasPrefix(comment, "go:") || strings.HasPrefix(comment, " SPDX") {
				continue
			}
			line = comment
		}
		r.words += len(strings.Fields(line))
		for _, p := range phrases.FindAllString(line, -1) {
			r.found = append(r.found, found{file, n, p, strings.TrimSpace(line)})
		}
	}
}
