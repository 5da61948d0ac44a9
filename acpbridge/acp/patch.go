// SPDX-License-Identifier: Apache-2.0

package acp

import "bytes"

// Patch is a string in an update that says three things: absent, which the zero value is, leaves
// what the peer has; [Clear], null on the wire, removes it; [Replace] sets it.
type Patch struct {
	text  string
	state patchState
}

type patchState uint8

const (
	patchAbsent patchState = iota
	patchClear
	patchReplace
)

// Replace returns the patch that sets the string.
func Replace(s string) Patch { return Patch{text: s, state: patchReplace} }

// Clear returns the patch that removes the string.
func Clear() Patch { return Patch{state: patchClear} }

// IsZero reports whether the patch leaves what there is.
func (p Patch) IsZero() bool { return p.state == patchAbsent }

// Get returns the new string and whether there is one. It is false both for the zero value and for
// [Clear].
func (p Patch) Get() (s string, ok bool) { return p.text, p.state == patchReplace }

// MarshalJSON implements [encoding/json.Marshaler].
func (p Patch) MarshalJSON() ([]byte, error) { return marshalJSON(&p) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (p *Patch) UnmarshalJSON(data []byte) error {
	return unmarshalJSON(bytes.TrimSpace(data), p)
}

func (p *Patch) encode(e *encoder) {
	if p.state == patchReplace {
		e.string(p.text)
	} else {
		e.null()
	}
}

func (p *Patch) decode(d *decoder) {
	if d.null() {
		*p = Clear()
	} else {
		*p = Replace(d.string())
	}
}
