// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"strconv"
)

// RequestID is the id of a JSON-RPC request: an integer, a string, or null, which the zero value is. It is kept as it was written,
// so that integers of any size come back unchanged.
type RequestID struct {
	raw string // JSON; "" is null
}

// IntID returns the id that is the integer n.
func IntID(n int64) RequestID { return RequestID{raw: strconv.FormatInt(n, 10)} }

// StringID returns the id that is the string s.
func StringID(s string) RequestID {
	e := newEncoder()
	defer e.release()
	e.string(s)
	return RequestID{raw: string(e.b)}
}

// IsNull reports whether the id is null.
func (id RequestID) IsNull() bool { return id.raw == "" }

// String returns the id's JSON.
func (id RequestID) String() string {
	if id.raw == "" {
		return "null"
	}
	return id.raw
}

// MarshalJSON implements [encoding/json.Marshaler].
func (id RequestID) MarshalJSON() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (id *RequestID) UnmarshalJSON(data []byte) error { return unmarshalJSON(data, id) }

func (id *RequestID) encode(e *encoder) { e.b = append(e.b, id.String()...) }

func (id *RequestID) decode(d *decoder) {
	if d.err != nil {
		return
	}
	d.next()
	start := d.pos
	d.skip()
	var ok bool
	if *id, ok = parseID(d.data[start:d.pos]); !ok {
		d.pos = start
		d.mismatch("an integer, a string or null")
	}
}

// parseID makes an id of a valid JSON value; ok is false if it is of another kind.
func parseID(raw []byte) (id RequestID, ok bool) {
	switch c := raw[0]; {
	case c == 'n':
		return RequestID{}, true
	case c == '"', c == '-', '0' <= c && c <= '9':
		for _, x := range raw {
			if c != '"' && (x == '.' || x == 'e' || x == 'E') {
				return RequestID{}, false
			}
		}
		return RequestID{raw: string(raw)}, true
	}
	return RequestID{}, false
}

// canonical returns the id with every spelling of a string made the same, so that two equal ids compare equal.
func (id RequestID) canonical() RequestID {
	for i := range len(id.raw) {
		if id.raw[i] == '\\' {
			d := decoder{data: []byte(id.raw)}
			return StringID(d.string())
		}
	}
	return id
}
