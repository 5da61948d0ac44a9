// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"time"

	"github.com/invopop/jsonschema"
)

// maxSchemas limits the number of schemas within one type. Types are inlined, so a few structs that contain each
// other many times could otherwise produce a document too large for any model.
const maxSchemas = 4000

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	numberType   = reflect.TypeFor[json.Number]()

	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// builder builds the schema of one Go type. It sees the type as encoding/json does, which decodes the text later.
// The jsonschema package reads the keywords of jsonschema tags.
type builder struct {
	open  []reflect.Type          // named types being built, outermost first
	names map[reflect.Type]string // recursive types and their names in defs
	defs  jsonschema.Definitions
	// leaves has the schemas of values that Go decodes in one step.
	leaves map[*jsonschema.Schema]leaf
	count  int
}

// leaf describes how Go decodes the values of a schema.
type leaf struct {
	goType reflect.Type
	// custom is set if the Go value differs from the JSON value: the type decodes itself, or a string holds base64 or,
	// with the ,string option, another literal. Validate tags then do not apply to the JSON value.
	custom bool
	quoted bool // the ,string option
}

// typeError reports a Go type that has no schema.
type typeError struct {
	path string // Go field names from the root
	msg  string
}

func (e *typeError) Error() string {
	if e.path == "" {
		return e.msg
	}
	return "field " + e.path + ": " + e.msg
}

// within prepends a step to the path of a typeError.
func within(step string, err error) error {
	e, ok := err.(*typeError)
	if !ok {
		return err
	}
	sep := "."
	if e.path == "" || e.path[0] == '[' {
		sep = ""
	}
	return &typeError{path: step + sep + e.path, msg: e.msg}
}

func newBuilder() *builder {
	return &builder{
		names:  map[reflect.Type]string{},
		defs:   jsonschema.Definitions{},
		leaves: map[*jsonschema.Schema]leaf{},
	}
}

// build returns the schema of t, which is always that of an object. It reports whether t had to be wrapped.
func (b *builder) build(t reflect.Type) (root *jsonschema.Schema, wrapped bool, err error) {
	root, err = b.schemaOf(t)
	if err != nil {
		return nil, false, err
	}
	if name, ok := b.names[t]; ok {
		copied := *b.defs[name]
		root = &copied
	}
	if root.Type != "object" || root.Properties == nil {
		if name, ok := b.names[t]; ok {
			root = reference(name)
		}
		wrapped = true
		value := root
		root = &jsonschema.Schema{Type: "object", Description: wrapperNote, Properties: jsonschema.NewProperties(), Required: []string{wrapperField}}
		root.Properties.Set(wrapperField, value)
	}
	if root.AdditionalProperties == nil {
		root.AdditionalProperties = jsonschema.FalseSchema
	}
	if len(b.defs) > 0 {
		root.Definitions = b.defs
	}
	return root, wrapped, nil
}

// schemaOf returns a schema of t. The caller may add to it.
func (b *builder) schemaOf(t reflect.Type) (*jsonschema.Schema, error) {
	if b.count++; b.count > maxSchemas {
		return nil, &typeError{msg: fmt.Sprintf("the schema has more than %d parts", maxSchemas)}
	}
	if t = pointee(t); t.Kind() == reflect.Pointer {
		return nil, &typeError{msg: fmt.Sprintf("%v points only to pointers", t)}
	}
	if s, err := b.selfMade(t); s != nil || err != nil {
		return s, err
	}
	if t.Name() == "" {
		return b.composite(t)
	}
	if name, ok := b.names[t]; ok {
		return reference(name), nil
	}
	if slices.Contains(b.open, t) {
		b.names[t] = b.defName(t)
		return reference(b.names[t]), nil
	}
	b.open = append(b.open, t)
	s, err := b.composite(t)
	b.open = b.open[:len(b.open)-1]
	if err != nil {
		return nil, err
	}
	if name, ok := b.names[t]; ok {
		b.defs[name] = s
		return reference(name), nil
	}
	return s, nil
}

// pointee follows pointers and returns the type they lead to. It gives up on a pointer type that points to itself.
func pointee(t reflect.Type) reflect.Type {
	for n := 0; t.Kind() == reflect.Pointer && n < 8; n++ {
		t = t.Elem()
	}
	return t
}

// selfMade returns the schema of a type that is not decoded by its kind. It returns nil for other types.
func (b *builder) selfMade(t reflect.Type) (*jsonschema.Schema, error) {
	var s *jsonschema.Schema
	ptr := reflect.PointerTo(t)
	switch {
	case t == timeType:
		s = &jsonschema.Schema{Type: "string", Format: "date-time"}
	case t == reflect.TypeFor[json.RawMessage]():
		s = anything()
	case t == numberType:
		s = &jsonschema.Schema{Type: "number"}
	case t == reflect.TypeFor[big.Int]():
		s = &jsonschema.Schema{Type: "integer"}
	case ptr.Implements(reflect.TypeFor[schemer]()):
		s = tidy(reflect.New(t).Interface().(schemer).JSONSchema())
		copied := *s // the method may return the same schema every time
		s = &copied
		if err := b.adopt(s.Definitions); err != nil {
			return nil, err
		}
		s.Definitions = nil
	case ptr.Implements(jsonUnmarshaler):
		s = anything()
	case ptr.Implements(textUnmarshaler):
		s = &jsonschema.Schema{Type: "string"}
	default:
		return nil, nil
	}
	b.leaves[s] = leaf{goType: t, custom: true}
	return s, nil
}

