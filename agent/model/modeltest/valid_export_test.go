// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/internal/schema"
)

// shownChange returns what a change made of a document.
func shownChange(changed any, ok bool) string {
	if !ok {
		return "nowhere"
	}
	text, err := json.Marshal(changed)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Set returns a document with another value at a path.
func Set(document, path, to string) string {
	return shownChange(set(exact([]byte(document)), path, exact([]byte(to))))
}

// Left returns a document without what is at a path.
func Left(document, path string) string {
	return shownChange(set(exact([]byte(document)), path, absence{}))
}

// Renamed returns a document in which an entry of a map has another key.
func Renamed(document, path string, key any) string {
	before := exact([]byte(document))
	after := shownChange(rename(before, path, key))
	if shownChange(before, true) != shownChange(exact([]byte(document)), true) {
		return "the document itself was changed"
	}
	return after
}

// Got returns what is at a path of a document.
func Got(document, path string) string { return shownChange(get(exact([]byte(document)), path)) }

// Compared returns the path of the field that a rule compares a value with.
func Compared(path, rule string) string { return compared(schema.Problem{Path: path, Rule: rule}) }

// Candidates returns the values that are tried for a problem, as JSON.
func Candidates(text, document, path, rule string) (all []string) {
	m := &mender{schema: json.RawMessage(text)}
	for _, v := range m.candidates(exact([]byte(document)), schema.Problem{Path: path, Rule: rule}, path) {
		one, err := json.Marshal(v)
		all = append(all, fmt.Sprint(string(one)))
		if err != nil {
			all = append(all, err.Error())
		}
	}
	return all
}

// Samples returns the texts that are tried for every rule, as JSON.
func Samples() string {
	var all []string
	for _, s := range samples {
		text, _ := json.Marshal(s)
		all = append(all, string(text))
	}
	return strings.Join(all, " ")
}
