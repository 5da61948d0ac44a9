// SPDX-License-Identifier: Apache-2.0

package command

import (
	"path/filepath"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// Named returns the paths that the words of an unknown effect may name: each word, and the parts of
// words such as "of=FILE" and "open('FILE')". They are absolute if the effect has a directory.
func Named(e model.Effect) (paths []string) {
	for _, word := range e.Argv {
		paths = append(paths, place(e.Dir, word))
		for _, part := range partsOf(word) {
			paths = append(paths, place(e.Dir, part))
		}
		if len(word) > 2 && word[0] == '-' && word[1] != '-' { // the value of an option of a letter
			paths = append(paths, place(e.Dir, word[2:]))
		}
	}
	return paths
}

// partsOf returns the parts of a word such as "of=FILE" and "open('FILE')", nil if it has none.
func partsOf(word string) []string {
	if !strings.ContainsAny(word, separators) {
		return nil
	}
	return strings.FieldsFunc(word, func(r rune) bool {
		return strings.ContainsRune(separators, r)
	})
}

const separators = " \t\n=,:;|&<>()[]{}\"'`@$"

func place(dir, name string) string {
	if dir == "" || filepath.IsAbs(name) || strings.HasPrefix(name, "~") {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}