// adopt adds the definitions of a schema that a type returned itself. All definitions share one name space, because
// references start at the root.
func (b *builder) adopt(defs jsonschema.Definitions) error {
	for name, def := range defs {
		if known := b.defs[name]; known != nil && !sameSchema(known, def) || b.isNamed(name) {
			return &typeError{msg: fmt.Sprintf("the definition %q from JSONSchema exists already", name)}
		}
		b.defs[name] = def
	}
	return nil
}

// schemer is implemented by types that return their own schema, as defined by the jsonschema package.
type schemer interface{ JSONSchema() *jsonschema.Schema }

// extender is implemented by types that change their schema, as defined by the jsonschema package.
type extender interface{ JSONSchemaExtend(*jsonschema.Schema) }

// composite returns the schema of t according to its kind.
func (b *builder) composite(t reflect.Type) (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{}
	var err error
	switch t.Kind() {
	case reflect.String:
		s.Type = "string"
	case reflect.Bool:
		s.Type = "boolean"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		s.Type = "integer"
		if t == durationType {
			s.Description = durationNote
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		s.Type, s.Minimum = "integer", "0"
	case reflect.Float32, reflect.Float64:
		s.Type = "number"
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return nil, &typeError{msg: fmt.Sprintf("JSON cannot be decoded into the interface %v", t)}
		}
		s = anything()
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			s.Type, s.ContentEncoding = "string", "base64"
			b.leaves[s] = leaf{goType: t, custom: true}
			return s, nil
		}
		s.Type = "array"
		s.Items, err = b.schemaOf(t.Elem())
		err = within("[]", err)
	case reflect.Array:
		n := uint64(t.Len())
		s.Type, s.MinItems, s.MaxItems = "array", &n, &n
		s.Items, err = b.schemaOf(t.Elem())
		err = within("[]", err)
	case reflect.Map:
		if t.Key().Kind() != reflect.String && !reflect.PointerTo(t.Key()).Implements(textUnmarshaler) {
			return nil, &typeError{msg: fmt.Sprintf("the keys of %v are not strings", t)}
		}
		s.Type = "object"
		s.AdditionalProperties, err = b.schemaOf(t.Elem())
		err = within("[]", err)
	case reflect.Struct:
		s, err = b.object(t)
	default:
		return nil, &typeError{msg: fmt.Sprintf("%v cannot be encoded as JSON", t)}
	}
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
	default:
		b.leaves[s] = leaf{goType: t}
	}
	if e, ok := reflect.New(t).Interface().(extender); ok {
		e.JSONSchemaExtend(s)
		tidy(s)
	}
	return s, nil
}

// durationNote is part of the description of every time.Duration, because nothing else names the unit.
const durationNote = "duration in nanoseconds"

// object returns the schema of a struct type.
func (b *builder) object(t reflect.Type) (*jsonschema.Schema, error) {
	all, err := jsonFields(t)
	if err != nil {
		return nil, err
	}
	var fields []field
	var children []*jsonschema.Schema
	for _, f := range all {
		if hidden(f) {
			continue
		}
		child, err := b.schemaOf(f.Type)
		if err != nil {
			return nil, within(f.Name, err)
		}
		if f.quoted {
			if child, err = b.quote(child); err != nil {
				return nil, within(f.Name, err)
			}
		}
		fields, children = append(fields, f), append(children, child)
	}
	s, err := withKeywords(fields, children)
	if err != nil {
		return nil, err
	}
	for i, f := range fields {
		child := children[i]
		present, err := b.applyRules(child, f)
		if err != nil {
			return nil, within(f.Name, err)
		}
		if present || !f.omittable || hasOption(f, "required") {
			s.Required = append(s.Required, f.name)
		}
		if pointee(f.Type) == durationType && child.Description != durationNote {
			child.Description += " (" + durationNote + ")"
		}
		if hasOption(f, "nullable") || f.Type.Kind() == reflect.Pointer && !f.omittable && !present {
			s.Properties.Set(f.name, orNull(child))
		}
	}
	return s, nil
}

// quote returns the schema of a field with the ,string option: a string that holds the literal. It returns an error
// for types that decode themselves. For these, encoding/json ignores the option when it encodes but not when it
// decodes, so no schema describes both.
func (b *builder) quote(s *jsonschema.Schema) (*jsonschema.Schema, error) {
	l := b.leaves[s]
	if l.custom && l.goType != numberType {
		return nil, &typeError{msg: fmt.Sprintf("the json option \"string\" does not work with %v, which has its own JSON encoding", l.goType)}
	}
	quoted := &jsonschema.Schema{Type: "string", Description: s.Description}
	switch s.Type {
	case "integer":
		quoted.Pattern = "^-?[0-9]+$"
	case "number":
		quoted.Pattern = `^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$` // RFC 8259, section 6
	case "boolean":
		quoted.Enum = []any{"true", "false"}
	case "string":
		quoted.Pattern = `^"[\s\S]*"$`
	}
	b.leaves[quoted] = leaf{goType: l.goType, custom: true, quoted: true}
	return quoted, nil
}
