// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/ponte-go/ponte/internal/plainjson"
)

// Marshal encodes a value for a model: as encoding/json does, without escapes for HTML, and with
// each time.Duration as text such as "1h30m0s", which is how a model writes one.
func Marshal(v any) ([]byte, error) {
	text, err := plainjson.Marshal(v)
	if err != nil || v == nil || !mayHaveDuration(reflect.TypeOf(v)) {
		return text, err
	}
	m := marshaler{&walker{data: text}}
	m.value(reflect.ValueOf(v))
	return m.edited(span{0, len(text)}), nil
}

// durationTypes holds what mayHaveDuration has found.
var durationTypes = struct {
	sync.Mutex
	known map[reflect.Type]bool
}{known: map[reflect.Type]bool{}}

// mayHaveDuration reports whether there can be a duration in values of a type. Values of types that
// encode themselves have none.
func mayHaveDuration(t reflect.Type) bool {
	durationTypes.Lock()
	found, ok := durationTypes.known[t]
	if !ok {
		found = searchDuration(t, map[reflect.Type]bool{})
		durationTypes.known[t] = found
	}
	durationTypes.Unlock()
	return found
}

func searchDuration(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t == durationType {
		return true
	}
	if seen[t] || encodesItself(t) {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return searchDuration(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if searchDuration(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

func encodesItself(t reflect.Type) bool {
	return t.Kind() != reflect.Interface &&
		(t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]()))
}

// marshaler walks over the text of an encoded value, along with the value.
type marshaler struct{ *walker }

// value consumes the text of a value, and replaces the durations in it.
func (m marshaler) value(v reflect.Value) {
	for v.IsValid() && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && !encodesItself(v.Type()) {
		v = v.Elem()
	}
	c, known := m.next(), v.IsValid() && mayHaveDuration(v.Type()) && !encodesItself(v.Type())
	switch {
	case known && v.Type() == durationType:
		d := time.Duration(v.Int())
		start := m.pos
		m.walker.value(free)
		if string(m.data[start:m.pos]) == strconv.FormatInt(int64(d), 10) {
			m.edit(start, m.pos, `"`+d.String()+`"`)
		}
	case known && c == '[' && (v.Kind() == reflect.Slice || v.Kind() == reflect.Array):
		m.list(v)
	case known && c == '{' && v.Kind() == reflect.Struct:
		fields, _ := jsonFields(v.Type())
		m.members(func(name string) (none reflect.Value) {
			for _, f := range fields {
				if f.name == name {
					return v.FieldByIndex(f.index)
				}
			}
			return none
		})
	case known && c == '{' && v.Kind() == reflect.Map:
		entries := map[string]reflect.Value{}
		for entry := v.MapRange(); entry.Next(); {
			entries[keyText(entry.Key())] = entry.Value()
		}
		m.members(func(name string) reflect.Value { return entries[name] })
	default:
		m.walker.value(free)
	}
}

func (m marshaler) list(v reflect.Value) {
	m.pos++
	for i := 0; m.next() != ']'; i++ {
		if m.next() == ',' {
			m.pos++
		}
		m.value(v.Index(i))
	}
	m.pos++
}

func (m marshaler) members(value func(name string) reflect.Value) {
	m.pos++
	for m.next() != '}' {
		if m.next() == ',' {
			m.pos++
		}
		name, _, _ := m.text()
		m.pos++ // the colon
		m.value(value(string(unescape(name))))
	}
	m.pos++
}

// keyText returns the text of a map's key as encoding/json writes it.
func keyText(key reflect.Value) string {
	if key.Kind() == reflect.String {
		return key.String()
	}
	text := jsonOf(key.Interface())
	if text[0] == '"' {
		return string(unescape([]byte(text[1 : len(text)-1])))
	}
	return text
}
