// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// handWritten are definitions whose Go type is written by hand in package acp. The pinned checksum
// keeps them in step.
var handWritten = map[string]bool{
	"RequestId":                  true, // verbatim, comparable
	"SessionConfigSelectOptions": true, // a union of two arrays
	"ElicitationContentValue":    true, // a union of scalars
}

// skipped are definitions that the connection deals with itself.
var skipped = map[string]bool{
	"AgentRequest": true, "AgentResponse": true, "AgentNotification": true,
	"ClientRequest": true, "ClientResponse": true, "ClientNotification": true,
	"ExtRequest": true, "ExtResponse": true, "ExtNotification": true,
	"Error": true, "ErrorCode": true,
}

// patches are the optional strings where absent, null (clear) and a value mean three things.
var patches = map[string]bool{
	"SessionInfoUpdate.title":     true,
	"SessionInfoUpdate.updatedAt": true,
	"CompactionUpdate.error":      true,
}

// nullEmpties are the optional arrays where null means the same as an empty array, and not
// "absent".
var nullEmpties = map[string]bool{"CompactionUpdate.summary": true}

// fallbacks are unions that the protocol wants decoded as their untagged variant when the tag is
// unknown.
var fallbacks = map[string]bool{"SetSessionConfigOptionRequest": true}

type kind int

const (
	kindString kind = iota // string, or a named string
	kindBool
	kindNumber // an integer, a float, or a named integer
	kindRaw
	kindStruct // anything with encode and decode methods
	kindSlice
	kindMap
	kindPatch
)

// goType is the Go type of a field.
type goType struct {
	kind kind
	name string // as written in Go, without pointer
	elem *goType
}

type field struct {
	json, name   string
	typ          goType
	required     bool
	nullable     bool // null is as good as absent (for a required field: as good as empty)
	lenient      bool // a value, or an element of a list, that does not decode is dropped
	nullEmpty    bool
	pointer      bool
	hasDefault   bool   // always written
	defaultValue string // of a string
}

// def is a definition that becomes a Go type.
type def struct {
	name     string // in the schema
	goName   string
	enum     []string // constants
	isString bool     // a named string (with or without constants)
	number   string   // a named number: its Go type
	fields   []field
	union    *union
	method   string
	side     string
	usedBy   []string
}

// union is a definition, or the part of one, that is one of several variants.
type union struct {
	tag      string // the discriminator; "" if the variants are told apart by their keys
	variants []variant
	closed   bool // part of a flattened variant: an unknown variant cannot be kept, so it is an error
	fallback bool
}

type variant struct {
	field string // Go field
	typ   string // Go type
	tag   string // discriminator's value, "" for the variant that has none
	alias string // a tag accepted for the variant that has none
	key   string // the key that tells the variant apart, if there is no tag
	def   *def
}

type model struct {
	defs map[string]*def // by Go name
	root *root
}

func buildModel(r *root) (*model, error) {
	m := &model{defs: map[string]*def{}, root: r}
	for _, name := range slices.Sorted(maps.Keys(r.Defs)) {
		if skipped[name] || handWritten[name] {
			continue
		}
		if err := m.define(name, r.Defs[name]); err != nil {
			return nil, fmt.Errorf("definition %s: %w", name, err)
		}
	}
	for _, d := range m.defs {
		if d.union == nil {
			continue
		}
		for i := range d.union.variants {
			v := &d.union.variants[i]
			if v.def = m.defs[v.typ]; v.def == nil {
				return nil, fmt.Errorf("definition %s: no definition of variant %s", d.name, v.typ)
			}
			v.def.usedBy = append(v.def.usedBy, fmt.Sprintf("variant %s of %s", v.field, d.goName))
		}
	}
	m.closeNested()
	m.recordUses()
	return m, nil
}

func (m *model) sorted() []*def {
	return slices.SortedFunc(maps.Values(m.defs), func(a, b *def) int { return cmp.Compare(a.goName, b.goName) })
}

func (m *model) define(name string, s *schema) error {
	d := &def{name: name, goName: goName(name), method: s.Method, side: s.Side}
	m.defs[d.goName] = d
	switch {
	case s.Type.is("string"):
		d.isString = true
		return nil
	case s.Type.is("integer"):
		d.number = numberType(s)
		return nil
	}
	if enum, ok := enumOf(s); ok {
		d.isString, d.enum = true, enum
		return nil
	}
	if err := m.addFields(d, s); err != nil {
		return err
	}
	if vs := s.variants(); len(vs) > 0 {
		return m.addUnion(d, vs)
	}
	if !s.Type.is("object") {
		return fmt.Errorf("neither string, integer, enum, object nor union")
	}
	return nil
}

