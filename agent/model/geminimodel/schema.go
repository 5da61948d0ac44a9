// SPDX-License-Identifier: Apache-2.0

package geminimodel

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/ponte-go/ponte/internal/adapter"
)

// adaptSchema returns a JSON schema in the form that Gemini accepts. What the API accepts is kept
// byte for byte except for white space: nullable types, anyOf, $ref and $defs are not flattened.
// The API does not accept, or mishandles, a few keywords. "$schema", "$comment", "title",
// "examples" and "discriminator" are left out, because they do not constrain values. "const"
// becomes an "enum" with one value. "exclusiveMinimum", "exclusiveMaximum" and the format of a
// string are moved to the description. The order of members, which the model follows, is kept.
func adaptSchema(schema json.RawMessage) (json.RawMessage, error) {
	if !needsAdapting(schema) {
		return schema, nil
	}
	return adaptNode(schema, 0)
}

var unfit = [][]byte{
	[]byte(`"$schema"`), []byte(`"$comment"`), []byte(`"title"`), []byte(`"examples"`), []byte(`"discriminator"`),
	[]byte(`"const"`), []byte(`"exclusiveM`), []byte(`"format"`), []byte(`\u`),
}

func needsAdapting(schema []byte) bool {
	for _, keyword := range unfit {
		if bytes.Contains(schema, keyword) {
			return true
		}
	}
	return false
}

// maxSchemaDepth limits the nesting of a schema.
const maxSchemaDepth = 200

func adaptNode(schema json.RawMessage, depth int) (json.RawMessage, error) {
	schema = bytes.TrimSpace(schema)
	if len(schema) == 0 || schema[0] != '{' {
		return schema, nil // true, false, or an error for the API to report
	}
	if depth > maxSchemaDepth {
		return nil, fmt.Errorf("nested more than %d levels deep", maxSchemaDepth)
	}
	members, err := adapter.Members(schema)
	var kept []adapter.Member
	var notes []string
	isString := has(members, "type", `"string"`)
	for _, m := range members {
		switch m.Name {
		case "$schema", "$comment", "title", "examples", "discriminator":
			continue
		case "const":
			kept = append(kept, constAsEnum(members, m.Value)...)
			continue
		case "exclusiveMinimum":
			notes = append(notes, "greater than "+string(m.Value))
			continue
		case "exclusiveMaximum":
			notes = append(notes, "less than "+string(m.Value))
			continue
		case "format":
			if isString {
				var format string
				if json.Unmarshal(m.Value, &format) == nil && format != "" {
					notes = append(notes, "format: "+format)
				}
				continue
			}
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			m.Value, err = adaptMap(m.Value, depth+1)
		case "anyOf", "oneOf", "allOf", "prefixItems":
			m.Value, err = adaptList(m.Value, depth+1)
		case "items":
			if bytes.HasPrefix(bytes.TrimSpace(m.Value), []byte("[")) {
				m.Value, err = adaptList(m.Value, depth+1)
			} else {
				m.Value, err = adaptNode(m.Value, depth+1)
			}
		case "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames":
			m.Value, err = adaptNode(m.Value, depth+1)
		}
		if err != nil {
			return nil, err
		}
		kept = append(kept, m)
	}
	return describe(adapter.Object(kept), notes), nil
}

func has(members []adapter.Member, name, value string) bool {
	for _, m := range members {
		if m.Name == name && string(bytes.TrimSpace(m.Value)) == value {
			return true
		}
	}
	return false
}

// constAsEnum returns members equivalent to a const: an enum, and its type if the schema has none.
func constAsEnum(members []adapter.Member, value json.RawMessage) []adapter.Member {
	enum := []adapter.Member{{Name: "enum", Value: append(append(json.RawMessage{'['}, value...), ']')}}
	for _, m := range members {
		if m.Name == "type" {
			return enum
		}
	}
	kind := ""
	switch value = bytes.TrimSpace(value); {
	case len(value) == 0:
	case value[0] == '"':
		kind = `"string"`
	case value[0] == 't', value[0] == 'f':
		kind = `"boolean"`
	case value[0] == 'n':
		kind = `"null"`
	case bytes.ContainsAny(value, ".eE"):
		kind = `"number"`
	case value[0] == '-' || value[0] >= '0' && value[0] <= '9':
		kind = `"integer"`
	}
	if kind == "" {
		return enum
	}
	return append([]adapter.Member{{Name: "type", Value: json.RawMessage(kind)}}, enum...)
}

func adaptMap(object json.RawMessage, depth int) (json.RawMessage, error) {
	members, err := adapter.Members(object)
	if err != nil {
		return nil, fmt.Errorf("not an object where one is required: %w", err)
	}
	for i := range members {
		if members[i].Value, err = adaptNode(members[i].Value, depth); err != nil {
			return nil, err
		}
	}
	return adapter.Object(members), nil
}

func adaptList(list json.RawMessage, depth int) (json.RawMessage, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(list, &items); err != nil {
		return nil, err
	}
	out := json.RawMessage{'['}
	for i, item := range items {
		adapted, err := adaptNode(item, depth)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, adapted...)
	}
	return append(out, ']'), nil
}

// describe adds notes to the description of a schema.
func describe(schema json.RawMessage, notes []string) json.RawMessage {
	if len(notes) == 0 {
		return schema
	}
	note := notes[0]
	for _, n := range notes[1:] {
		note += ", " + n
	}
	members, _ := adapter.Members(schema)
	for i := range members {
		var text string
		if members[i].Name == "description" && json.Unmarshal(members[i].Value, &text) == nil {
			members[i].Value = adapter.AppendJSONString(nil, text+" ("+note+")")
			return adapter.Object(members)
		}
	}
	return adapter.Object(append(members, adapter.Member{Name: "description", Value: adapter.AppendJSONString(nil, note)}))
}

// describeSchema adds a description to an output schema without one. The API has no other place for
// it.
func describeSchema(schema json.RawMessage, description string) json.RawMessage {
	members, err := adapter.Members(schema)
	if description == "" || err != nil {
		return schema
	}
	for _, m := range members {
		if m.Name == "description" {
			return schema
		}
	}
	return adapter.Object(append([]adapter.Member{{Name: "description", Value: adapter.AppendJSONString(nil, description)}}, members...))
}
