// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"bytes"
	"encoding/json"

	"github.com/ponte-go/ponte/internal/adapter"
)

// reasoningDetails collects OpenRouter's reasoning_details, which the provider wants back
// unchanged. In a stream they arrive in pieces: objects of the same type and index, whose texts
// must be joined.
type reasoningDetails struct {
	items []*detail
	lists int // number of lists so far
}

// detail is one object with its members in order.
type detail struct {
	members []detailMember
	list    int
}

type detailMember struct {
	name  string
	value json.RawMessage
}

// add adds a list of objects. Anything else is ignored, because it could not be sent back.
func (r *reasoningDetails) add(list []byte) {
	var objects []json.RawMessage
	if json.Unmarshal(list, &objects) != nil {
		return
	}
	r.lists++
	for _, object := range objects {
		d := parseDetail(object)
		if d == nil {
			continue
		}
		d.list = r.lists
		// Objects in one list are separate. Only a later list continues them.
		if n := len(r.items); n > 0 && r.items[n-1].list != d.list && r.items[n-1].continuedBy(d) {
			r.items[n-1].join(d)
			continue
		}
		r.items = append(r.items, d)
	}
}

func parseDetail(object []byte) *detail {
	dec := json.NewDecoder(bytes.NewReader(object))
	if token, err := dec.Token(); err != nil || token != json.Delim('{') {
		return nil
	}
	d := &detail{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return nil
		}
		var compact bytes.Buffer
		if json.Compact(&compact, value) != nil {
			return nil
		}
		d.members = append(d.members, detailMember{name.(string), compact.Bytes()})
	}
	return d
}

//go:noinline
func (d *detail) member(name string) *detailMember {
	for i := range d.members {
		if d.members[i].name == name {
			return &d.members[i]
		}
	}
	return nil
}

//go:noinline
func (d *detail) value(name string) string {
	if m := d.member(name); m != nil && string(m.value) != "null" {
		return string(m.value)
	}
	return ""
}

func (d *detail) continuedBy(next *detail) bool {
	sameID := d.value("id") == next.value("id") || d.value("id") == "" || next.value("id") == ""
	return sameID && d.value("type") == next.value("type") && d.value("index") == next.value("index")
}

// join appends the texts of next to those of d, and adds new members.
func (d *detail) join(next *detail) {
	for _, m := range next.members {
		mine := d.member(m.name)
		switch {
		case mine == nil:
			d.members = append(d.members, m)
		case string(m.value) == "null":
		case string(mine.value) == "null":
			mine.value = m.value
		case m.name == "text" || m.name == "summary" || m.name == "data":
			if mine.value[0] == '"' && m.value[0] == '"' { // joins two JSON strings without decoding
				mine.value = append(mine.value[:len(mine.value)-1], m.value[1:]...)
			}
		default:
			mine.value = m.value
		}
	}
}

// encode returns the collected list as JSON, or nil if it is empty.
func (r *reasoningDetails) encode() []byte {
	if len(r.items) == 0 {
		return nil
	}
	out := []byte{'['}
	for i, d := range r.items {
		if i > 0 {
			out = append(out, ',')
		}
		out = d.append(out)
	}
	return append(out, ']')
}

// append appends the object as JSON.
func (d *detail) append(out []byte) []byte {
	out = append(out, '{')
	for j, m := range d.members {
		if j > 0 {
			out = append(out, ',')
		}
		out = append(adapter.AppendJSONString(out, m.name), ':')
		out = append(out, m.value...)
	}
	return append(out, '}')
}