// enumOf returns the constants of a union of constant strings. One variant may be any other string.
func enumOf(s *schema) ([]string, bool) {
	var out []string
	for _, v := range s.variants() {
		if !v.Type.is("string") {
			return nil, false
		}
		if c := v.constString(); c != "" {
			out = append(out, c)
		}
	}
	return out, len(out) > 0
}

func (m *model) addFields(d *def, s *schema) error {
	for _, p := range s.Properties {
		if p.schema.constString() != "" { // a discriminator, written by the union
			continue
		}
		f, err := m.field(d, p, s.requires(p.name))
		if err != nil {
			return fmt.Errorf("property %s: %w", p.name, err)
		}
		d.fields = append(d.fields, f)
	}
	return nil
}

func (m *model) field(d *def, p property, required bool) (field, error) {
	inner, nullable := p.schema.nonNull()
	typ, err := m.typeOf(inner)
	if err != nil {
		return field{}, err
	}
	if typ.kind == kindSlice && p.schema.DefaultOnError != p.schema.SkipInvalidItems {
		return field{}, errors.New("a list that is as strict as its elements are not has no tags")
	}
	path := d.name + "." + p.name
	f := field{
		json: p.name, name: goName(p.name), typ: typ, required: required,
		nullable:   nullable || !required || p.schema.DefaultOnNull,
		lenient:    p.schema.DefaultOnError,
		nullEmpty:  nullEmpties[path],
		hasDefault: len(p.schema.Default) > 0 && !nullable,
	}
	if f.hasDefault && typ.kind == kindString {
		f.defaultValue = strings.Trim(string(p.schema.Default), `"`)
	}
	if patches[path] {
		f.typ = goType{kind: kindPatch, name: "Patch"}
	}
	f.pointer = !required && !f.hasDefault && wantsPointer(f.typ)
	return f, nil
}

// wantsPointer reports whether an optional field of the type is a pointer. A named string is not:
// the empty one is never valid.
func wantsPointer(t goType) bool {
	switch t.kind {
	case kindString:
		return t.name == "string"
	case kindBool, kindNumber, kindStruct:
		return true
	}
	return false
}

func (m *model) typeOf(s *schema) (goType, error) {
	if ref := s.ref(); ref != "" {
		return m.typeOfRef(ref)
	}
	switch base := s.Type.base(); base {
	case "string":
		return goType{kind: kindString, name: "string"}, nil
	case "boolean":
		return goType{kind: kindBool, name: "bool"}, nil
	case "integer", "number":
		return goType{kind: kindNumber, name: numberType(s)}, nil
	case "array":
		elem, err := m.typeOf(s.Items)
		return goType{kind: kindSlice, name: "[]" + elem.name, elem: &elem}, err
	case "object":
		return m.mapType(s)
	case "":
		return goType{kind: kindRaw, name: "json.RawMessage"}, nil
	default:
		return goType{}, fmt.Errorf("unsupported type %q", base)
	}
}

func (m *model) mapType(s *schema) (goType, error) {
	elem := goType{kind: kindRaw, name: "json.RawMessage"}
	if string(s.AdditionalProperties) != "true" {
		var err error
		var es schema
		if err = unmarshal(s.AdditionalProperties, &es); err != nil {
			return goType{}, err
		}
		if elem, err = m.typeOf(&es); err != nil {
			return goType{}, err
		}
	}
	return goType{kind: kindMap, name: "map[string]" + elem.name, elem: &elem}, nil
}

func (m *model) typeOfRef(ref string) (goType, error) {
	target := m.root.Defs[ref]
	if target == nil {
		return goType{}, fmt.Errorf("no definition %s", ref)
	}
	t := goType{kind: kindStruct, name: goName(ref)}
	if handWritten[ref] {
		return t, nil
	}
	if _, enum := enumOf(target); enum || target.Type.is("string") {
		t.kind = kindString
	} else if target.Type.is("integer") {
		t.kind = kindNumber
	}
	return t, nil
}

func numberType(s *schema) string {
	switch s.Format {
	case "int32", "int64", "uint16", "uint32", "uint64":
		return s.Format
	}
	if s.Type.base() == "integer" {
		return "int64"
	}
	return "float64"
}
