// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decoder reads values from JSON that is known to be valid, so there are no syntax errors. The
// first error sticks and ends every loop. Its results share no memory with data.
type decoder struct {
	data []byte
	pos  int
	key  []byte // of the current member
	err  error
}

func unmarshalJSON(data []byte, m message) error {
	if !valid(data) {
		return errors.New("acp: not valid JSON")
	}
	return decodeValid(data, m)
}

// decodeValid is unmarshalJSON for data that is known to be valid.
func decodeValid(data []byte, m message) error {
	d := decoder{data: data}
	if p, ok := m.(*PromptRequest); ok && d.textPrompt(p) {
		return nil
	}
	d.message(m)
	return d.err
}

// next skips white space and returns the next byte.
func (d *decoder) next() byte {
	for d.pos < len(d.data) {
		switch c := d.data[d.pos]; c {
		case ' ', '\t', '\n', '\r':
			d.pos++
		default:
			return c
		}
	}
	return 0
}

// object moves to the next member and sets key; it returns false after the last one. Before the
// first member the next byte is an opening brace, between two of them never, so no state is needed.
func (d *decoder) object() bool {
	if d.err != nil {
		return false
	}
	switch d.next() {
	case '{', ',':
		d.pos++
	case '}':
		d.pos++
		return false
	default:
		d.mismatch("an object")
		return false
	}
	if d.next() == '}' {
		d.pos++
		return false
	}
	d.key = d.text()
	d.next() // the colon
	d.pos++
	return true
}

// array is object for the elements of an array.
func (d *decoder) array() bool {
	if d.err != nil {
		return false
	}
	switch d.next() {
	case '[', ',':
		d.pos++
	case ']':
		d.pos++
		return false
	default:
		d.mismatch("an array")
		return false
	}
	if d.next() == ']' {
		d.pos++
		return false
	}
	return true
}

// quoted passes over the string at hand and returns what stands between its quotes.
func (d *decoder) quoted() (text []byte, escaped bool) {
	d.pos++
	start := d.pos
	for {
		d.pos += plainPrefix(d.data[d.pos:])
		if d.data[d.pos] == '"' {
			d.pos++
			return d.data[start : d.pos-1], escaped
		}
		escaped = true
		d.pos += 2 // the backslash and what it escapes
	}
}

// text returns the contents of the string at hand, for a comparison: they share memory with data if
// nothing was escaped.
func (d *decoder) text() []byte {
	text, escaped := d.quoted()
	if escaped {
		return []byte(unescape(text))
	}
	return text
}

// skip passes over the value at hand.
func (d *decoder) skip() {
	for depth := 0; ; {
		switch d.next() {
		case '{', '[':
			depth++
			d.pos++
		case '}', ']':
			depth--
			d.pos++
		case '"':
			d.quoted()
		case ',', ':':
			d.pos++
			continue
		default:
			d.skipScalar()
		}
		if depth <= 0 {
			return
		}
	}
}

func (d *decoder) skipScalar() {
	for d.pos < len(d.data) {
		switch d.data[d.pos] {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			return
		}
		d.pos++
	}
}

// null passes over a null and reports whether there was one.
func (d *decoder) null() bool {
	if d.err != nil || d.next() != 'n' {
		return false
	}
	d.pos += len("null")
	return true
}

func (d *decoder) string() string {
	if d.err != nil {
		return ""
	}
	if d.next() != '"' {
		d.mismatch("a string")
		return ""
	}
	text, escaped := d.quoted()
	if !escaped {
		return validString(text)
	}
	s := unescape(text)
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return s
}

func (d *decoder) bool() bool {
	if d.err != nil {
		return false
	}
	switch d.next() {
	case 't':
		d.pos += len("true")
		return true
	case 'f':
		d.pos += len("false")
		return false
	}
	d.mismatch("a boolean")
	return false
}

// number returns the text of the number at hand, nil if it is none.
func (d *decoder) number(want string) []byte {
	if d.err != nil {
		return nil
	}
	if c := d.next(); c != '-' && (c < '0' || c > '9') {
		d.mismatch(want)
		return nil
	}
	start := d.pos
	d.skipScalar()
	return d.data[start:d.pos]
}

func (d *decoder) float() float64 {
	text := d.number("a number")
	if text == nil {
		return 0
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		d.fail("the number is out of range")
	}
	return v
}

func (d *decoder) int() int64 {
	text := d.number("an integer")
	if text == nil {
		return 0
	}
	v, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		const exact = 1 << 53
		f, ok := integral(text)
		if !ok || math.Abs(f) > exact {
			d.fail("want a 64-bit integer")
		}
		return int64(f)
	}
	return v
}

func (d *decoder) uint(bits int) uint64 {
	text := d.number("an integer")
	if text == nil {
		return 0
	}
	v, err := strconv.ParseUint(string(text), 10, bits)
	if err != nil {
		f, ok := integral(text)
		if !ok || f < 0 || f >= math.Pow(2, float64(min(bits, 53))) {
			d.fail(fmt.Sprintf("want an integer from 0 to 2^%d-1", bits))
			return 0
		}
		return uint64(f)
	}
	return v
}

// integral parses a number such as 5.0 or 1e3, which some languages write for integers.
func integral(text []byte) (float64, bool) {
	if !bytes.ContainsAny(text, ".eE") {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(text), 64)
	return f, err == nil && f == math.Trunc(f)
}

// raw returns a copy of the value at hand as it stands.
func (d *decoder) raw() json.RawMessage {
	if d.err != nil {
		return nil
	}
	d.next()
	start := d.pos
	d.skip()
	return bytes.Clone(d.data[start:d.pos])
}

func (d *decoder) rawMap() map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	for d.object() {
		key := validString(d.key)
		m[key] = d.raw()
	}
	return m
}

// meta reads a _meta member. The protocol wants one that is not an object to be ignored.
func (d *decoder) meta() map[string]json.RawMessage {
	if d.err != nil {
		return nil
	}
	if d.next() != '{' {
		d.skip()
		return nil
	}
	return d.rawMap()
}

// forgive drops the error, if any, and passes over the value at start. It reports whether it did.
func (d *decoder) forgive(start int) bool {
	if d.err == nil {
		return false
	}
	d.err, d.pos = nil, start
	d.skip()
	return true
}

// tag looks ahead for the member that tells the variants of a union apart, and stays where it is.
func (d *decoder) tag(typ, name string) (value []byte, ok bool) {
	if d.err != nil {
		return nil, false
	}
	start := d.pos
	defer func() { d.pos = start }()
	for d.object() {
		if string(d.key) != name {
			d.skip()
			continue
		}
		if d.next() != '"' {
			d.mismatch("a string")
			break
		}
		return d.text(), true
	}
	d.name(typ)
	return nil, false
}

// firstKey looks ahead for the first of the names that the object has a member of, and returns its
// index, -1 if there is none.
func (d *decoder) firstKey(typ string, names ...string) int {
	start := d.pos
	defer func() { d.pos = start }()
	found := -1
	for d.object() {
		for i, n := range names {
			if string(d.key) == n && (found < 0 || i < found) {
				found = i
			}
		}
		d.skip()
	}
	d.name(typ)
	return found
}
