// SPDX-License-Identifier: Apache-2.0

package genkitdev

import (
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/firebase/genkit/go/core/api"
	"github.com/invopop/jsonschema"
)

// object is a JSON schema, or a part of one.
type object = map[string]any

// describe replaces the schemas that Genkit has derived from the types of a flow. Genkit holds inputs and outputs against
// them, so they must never be stricter than what the types write and read.
func describe(desc api.ActionDesc, prompt string, output reflect.Type) {
	text := object{"type": "string", "description": "What the user says. Leave it out to go on where the history stands."}
	if prompt != "" {
		text["default"] = prompt
		text["examples"] = []any{prompt}
	}
	clear(desc.InputSchema)
	maps.Copy(desc.InputSchema, object{
		"type": "object",
		"properties": object{
			"prompt":  text,
			"history": messages("A conversation to go on with: the messages of an earlier output."),
			"results": object{
				"type": "object",
				"description": "Settles the calls that the history ends with, by their ids: " +
					`{"decisions": {"ID": {"verdict": "allow"}}, "results": {"ID": {"text": "..."}}}. A verdict is allow or deny.`,
			},
		},
		"additionalProperties": false,
	})
	properties, _ := desc.OutputSchema["properties"].(object)
	properties["output"] = fit(properties["output"], output)
	properties["messages"] = messages("The whole conversation, to be given back as the history.")
	properties["pending"] = object{
		"type": "array", "items": object{"type": "object"},
		"description": "Calls that wait for approval or a result. There is no output then.",
	}
}

func messages(description string) object {
	return object{"type": "array", "items": object{"type": "object"}, "description": description}
}

// fit makes the schema that Genkit has derived of a type take whatever the type is written as: null for nil pointers, slices
// and maps, and the JSON of types that write themselves. It changes and returns the schema.
func fit(schema any, t reflect.Type) any {
	s, ok := schema.(object)
	if !ok {
		return schema // true or false
	}
	null := t.Kind() == reflect.Slice || t.Kind() == reflect.Map
	for t.Kind() == reflect.Pointer {
		t, null = t.Elem(), true
	}
	switch own := written(t); {
	case t.Implements(schemed):
	case own != nil:
		s = own
	default:
		fitMembers(s, t)
	}
	if null {
		return orNull(s)
	}
	return s
}

// fitMembers fits the schemas of fields and elements.
func fitMembers(s object, t reflect.Type) {
	switch t.Kind() {
	case reflect.Struct:
		properties, _ := s["properties"].(object)
		for _, f := range reflect.VisibleFields(t) {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				name = f.Name
			}
			switch property, ok := properties[name]; {
			case !ok:
			case strings.Contains(","+options+",", ",string,"):
				properties[name] = object{}
			default:
				properties[name] = fit(property, f.Type)
			}
		}
	case reflect.Slice, reflect.Array:
		if s["items"] != nil {
			s["items"] = fit(s["items"], t.Elem())
		}
	case reflect.Map:
		if of, ok := s["additionalProperties"].(object); ok {
			s["additionalProperties"] = fit(of, t.Elem())
		}
		if patterns, ok := s["patternProperties"].(object); ok {
			delete(s, "additionalProperties") // keys are numbers, it says, but they may write themselves
			for pattern, of := range patterns {
				patterns[pattern] = fit(of, t.Elem())
			}
		}
	}
}

var (
	schemed      = reflect.TypeFor[interface{ JSONSchema() *jsonschema.Schema }]()
	writesJSON   = reflect.TypeFor[json.Marshaler]()
	writesText   = reflect.TypeFor[encoding.TextMarshaler]()
	knownWriters = []reflect.Type{reflect.TypeFor[time.Time](), reflect.TypeFor[json.RawMessage]()}
)

// written is the schema of a type that writes itself, as far as one can tell, or nil if it does not or is well known.
func written(t reflect.Type) object {
	p := reflect.PointerTo(t)
	switch {
	case slices.Contains(knownWriters, t):
		return nil
	case p.Implements(writesJSON), p.Implements(writesText) && !t.Implements(writesText):
		return object{}
	case t.Implements(writesText):
		return object{"type": "string"}
	}
	return nil
}

// orNull is a schema that takes null as well.
func orNull(s object) object {
	kind, plain := s["type"].(string)
	switch {
	case len(s) == 0:
		return s // anything
	case !plain || s["enum"] != nil || s["const"] != nil:
		return object{"anyOf": []any{s, object{"type": "null"}}}
	}
	s["type"] = []any{kind, "null"}
	return s
}
