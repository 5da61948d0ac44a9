// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"encoding/json"
	"reflect"
)

// message decodes the value at hand into what m points to.
func (d *decoder) message(m message) {
	v := reflect.ValueOf(m).Elem()
	d.value(shapeOf(v.Type()), v)
}

func (d *decoder) value(s *shape, v reflect.Value) {
	switch s.kind {
	case kindString:
		v.SetString(d.string())
	case kindBool:
		v.SetBool(d.bool())
	case kindFloat:
		v.SetFloat(d.float())
	case kindInt:
		n := d.int()
		if v.OverflowInt(n) {
			d.fail("the number is out of range")
		}
		v.SetInt(n)
	case kindUint:
		v.SetUint(d.uint(s.typ.Bits()))
	case kindRaw:
		v.SetBytes(d.raw())
	case kindOwn:
		v.Addr().Interface().(ownCodec).decode(d)
	case kindUnion:
		d.union(s, v)
	case kindStruct:
		v.SetZero()
		d.members(s, v)
	case kindPointer:
		v.Set(reflect.New(s.elem.typ))
		d.value(s.elem, v.Elem())
	case kindList:
		d.list(s, v, false)
	case kindMap:
		d.mapping(s, v)
	}
}

// list decodes an array. With dropInvalid, an element that does not decode is left out.
func (d *decoder) list(s *shape, v reflect.Value, dropInvalid bool) {
	v.Set(s.empty)
	for d.array() {
		start, n := d.pos, v.Len()
		v.Grow(1)
		v.SetLen(n + 1)
		v.Index(n).SetZero()
		d.value(s.elem, v.Index(n))
		if dropInvalid && d.forgive(start) {
			v.SetLen(n)
		}
	}
}

func (d *decoder) mapping(s *shape, v reflect.Value) {
	if m, ok := v.Addr().Interface().(*map[string]json.RawMessage); ok {
		*m = d.rawMap()
		return
	}
	v.Set(reflect.MakeMap(s.typ))
	for d.object() {
		key := validString(d.key)
		elem := reflect.New(s.elem.typ).Elem()
		d.value(s.elem, elem)
		v.SetMapIndex(reflect.ValueOf(key), elem)
	}
}

// members decodes an object into a struct that is zero. Members that the struct does not have are
// passed over.
func (d *decoder) members(s *shape, v reflect.Value) {
	for _, m := range s.members {
		if m.filled || m.initial != "" {
			m.clear(v.Field(m.index))
		}
	}
	have := 0
	for d.object() {
		m := s.member(d.key)
		if m == nil {
			d.skip()
			continue
		}
		have |= m.bit
		d.member(m, v.Field(m.index))
	}
	d.end(s.name, have, s.required...)
}

func (d *decoder) member(m *member, v reflect.Value) {
	start := d.pos
	switch {
	case m.name == "_meta":
		v.Set(reflect.ValueOf(d.meta()))
	case m.nullable && d.null():
		if m.emptyNull {
			v.Set(m.empty)
		}
	case m.kind == kindList:
		d.list(m.shape, v, m.lenient)
	default:
		d.value(m.shape, v)
	}
	if m.lenient && d.forgive(start) {
		m.clear(v)
	}
}

// clear sets the field to what it is if the member is absent.
func (m *member) clear(v reflect.Value) {
	switch {
	case m.initial != "":
		v.SetString(m.initial)
	case m.filled && m.kind == kindList:
		v.Set(m.empty)
	case m.filled:
		v.Set(reflect.MakeMap(m.typ))
	default:
		v.SetZero()
	}
}

// union decodes a struct with variants. Its members are read first, and the object a second time
// for the variant.
func (d *decoder) union(s *shape, v reflect.Value) {
	v.SetZero()
	start := d.pos
	if len(s.members) > 0 {
		d.members(s, v)
		if d.err != nil {
			return
		}
		d.pos = start
	}
	if s.tag == "" {
		d.variantByKey(s, v)
	} else {
		d.variantByTag(s, v)
	}
}

func (d *decoder) variantByTag(s *shape, v reflect.Value) {
	tag, ok := d.tag(s.name, s.tag)
	if d.err != nil {
		return
	}
	switch x := s.tagged(string(tag), ok); {
	case x != nil:
		d.value(x.shape, v.Field(x.index))
	case !ok:
		d.missing(s.name, s.tag)
	case s.fallback != nil && d.tryVariant(s.fallback, v):
	default:
		d.unknown(s, v, s.tag)
	}
}

func (d *decoder) variantByKey(s *shape, v reflect.Value) {
	i := d.firstKey(s.name, s.keys...)
	switch {
	case d.err != nil:
	case i >= 0:
		d.value(s.variants[i].shape, v.Field(s.variants[i].index))
	default:
		d.unknown(s, v, s.keys[0])
	}
}

// tryVariant decodes the variant. If that fails, it leaves no error, and everything as it was.
func (d *decoder) tryVariant(x *variant, v reflect.Value) (ok bool) {
	start, field := d.pos, v.Field(x.index)
	if d.value(x.shape, field); d.err == nil {
		return true
	}
	field.SetZero()
	d.err, d.pos = nil, start
	return false
}

// unknown keeps an object that is none of the variants. A union that has no place for it misses the
// member.
func (d *decoder) unknown(s *shape, v reflect.Value, missing string) {
	if s.unknown == nil {
		d.missing(s.name, missing)
		return
	}
	v.Field(s.unknown.index).SetBytes(d.raw())
}
