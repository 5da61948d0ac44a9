// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Member is a member of a JSON object, its value as it is written.
type Member struct {
	Name  string
	Value json.RawMessage
}

const space = " \t\r\n" // of JSON

// Members takes a JSON object apart in its own order, in which models write what a schema
// describes.
func Members(object []byte) ([]Member, error) {
	object = bytes.Trim(object, space)
	if !json.Valid(object) || object[0] != '{' {
		return nil, errors.New("not a JSON object")
	}
	var members []Member
	for start, i, depth := 1, 1, 0; i < len(object); i++ {
		switch c := object[i]; {
		case c == '"':
			for i++; object[i] != '"'; i++ {
				if object[i] == '\\' {
					i++
				}
			}
		case c == '{' || c == '[':
			depth++
		case depth > 0:
			if c == '}' || c == ']' {
				depth--
			}
		case c == ':':
			var m Member
			if err := json.Unmarshal(object[start:i], &m.Name); err != nil {
				return nil, err
			}
			members, start = append(members, m), i+1
		case c == ',' || c == '}':
			if len(members) > 0 { // not the end of {}
				members[len(members)-1].Value = bytes.Trim(object[start:i], space)
			}
			start = i + 1
		}
	}
	return members, nil
}

// Object puts an object together.
func Object(members []Member) json.RawMessage {
	out := json.RawMessage{'{'}
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(AppendJSONString(out, m.Name), ':')
		out = append(out, m.Value...)
	}
	return append(out, '}')
}
