// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
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
	members []adapter.Member
	list    int
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
	members, err := adapter.Members(object)
	if err != nil {
		return nil
	}
	for i := range members {
		members[i].Value = compacted(members[i].Value)
	}
	return &detail{members: members}
}

//go:noinline
func (d *detail) member(name string) *adapter.Member {
	for i := range d.members {
		if d.members[i].Name == name {
			return &d.members[i]
		}
	}
	return nil
}

//go:noinline
func (d *detail) value(name string) string {
	if m := d.member(name); m != nil && string(m.Value) != "null" {
		return string(m.Value)
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
		mine := d.member(m.Name)
		switch {
		case mine == nil:
			d.members = append(d.members, m)
		case string(m.Value) == "null":
		case string(mine.Value) == "null":
			mine.Value = m.Value
		case m.Name == "text" || m.Name == "summary" || m.Name == "data":
			if mine.Value[0] == '"' && m.Value[0] == '"' { // joins two JSON strings without decoding
				mine.Value = append(mine.Value[:len(mine.Value)-1], m.Value[1:]...)
			}
		default:
			mine.Value = m.Value
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
		out = append(out, adapter.Object(d.members)...)
	}
	return append(out, ']')
}
