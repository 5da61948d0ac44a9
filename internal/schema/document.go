// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"reflect"

	"github.com/invopop/jsonschema"

	"github.com/ponte-go/ponte/internal/plainjson"
)

// anything is the schema that accepts every value. It is written as {}, because many providers do
// not accept the boolean schema true, which the jsonschema package writes for a schema without
// keywords. Empty Extras that are not nil make it write the braces.
func anything() *jsonschema.Schema {
	return &jsonschema.Schema{Extras: map[string]any{}}
}

func reference(name string) *jsonschema.Schema {
	return &jsonschema.Schema{Ref: refPrefix + name}
}

const refPrefix = "#/$defs/"

// orNull returns a schema that also accepts null. The description of the value stays at the top,
// where models expect it.
func orNull(s *jsonschema.Schema) *jsonschema.Schema {
	if isAnything(s) {
		return s
	}
	outer := &jsonschema.Schema{
		Title: s.Title, Description: s.Description, Default: s.Default, Examples: s.Examples,
		AnyOf: []*jsonschema.Schema{s, {Type: "null"}},
	}
	s.Title, s.Description, s.Default, s.Examples = "", "", nil, nil
	return outer
}

// nullable undoes orNull.
func nullable(s *jsonschema.Schema) (inner *jsonschema.Schema, ok bool) {
	if len(s.AnyOf) != 2 || s.Type != "" || s.Ref != "" || !reflect.DeepEqual(s.AnyOf[1], &jsonschema.Schema{Type: "null"}) {
		return nil, false
	}
	return s.AnyOf[0], true
}

func isAnything(s *jsonschema.Schema) bool {
	return s.Type == "" && s.Properties == nil && (reflect.DeepEqual(s, jsonschema.TrueSchema) || reflect.DeepEqual(s, &jsonschema.Schema{}) || reflect.DeepEqual(s, anything()))
}

// isNothing reports whether s is the boolean schema false.
func isNothing(s *jsonschema.Schema) bool { return reflect.DeepEqual(s, jsonschema.FalseSchema) }

// jsonOf returns the JSON text of a schema or of a value in one. It is not inlined for the same
// reason as errorf.
//
//go:noinline
func jsonOf(v any) string {
	text, err := plainjson.Marshal(v)
	if err != nil {
		panic(err) // of a schema that a type makes itself; see newType
	}
	return string(text)
}

// tidy prepares a schema made by user code to be part of another schema. It removes its version and
// id, and writes boolean schemas as objects.
func tidy(s *jsonschema.Schema) *jsonschema.Schema {
	switch {
	case s == nil || isAnything(s):
		return anything()
	case isNothing(s):
		return &jsonschema.Schema{Not: anything()}
	}
	s.Version, s.ID = "", ""
	each := func(list []*jsonschema.Schema) {
		for i := range list {
			list[i] = tidy(list[i])
		}
	}
	each(s.AnyOf)
	each(s.OneOf)
	each(s.AllOf)
	each(s.PrefixItems)
	for name, def := range s.Definitions {
		s.Definitions[name] = tidy(def)
	}
	if s.Items != nil {
		s.Items = tidy(s.Items)
	}
	if s.AdditionalProperties != nil && !isNothing(s.AdditionalProperties) {
		s.AdditionalProperties = tidy(s.AdditionalProperties)
	}
	if s.Properties != nil {
		for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
			pair.Value = tidy(pair.Value)
		}
	}
	return s
}
