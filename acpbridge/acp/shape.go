// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// shape describes how the values of a Go type are written in JSON. It is derived once from the type
// and the tags of its fields, which are the table of the protocol. The encoder and the decoder walk
// it.
//
// A field with a json tag is a member. With omitzero it is optional: null means absent, and a value
// that does not decode, or such an element of a list, is dropped. Without, it is required: its
// value has to decode. The acp tag has the other rules:
//
//	strict     optional, but its value has to decode
//	lenient    required, but a list that does not decode is empty, and such an element is dropped
//	nullable   required, but null is an empty list
//	default    optional, and written if it is zero, too; a string with "default=x" is then x
//	emptynull  optional, and null is an empty list
//
// A field with an acp tag only is a variant of a union, of which exactly one is set:
//
//	kind=a     the member "kind" of the variant is "a"
//	kind=|a    the variant has no member "kind", or it is "a"
//	fallback   besides: the variant is tried if no variant has the "kind"
//	has a      the variant has a member "a", which tells it apart in a union without a tag
//
// The field Unknown of a union keeps other variants verbatim. A union without it refuses them.
type shape struct {
	kind kind
	typ  reflect.Type
	name string // of the type, for errors
	elem *shape // of a pointer, a list or a map

	empty reflect.Value // of a list

	members  []*member
	required []string // names of members

	variants []*variant
	tag      string   // the member that tells the variants apart
	keys     []string // the members that tell the variants of a union without tag apart
	fallback *variant // is tried if no variant has the tag
	unknown  *variant // keeps what no other variant is
}

type kind uint8

const (
	kindString kind = iota
	kindBool
	kindFloat
	kindInt
	kindUint
	kindRaw   // json.RawMessage, verbatim
	kindOwn   // a type with a codec of its own
	kindUnion // a struct with variants
	kindStruct
	kindPointer
	kindList
	kindMap
)

// member is a field that is a member of an object.
type member struct {
	*shape
	index     int
	name, key string // on the wire; the key is quoted, with its colon
	initial   string // of a string
	bit       int    // of a required member: 1 << its index in shape.required

	omitZero, nullable, emptyNull, lenient bool
	filled                                 bool // it is never nil
}

// variant is a field that is a variant of a union.
type variant struct {
	*shape
	index  int
	values []string // of the tag; "" stands for none
}

// ownCodec is a type whose JSON no shape describes. encode must not keep or change the value;
// decode reads valid JSON and must not keep the decoder's bytes.
type ownCodec interface {
	encode(e *encoder)
	decode(d *decoder)
}

var (
	ownType = reflect.TypeFor[ownCodec]()
	rawType = reflect.TypeFor[json.RawMessage]()

	shapes sync.Map // of *shape by reflect.Type
)

func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	s, _ := shapes.LoadOrStore(t, newShape(t))
	return s.(*shape)
}

// newShape panics if no JSON of the protocol has the type. No type of the protocol is part of
// itself.
func newShape(t reflect.Type) *shape {
	s := &shape{typ: t, name: t.Name()}
	switch {
	case reflect.PointerTo(t).Implements(ownType):
		s.kind = kindOwn
		return s
	case t == rawType:
		s.kind = kindRaw
		return s
	}
	switch t.Kind() {
	case reflect.String:
		s.kind = kindString
	case reflect.Bool:
		s.kind = kindBool
	case reflect.Float64:
		s.kind = kindFloat
	case reflect.Int32, reflect.Int64:
		s.kind = kindInt
	case reflect.Uint16, reflect.Uint32, reflect.Uint64:
		s.kind = kindUint
	case reflect.Struct:
		s.kind = kindStruct
		s.addFields()
	case reflect.Pointer:
		s.kind, s.elem = kindPointer, shapeOf(t.Elem())
	case reflect.Slice:
		s.kind, s.elem, s.empty = kindList, shapeOf(t.Elem()), reflect.MakeSlice(t, 0, 0)
	case reflect.Map:
		s.kind, s.elem = kindMap, shapeOf(t.Elem())
	default:
		panic(fmt.Sprintf("acp: %v has no form on the wire", t))
	}
	return s
}

func (s *shape) addFields() {
	for i := range s.typ.NumField() {
		f := s.typ.Field(i)
		rules := strings.Split(f.Tag.Get("acp"), ",")
		if name, ok := f.Tag.Lookup("json"); ok {
			s.addMember(i, shapeOf(f.Type), name, rules)
		} else {
			s.addVariant(i, shapeOf(f.Type), rules)
		}
	}
}

func (s *shape) addMember(index int, of *shape, tag string, rules []string) {
	name, omitZero := strings.CutSuffix(tag, ",omitzero")
	m := &member{shape: of, index: index, name: name, key: fmt.Sprintf("%q:", name)}
	m.omitZero = omitZero
	first, initial, _ := strings.Cut(rules[0], "=")
	m.initial = initial
	optional := omitZero || first == "default"
	own := of.kind == kindRaw || of.kind == kindOwn // they keep null
	m.nullable = !own && (optional || slices.Contains(rules, "nullable"))
	m.emptyNull = slices.Contains(rules, "emptynull")
	m.lenient = optional && !slices.Contains(rules, "strict") || slices.Contains(rules, "lenient")
	m.filled = !omitZero && (of.kind == kindList || of.kind == kindMap)
	if !optional {
		m.bit = 1 << len(s.required)
		s.required = append(s.required, name)
	}
	s.members = append(s.members, m)
}

func (s *shape) addVariant(index int, of *shape, rules []string) {
	s.kind = kindUnion
	v := &variant{shape: of, index: index}
	s.variants = append(s.variants, v)
	if of.kind == kindRaw {
		s.unknown = v
		return
	}
	if key, ok := strings.CutPrefix(rules[0], "has "); ok {
		s.keys = append(s.keys, key)
		return
	}
	tag, values, _ := strings.Cut(rules[0], "=")
	s.tag, v.values = tag, strings.Split(values, "|")
	if slices.Contains(rules, "fallback") {
		s.fallback = v
	}
}

// member returns the member with the name, nil if there is none.
func (s *shape) member(name []byte) *member {
	for _, m := range s.members {
		if m.name == string(name) {
			return m
		}
	}
	return nil
}

// tagged returns the variant for the value of the tag, or for none; nil if the union has no such
// variant.
func (s *shape) tagged(value string, ok bool) *variant {
	for _, x := range s.variants {
		for _, v := range x.values {
			if v == value && (v != "") == ok {
				return x
			}
		}
	}
	return nil
}
