// SPDX-License-Identifier: Apache-2.0

package command

import (
	"path/filepath"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// Named returns the paths that the words of an unknown effect may name: each word, and the parts of
// words such as "of=FILE" and "open('FILE')". They are absolute if the effect has a directory.
func Named(e model.Effect) []string {
	paths := make([]string, 0, len(e.Argv))
	add := func(word string) {
		name := place(e.Dir, word)
		paths = append(paths, name)
		if behind := behindKernel(name, e.Dir); behind != "" {
			paths = append(paths, filepath.Clean(behind))
		}
		if e.Dir == "" || !hasParent(word) {
			return
		}
		name = uncleaned(e.Dir, word) // which may lead through a link
		paths = append(paths, name)
		if behind := behindKernel(name, e.Dir); behind != "" {
			paths = append(paths, behind)
		}
	}
	for _, word := range e.Argv {
		add(word)
		for _, part := range partsOf(word) {
			add(part)
		}
		if len(word) > 2 && word[0] == '-' && word[1] != '-' { // the value of an option of a letter
			add(word[2:])
		}
	}
	return paths
}

// partsOf returns the parts of a word such as "of=FILE" and "open('FILE')", nil if it has none.
func partsOf(word string) (parts []string) {
	begin, whole := 0, true
	for i := range len(word) {
		if separates[word[i]] {
			if i > begin {
				parts = append(parts, word[begin:i])
			}
			begin, whole = i+1, false
		}
	}
	if !whole && begin < len(word) {
		parts = append(parts, word[begin:])
	}
	return parts
}

// separates are the characters that end a part.
var separates = func() (all [256]bool) {
	for _, c := range []byte(" \t\n=,:;|&<>()[]{}\"'`@$") {
		all[c] = true
	}
	return all
}()

func place(dir, name string) string {
	if dir == "" || filepath.IsAbs(name) || strings.HasPrefix(name, "~") {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}
