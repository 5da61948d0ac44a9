// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"
)

// message is a pointer to a value of the protocol, or of any type that has a [shape]. Encoding must
// not keep or change the value, so that a caller may use it again at once.
type message = any

// encoder appends JSON to b. The first error sticks; what b holds then is of no use.
type encoder struct {
	b   []byte
	err error
}

// maxPooled is the largest buffer that is kept for the next message.
const maxPooled = 64 << 10

var encoders = sync.Pool{New: func() any { return &encoder{b: make([]byte, 0, 1<<10)} }}

func newEncoder() *encoder { return encoders.Get().(*encoder) }

// release gives the encoder back. Its bytes must not be used after.
func (e *encoder) release() {
	if cap(e.b) > maxPooled {
		return
	}
	e.b, e.err = e.b[:0], nil
	encoders.Put(e)
}

func marshalJSON(m message) ([]byte, error) {
	e := newEncoder()
	defer e.release()
	e.message(m)
	if e.err != nil {
		return nil, e.err
	}
	return bytes.Clone(e.b), nil
}

func (e *encoder) open()       { e.b = append(e.b, '{') }
func (e *encoder) close()      { e.b = append(e.b, '}') }
func (e *encoder) openArray()  { e.b = append(e.b, '[') }
func (e *encoder) closeArray() { e.b = append(e.b, ']') }

// key begins a member. Its argument is the quoted name and the colon. No value ends in an opening
// brace, so the last byte tells whether this member is the first.
func (e *encoder) key(quoted string) {
	if e.b[len(e.b)-1] != '{' {
		e.b = append(e.b, ',')
	}
	e.b = append(e.b, quoted...)
}

// keyOf is key for a name that has to be escaped.
func (e *encoder) keyOf(name string) {
	e.key("")
	e.string(name)
	e.b = append(e.b, ':')
}

// comma begins an element of an array whose elements are not arrays themselves.
func (e *encoder) comma() {
	if e.b[len(e.b)-1] != '[' {
		e.b = append(e.b, ',')
	}
}

func (e *encoder) bool(v bool)   { e.b = strconv.AppendBool(e.b, v) }
func (e *encoder) int(v int64)   { e.b = strconv.AppendInt(e.b, v, 10) }
func (e *encoder) uint(v uint64) { e.b = strconv.AppendUint(e.b, v, 10) }
func (e *encoder) null()         { e.b = append(e.b, "null"...) }

func (e *encoder) float(v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		e.fail(fmt.Errorf("acp: %v has no JSON form", v))
		return
	}
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	e.b = strconv.AppendFloat(e.b, v, format, -1, 64)
}

// unescaped marks the bytes that need no escape in a JSON string, given that the string is valid
// UTF-8.
var unescaped = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return t
}()

const hexDigits = "0123456789abcdef"

// string appends a quoted string. Invalid UTF-8 becomes U+FFFD.
func (e *encoder) string(s string) {
	if !utf8.ValidString(s) {
		s = string(bytes.ToValidUTF8([]byte(s), []byte("\uFFFD")))
	}
	const perEscape = 8 // a guess, so that long texts are not copied while they grow
	b := append(slices.Grow(e.b, len(s)+len(s)/perEscape+len(`""`)), '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if unescaped[c] {
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		start = i + 1
	}
	b = append(b, s[start:]...)
	e.b = append(b, '"')
}

// raw appends a JSON value of the user's. It stays byte for byte what it is, unless it has line
// breaks, which would end the message, or is not valid UTF-8. nil is null.
func (e *encoder) raw(v json.RawMessage) {
	switch {
	case v == nil:
		e.null()
	case !valid(v):
		e.fail(errors.New("acp: a raw value is not valid JSON"))
	case !utf8.Valid(v):
		e.raw(bytes.ToValidUTF8(v, []byte("\uFFFD")))
	case bytes.IndexByte(v, '\n') >= 0 || bytes.IndexByte(v, '\r') >= 0:
		buf := bytes.NewBuffer(e.b)
		e.fail(json.Compact(buf, v))
		e.b = buf.Bytes()
	default:
		e.b = append(e.b, v...)
	}
}

func (e *encoder) rawMap(m map[string]json.RawMessage) {
	e.open()
	for _, k := range sortedKeys(m) {
		e.keyOf(k)
		e.raw(m[k])
	}
	e.close()
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (e *encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// badUnion reports a union of which not exactly one variant is set.
func (e *encoder) badUnion(typ string, n int) {
	if n == 0 {
		e.fail(fmt.Errorf("acp: %s: no variant is set", typ))
	} else {
		e.fail(fmt.Errorf("acp: %s: %d variants are set, want one", typ, n))
	}
}
