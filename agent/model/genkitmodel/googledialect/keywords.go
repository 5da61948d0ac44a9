// SPDX-License-Identifier: Apache-2.0

package googledialect

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/internal/adapter"
)

// kindOf returns a single type for a schema: the first of several, or the one that its other
// keywords imply.
func kindOf(schema map[string]any) (kind string, notes []string) {
	switch t := schema["type"].(type) {
	case string:
		kind = known(t)
	case []any:
		for _, element := range t {
			name, _ := element.(string)
			switch {
			case name == "null":
				notes = append(notes, "may be null")
			case kind == "":
				kind = known(name)
			case known(name) != "":
				notes = append(notes, "or "+name)
			}
		}
	}
	if kind != "" {
		return kind, notes
	}
	kind = "string"
	switch {
	case schema["properties"] != nil:
		kind = "object"
	case schema["items"] != nil, schema["prefixItems"] != nil:
		kind = "array"
	default:
		for _, value := range valuesOf(schema) {
			switch value.(type) {
			case nil:
				continue
			case bool:
				kind = "boolean"
			case int64, uint64:
				kind = "integer"
			case float64:
				kind = "number"
			}
			break
		}
	}
	return kind, notes
}

// known returns a type that the plugin supports.
func known(kind string) string {
	if slices.Contains([]string{"string", "number", "integer", "boolean", "object", "array"}, kind) {
		return kind
	}
	return ""
}

// formats lists the formats that the API accepts.
var formats = map[string][]string{"string": {"date-time"}, "number": {"float", "double"}, "integer": {"int32", "int64"}}

// keep copies the keywords of a type that the API and the plugin support.
func keep(out, schema map[string]any) (notes []string) {
	kind, _ := out["type"].(string)
	if format, ok := schema["format"].(string); ok && format != "" {
		if slices.Contains(formats[kind], format) {
			out["format"] = format
		} else {
			notes = append(notes, "format: "+format)
		}
	}
	var bounds []string
	switch kind {
	case "array":
		bounds = []string{"minItems", "maxItems"}
	case "number", "integer":
		bounds = []string{"minimum", "maximum"}
	case "object":
		members, _ := out["properties"].(map[string]any)
		list, _ := schema["required"].([]any)
		var required []any
		told := map[string]bool{}
		for _, element := range list {
			name, ok := element.(string)
			if _, is := members[name]; ok && is && !told[name] { // the API does not accept a name without a member
				told[name] = true
				required = append(required, name)
			}
		}
		if len(required) > 0 {
			out["required"] = required
		}
	}
	for _, name := range bounds {
		switch value := schema[name].(type) {
		case int64, float64:
			out[name] = value
		}
	}
	return notes
}

// valuesOf returns the values that a schema lists, or nil.
func valuesOf(schema map[string]any) []any {
	if value, ok := schema["const"]; ok {
		return []any{value}
	}
	if values, ok := schema["enum"].([]any); ok && len(values) > 0 {
		return values
	}
	return nil
}

// literals returns the values of all options, or nil if an option is more than a list of values. It
// also returns notes about them.
func literals(options []map[string]any) (all []any, notes []string) {
	for _, option := range options {
		values := valuesOf(option)
		if values == nil {
			return nil, nil
		}
		all = append(all, values...)
		value, isText := values[0].(string)
		if meaning, ok := option["description"].(string); ok && isText && len(values) == 1 {
			notes = append(notes, value+": "+meaning)
		}
	}
	return all, notes
}

// enumOf keeps lists of strings, and describes other lists, which the API does not support.
func (f *flattener) enumOf(out, schema map[string]any) (notes []string) {
	values := valuesOf(schema)
	if values == nil {
		return nil
	}
	var texts []any
	for _, value := range values {
		switch text, ok := value.(string); {
		case value == nil:
			notes = []string{"may be null"}
		case ok && text != "" && out["type"] == "string":
			f.size += 1 + len(text)
			texts = append(texts, text)
		default:
			return []string{"one of " + f.short(values)}
		}
	}
	if texts != nil {
		out["enum"] = texts
	}
	return notes
}

// unsaid returns notes about keywords that the API does not support.
func (f *flattener) unsaid(schema map[string]any) (notes []string) {
	if schema["nullable"] == true { // from OpenAPI
		notes = append(notes, "may be null")
	}
	for _, name := range []string{
		"pattern", "minLength", "maxLength", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "prefixItems",
		"minProperties", "maxProperties", "patternProperties", "not", "default",
	} {
		if value, ok := schema[name]; ok {
			notes = append(notes, name+": "+f.short(value))
		}
	}
	if schema["uniqueItems"] == true {
		notes = append(notes, "items must be unique")
	}
	if others, ok := schema["additionalProperties"].(map[string]any); ok && len(others) > 0 {
		notes = append(notes, "other members: "+f.short(others))
	}
	return notes
}

// maxNote limits what the description quotes of a schema, in bytes.
const maxNote = 500

// short returns a value as JSON, possibly truncated.
func (f *flattener) short(value any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(value) // the value was decoded from JSON
	f.size += b.Len()     // describe checks whether that is too much
	return adapter.Truncate(strings.TrimSpace(b.String()), maxNote)
}

// describe sets the description and adds the notes. It fails if the total is too large.
func (f *flattener) describe(out, schema map[string]any, notes []string) error {
	description, _ := schema["description"].(string)
	if len(notes) > 0 {
		description = strings.TrimSpace(description + " (" + strings.Join(notes, ", ") + ")")
	}
	if description != "" {
		out["description"] = description
	}
	return f.spend(len(description))
}
