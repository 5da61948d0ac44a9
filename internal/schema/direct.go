// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"reflect"
	"strconv"
	"unicode/utf8"
)

// found is a field of the root that has a value in the text.
type found struct {
	field int
	span
}

// directFields returns where the values of n's fields go if encoding/json would do no more than
// store a text, a number or a boolean in a field of the struct t: its index there, or -1.
func directFields(t reflect.Type, n *node) []int {
	if t.Kind() != reflect.Struct || n.wrapper || decodesItself(t) {
		return nil
	}
	fields, err := jsonFields(t)
	if err != nil {
		return nil
	}
	direct := make([]int, len(n.fields))
	for i := range direct {
		direct[i] = -1
		for _, f := range fields {
			k := f.Type.Kind()
			plain := !f.quoted && (k == reflect.String || k == reflect.Float64 ||
				k == reflect.Float32 || k >= reflect.Bool && k <= reflect.Int64)
			if plain && f.name == n.fields[i].name && len(f.index) == 1 && !decodesItself(f.Type) {
				direct[i] = f.index[0]
			}
		}
	}
	return direct
}

// decodesItself reports whether a type has its own decoding.
func decodesItself(t reflect.Type) bool {
	pointer := reflect.PointerTo(t)
	return pointer.Implements(jsonUnmarshaler) || pointer.Implements(textUnmarshaler)
}

// store stores the values that w found in dst, as encoding/json would. That takes a fraction of the
// time. It reports whether it has stored all.
func (t *Type) store(w *walker, dst any) bool {
	if t.direct == nil || len(w.edits) > 0 {
		return false
	}
	to := reflect.ValueOf(dst).Elem()
	if to.Kind() != reflect.Struct {
		return false
	}
	for _, f := range w.found {
		at := t.direct[f.field]
		if at < 0 || !storeIn(to.Field(at), w.data[f.start:f.end]) {
			return false
		}
	}
	return true
}

// storeIn stores a value in a field, if it can be stored as it is written. Numbers in quotes, which
// the json option "string" has, cannot.
func storeIn(to reflect.Value, text []byte) bool {
	switch c := text[0]; {
	case c == 't' || c == 'f':
		if to.Kind() != reflect.Bool {
			return false
		}
		to.SetBool(c == 't')
	case c == '"':
		inner := text[1 : len(text)-1]
		if to.Kind() != reflect.String || bytes.IndexByte(inner, '\\') >= 0 || !utf8.Valid(inner) {
			return false
		}
		to.SetString(string(inner))
	case to.CanInt():
		v, err := strconv.ParseInt(string(text), 10, to.Type().Bits())
		if err != nil {
			return false
		}
		to.SetInt(v)
	case to.CanFloat():
		v, err := strconv.ParseFloat(string(text), to.Type().Bits())
		if err != nil {
			return false
		}
		to.SetFloat(v)
	default:
		return false
	}
	return true
}
