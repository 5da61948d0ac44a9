package anthropicmodel

import (
	"bytes"
	"encoding/json"
	"iter"
)

// isObject reports whether data is a JSON object.
func isObject(data []byte) bool {
	data = bytes.TrimSpace(data)
	return len(data) > 0 && data[0] == '{' && json.Valid(data)
}

// members yields the members of a valid JSON object in their order, values as they are written.
func members(object []byte) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		d := json.NewDecoder(bytes.NewReader(object))
		if _, err := d.Token(); err != nil {
			return
		}
		for d.More() {
			key, err := d.Token()
			name, ok := key.(string)
			var value json.RawMessage
			if err != nil || !ok || d.Decode(&value) != nil || !yield(name, value) {
				return
			}
		}
	}
}

// withMember returns an object with a member set, in its place if it has one of the name.
func withMember(object []byte, name string, value json.RawMessage) []byte {
	found := false
	out := []byte{'{'}
	add := func(name string, value json.RawMessage) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		key, _ := json.Marshal(name) // a string always has a JSON form
		out = append(append(append(out, key...), ':'), value...)
	}
	for n, v := range members(object) {
		if n == name {
			found = true
			v = value
		}
		add(n, v)
	}
	if !found {
		add(name, value)
	}
	return append(out, '}')
}
