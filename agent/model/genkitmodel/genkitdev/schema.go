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

// object is a JSON schema or a part of one.
type object = map[string]any

// describe replaces the schemas that Genkit has derived from the types of a flow. Genkit checks
// inputs and outputs against them, so they must not be stricter than the JSON of the types.
func describe(desc api.ActionDesc, prompt string, output reflect.Type) {
	text := object{"type": "string", "description": "The user's message. Leave it out to resume where the history ends."}
	if prompt != "" {
		text["default"] = prompt
		text["examples"] = []any{prompt}
	}
	clear(desc.InputSchema)
	maps.Copy(desc.InputSchema, object{
		"type": "object",
		"properties": object{
			"prompt":  text,
			"history": messages("A conversation to continue: the messages of an earlier output."),
			"results": object{
				"type": "object",
				"description": "Answers to the pending calls of the history, by id: " +
					`{"decisions": {"ID": {"verdict": "allow"}}, "results": {"ID": {"text": "..."}}}. A verdict is allow or deny.`,
			},
		},
		"additionalProperties": false,
	})
	properties, _ := desc.OutputSchema["properties"].(object)
	properties["output"] = fit(properties["output"], output)
	properties["messages"] = messages("The whole conversation, for use as the history.")
	properties["pending"] = object{
		"type": "array", "items": object{"type": "object"},
		"description": "Calls that wait for approval or a result. If there are any, there is no output.",
	}
}

func messages(description string) object {
	return object{"type": "array", "items": object{"type": "object"}, "description": description}
}

// fit changes the schema that Genkit has derived from a type, so that it accepts what the type is
// encoded as: null for nil pointers, slices and maps, and the JSON of types with their own
// encoding. It modifies and returns the schema.
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
			delete(s, "additionalProperties") // keys are described as numbers, but may have their own encoding
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

// written returns the schema of a type with its own encoding, if it can be determined. It returns
// nil for other and well-known types.
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

// orNull returns a schema that also accepts null.
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
