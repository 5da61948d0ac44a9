// SPDX-License-Identifier: Apache-2.0

package anthropicmodel

import (
	"encoding/json"
	"slices"
	"strings"
)

// fitSchema returns a schema that the API can enforce for a response or for arguments. The API
// supports only a part of JSON Schema and returns an error for the rest. What it does not support
// is moved to descriptions, as in the official SDKs, and objects are closed. The order of members,
// which the model follows, is kept.
func fitSchema(schema json.RawMessage) json.RawMessage {
	if !isObject(schema) {
		return schema
	}
	var kept, told []byte
	all := map[string]json.RawMessage{}
	for name, value := range members(schema) {
		all[name] = value
	}
	_, isRef := all["$ref"]
	hasType := func(t string) bool { return strings.Contains(string(all["type"]), `"`+t+`"`) }
	for name, value := range members(schema) {
		switch name {
		case "$defs", "definitions":
			kept = appendMember(kept, name, fitMembers(value))
		case "$ref":
			kept = appendMember(kept, name, value)
		case "type", "title", "enum", "const", "required", "pattern", "description", "additionalProperties", "oneOf", "properties", "anyOf", "allOf",
			"items", "format", "minItems":
			switch {
			case isRef: // it must be alone
			case name == "properties":
				kept = appendMember(kept, name, fitMembers(value))
			case name == "anyOf" || name == "allOf" || name == "oneOf" && all["anyOf"] == nil:
				kept = appendMember(kept, strings.Replace(name, "oneOf", "anyOf", 1), fitElements(value))
			case name == "items":
				kept = appendMember(kept, name, fitSchema(value))
			case name == "format" && !slices.Contains(formats, string(value)), name == "oneOf", name == "minItems" && string(value) != "0" && string(value) != "1":
				told = appendMember(told, name, value)
			case name == "description", name == "additionalProperties": // see below
			default:
				kept = appendMember(kept, name, value)
			}
		case "$schema", "$id", "$comment":
		default:
			if !isRef {
				told = appendMember(told, name, value)
			}
		}
	}
	if isRef {
		return append(kept, '}')
	}
	if hasType("object") || all["properties"] != nil {
		additional := json.RawMessage("false")
		if more := all["additionalProperties"]; all["properties"] == nil && isObject(more) { // a map
			additional = fitSchema(more)
		}
		kept = appendMember(kept, "additionalProperties", additional)
	}
	if description := describe(all["description"], told); description != nil {
		kept = appendMember(kept, "description", description)
	}
	return append(openObject(kept), '}')
}

// formats lists the formats that the API supports, as JSON strings.
var formats = []string{`"date-time"`, `"time"`, `"date"`, `"duration"`, `"email"`, `"hostname"`, `"uri"`, `"ipv4"`, `"ipv6"`, `"uuid"`}

// describe adds unsupported keywords, the members of an object without closing brace, to a
// description.
func describe(description json.RawMessage, told []byte) json.RawMessage {
	if told == nil {
		return description
	}
	var text string
	_ = json.Unmarshal(description, &text) // ignored if it is not a string
	if text != "" {
		text += "\n\n"
	}
	result, err := json.Marshal(text + string(told) + "}")
	if err != nil { // encoding a string never fails
		return description
	}
	return result
}

func fitMembers(object json.RawMessage) json.RawMessage {
	var fitted []byte
	for name, value := range members(object) {
		fitted = appendMember(fitted, name, fitSchema(value))
	}
	return append(openObject(fitted), '}')
}

func fitElements(array json.RawMessage) json.RawMessage {
	var elements []json.RawMessage
	if json.Unmarshal(array, &elements) != nil {
		return array
	}
	fitted := []byte{'['}
	for i, e := range elements {
		if i > 0 {
			fitted = append(fitted, ',')
		}
		fitted = append(fitted, fitSchema(e)...)
	}
	return append(fitted, ']')
}
