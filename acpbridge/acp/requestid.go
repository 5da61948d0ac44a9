// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"math"
	"strconv"
	"strings"
)

// RequestID is the id of a JSON-RPC request: an integer, a string, or null, which is the zero
// value. It is kept as it was written. Integers of any size come back unchanged.
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

// canonical returns the id with one spelling for all strings. Equal ids then compare equal.
func (id RequestID) canonical() RequestID {
	for i := range len(id.raw) {
		if id.raw[i] == '\\' {
			d := decoder{data: []byte(id.raw)}
			return StringID(d.string())
		}
	}
	return id
}

// integer returns the number that the id is.
func (id RequestID) integer() (n int64, ok bool) {
	n, err := strconv.ParseInt(id.raw, 10, 64)
	return n, err == nil
}

// unquoted returns the number that an id has in quotes.
func (id RequestID) unquoted() (number RequestID, ok bool) {
	text, err := strconv.Unquote(id.raw)
	n, notNumber := strconv.ParseInt(text, 10, 64)
	return IntID(n), err == nil && notNumber == nil
}

// shortened returns the id for a message.
func (id RequestID) shortened() string {
	const enough = 40
	if s := id.String(); len(s) <= enough {
		return s
	}
	return strings.ToValidUTF8(id.raw[:enough], "") + "…"
}

// wholeID returns the id for a number such as 5.0, null for others: languages without integers
// write ours that way.
func wholeID(raw []byte) (id RequestID) {
	const exact = 1 << 53
	if f, ok := integral(raw); ok && math.Abs(f) <= exact {
		id = IntID(int64(f))
	}
	return id
}
