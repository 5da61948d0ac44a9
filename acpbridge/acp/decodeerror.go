// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"fmt"

	"github.com/ponte-go/ponte/internal/show"
)

// DecodeError reports a value that does not have the form that the protocol asks for. As the
// parameters of a request it becomes the answer -32602.
type DecodeError struct {
	Type    string // the Go name of the protocol type
	Field   string // the field's name on the wire, "" if it is the value as a whole
	Problem string
}

func (e *DecodeError) Error() string {
	if e.Field == "" {
		return show.Received(fmt.Sprintf("acp: %s: %s", e.Type, e.Problem))
	}
	return show.Received(fmt.Sprintf("acp: %s.%s: %s", e.Type, e.Field, e.Problem))
}

// end closes the decoding of a struct: it gives an error of one of the fields its place, and
// reports the first required field whose bit is not among have.
func (d *decoder) end(typ string, have int, required ...string) {
	if d.err != nil {
		d.name(typ)
		return
	}
	for i, name := range required {
		if have&(1<<i) == 0 {
			d.missing(typ, name)
			return
		}
	}
}

func (d *decoder) missing(typ, field string) {
	if d.err == nil {
		d.err = &DecodeError{Type: typ, Field: field, Problem: "required, but missing"}
	}
}

// name puts the type and the current member on an error that has none yet.
func (d *decoder) name(typ string) {
	if e, ok := d.err.(*DecodeError); ok && e.Type == "" {
		e.Type, e.Field = typ, validString(d.key)
	}
}

func (d *decoder) fail(problem string) {
	if d.err == nil {
		d.err = &DecodeError{Problem: problem}
	}
}

// mismatch reports a value of the wrong JSON type.
func (d *decoder) mismatch(want string) {
	got := "a number"
	switch d.next() {
	case '{':
		got = "an object"
	case '[':
		got = "an array"
	case '"':
		got = "a string"
	case 't', 'f':
		got = "a boolean"
	case 'n':
		got = "null"
	}
	d.fail("is " + got + ", want " + want)
}
