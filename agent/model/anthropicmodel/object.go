// SPDX-License-Identifier: Apache-2.0

package anthropicmodel

import (
	"bytes"
	"encoding/json"
	"iter"

	"github.com/ponte-go/ponte/internal/adapter"
)

// isObject reports whether data is a JSON object.
func isObject(data []byte) bool {
	data = bytes.TrimSpace(data)
	return len(data) > 0 && data[0] == '{' && json.Valid(data)
}

// members yields the members of a valid JSON object in order, with values as they are written.
func members(object []byte) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		all, _ := adapter.Members(object) // other values have no members
		for _, m := range all {
			if !yield(m.Name, m.Value) {
				return
			}
		}
	}
}

// appendMember adds a member to an object without closing brace, or starts one.
func appendMember(object []byte, name string, value json.RawMessage) []byte {
	if object = openObject(object); len(object) > 1 {
		object = append(object, ',')
	}
	return append(append(adapter.AppendJSONString(object, name), ':'), value...)
}

// openObject returns an object without its closing brace, or the start of one.
func openObject(object []byte) []byte {
	if object == nil {
		return []byte{'{'}
	}
	return object
}

// withMember returns an object with a member set. An existing member is replaced in its place.
func withMember(object []byte, name string, value json.RawMessage) []byte {
	found := false
	var out []byte
	for n, v := range members(object) {
		if n == name {
			found = true
			v = value
		}
		out = appendMember(out, n, v)
	}
	if !found {
		out = appendMember(out, name, value)
	}
	return append(out, '}')
}
