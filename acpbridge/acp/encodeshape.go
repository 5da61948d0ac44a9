// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
)

// message appends what m points to.
func (e *encoder) message(m message) {
	if p, ok := m.(*PromptRequest); ok && e.textPrompt(p) {
		return
	}
	v := reflect.ValueOf(m).Elem()
	e.value(shapeOf(v.Type()), v)
}

// value appends an addressable value.
func (e *encoder) value(s *shape, v reflect.Value) {
	switch s.kind {
	case kindString:
		e.string(v.String())
	case kindBool:
		e.bool(v.Bool())
	case kindFloat:
		e.float(v.Float())
	case kindInt:
		e.int(v.Int())
	case kindUint:
		e.uint(v.Uint())
	case kindRaw:
		e.raw(v.Bytes())
	case kindOwn:
		v.Addr().Interface().(ownCodec).encode(e)
	case kindUnion, kindStruct:
		e.object(s, v)
	case kindPointer:
		e.value(s.elem, v.Elem())
	case kindList:
		e.list(s, v)
	case kindMap:
		e.mapping(s, v)
	}
}

func (e *encoder) list(s *shape, v reflect.Value) {
	e.openArray()
	for i := range v.Len() {
		e.comma()
		e.value(s.elem, v.Index(i))
	}
	e.closeArray()
}

// mapping appends a map, sorted by key.
func (e *encoder) mapping(s *shape, v reflect.Value) {
	if m, ok := v.Interface().(map[string]json.RawMessage); ok {
		e.rawMap(m)
		return
	}
	e.open()
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
	elem := reflect.New(s.elem.typ).Elem()
	for _, k := range keys {
		e.keyOf(k.String())
		elem.Set(v.MapIndex(k))
		e.value(s.elem, elem)
	}
	e.close()
}

func (e *encoder) object(s *shape, v reflect.Value) {
	set := e.onlyVariant(s, v)
	if set != nil && set == s.unknown {
		e.raw(v.Field(set.index).Bytes())
		return
	}
	e.open()
	e.members(s, v, set)
	e.close()
}

// members appends the members of an object, and the members of its variant.
func (e *encoder) members(s *shape, v reflect.Value, set *variant) {
	for _, m := range s.members {
		field := v.Field(m.index)
		switch {
		case m.omitZero && field.IsZero():
			continue
		case m.initial != "" && field.IsZero():
			e.key(m.key)
			e.string(m.initial)
			continue
		}
		e.key(m.key)
		e.value(m.shape, field)
	}
	if set == nil {
		return
	}
	if set.values != nil && set.values[0] != "" {
		e.keyOf(s.tag)
		e.string(set.values[0])
	}
	inner := v.Field(set.index).Elem()
	e.members(set.elem, inner, e.onlyVariant(set.elem, inner))
}

// onlyVariant returns the variant that is set. It is nil for what is not a union, and after an
// error.
func (e *encoder) onlyVariant(s *shape, v reflect.Value) *variant {
	if s.kind != kindUnion {
		return nil
	}
	var set *variant
	n := 0
	for _, x := range s.variants {
		if !v.Field(x.index).IsNil() {
			set = x
			n++
		}
	}
	if n != 1 {
		e.badUnion(s.name, n)
		return nil
	}
	return set
}
