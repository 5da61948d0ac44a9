// SPDX-License-Identifier: Apache-2.0

package schema

import "strings"

// table is a small map of constants. The linker lays it out, while a map takes code that builds it
// in every program.
type table []struct{ key, value string }

func (t table) get(key string) (value string, ok bool) {
	for i := range t {
		if t[i].key == key {
			return t[i].value, true
		}
	}
	return "", false
}

// lists returns the key of the list of words that has a word, or "".
func (t table) lists(word string) string {
	for i := range t {
		if hasWord(t[i].value, word) {
			return t[i].key
		}
	}
	return ""
}

// hasWord reports whether a list of words has a word.
func hasWord(list, word string) bool {
	return word != "" && !strings.Contains(word, " ") && strings.Contains(" "+list+" ", " "+word+" ")
}
