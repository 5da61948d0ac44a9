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

// Members takes a JSON object apart in its own order, in which models write what a schema
// describes.
func Members(object []byte) ([]Member, error) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if token, err := dec.Token(); err != nil || token != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	var members []Member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m := Member{Name: name.(string)} // the decoder takes nothing else there
		if err := dec.Decode(&m.Value); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	_, err := dec.Token() // the brace
	return members, err
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
