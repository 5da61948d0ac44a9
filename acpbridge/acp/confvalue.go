// SPDX-License-Identifier: Apache-2.0

package acp

import "encoding/json"

// SessionConfigSelectOptions are the values of a select option: a flat list or a list of groups.
// Exactly one field is set, be it to an empty slice.
type SessionConfigSelectOptions struct {
	Ungrouped []SessionConfigSelectOption // a flat list
	Grouped   []SessionConfigSelectGroup  // a list of groups
}

// MarshalJSON writes the protocol's form.
func (v SessionConfigSelectOptions) MarshalJSON() ([]byte, error) { return marshalJSON(&v) }

// UnmarshalJSON reads the protocol's form.
func (v *SessionConfigSelectOptions) UnmarshalJSON(data []byte) error { return unmarshalJSON(data, v) }

func (v *SessionConfigSelectOptions) encode(e *encoder) {
	if v.Ungrouped != nil && v.Grouped != nil {
		e.badUnion("SessionConfigSelectOptions", 2)
		return
	}
	if v.Grouped != nil {
		e.message(&v.Grouped)
	} else {
		e.message(&v.Ungrouped)
	}
}

func (v *SessionConfigSelectOptions) decode(d *decoder) {
	*v = SessionConfigSelectOptions{}
	start := d.pos
	grouped := d.array() && d.next() == '{' && d.firstKey("SessionConfigSelectOptions", "group") == 0
	if d.err != nil {
		return
	}
	d.pos = start
	if grouped {
		d.message(&v.Grouped)
	} else {
		d.message(&v.Ungrouped)
	}
}

// ElicitationContentValue is the user's input in one field of a form. Exactly one field is set.
type ElicitationContentValue struct {
	String      *string  // of a text field, or the choice of a single select
	Integer     *int64   // of an integer field
	Number      *float64 // of a number field
	Boolean     *bool    // of a checkbox
	StringArray []string // of a multiple select; empty, not nil, for no strings
	// Unknown is a value of another kind, verbatim.
	Unknown json.RawMessage
}

// MarshalJSON writes the protocol's form.
func (v ElicitationContentValue) MarshalJSON() ([]byte, error) { return marshalJSON(&v) }

// UnmarshalJSON reads the protocol's form.
func (v *ElicitationContentValue) UnmarshalJSON(data []byte) error { return unmarshalJSON(data, v) }

func (v *ElicitationContentValue) encode(e *encoder) {
	n := 0
	for _, set := range [...]bool{
		v.String != nil, v.Integer != nil, v.Number != nil, v.Boolean != nil, v.StringArray != nil, v.Unknown != nil,
	} {
		if set {
			n++
		}
	}
	switch {
	case n != 1:
		e.badUnion("ElicitationContentValue", n)
	case v.String != nil:
		e.string(*v.String)
	case v.Integer != nil:
		e.int(*v.Integer)
	case v.Number != nil:
		e.float(*v.Number)
	case v.Boolean != nil:
		e.bool(*v.Boolean)
	case v.StringArray != nil:
		e.message(&v.StringArray)
	default:
		e.raw(v.Unknown)
	}
}

func (v *ElicitationContentValue) decode(d *decoder) {
	*v = ElicitationContentValue{}
	if d.err != nil {
		return
	}
	start := d.pos
	switch d.next() {
	case '"':
		v.String = new(d.string())
	case 't', 'f':
		v.Boolean = new(d.bool())
	case '[':
		d.message(&v.StringArray)
	case '{', 'n':
		v.Unknown = d.raw()
	default:
		if n := d.int(); d.err == nil {
			v.Integer = &n
			return
		}
		d.err = nil
		d.pos = start
		v.Number = new(d.float())
	}
	if d.err != nil { // an array of other things, or a number beyond all ranges
		d.err = nil
		*v = ElicitationContentValue{}
		d.pos = start
		v.Unknown = d.raw()
	}
}
