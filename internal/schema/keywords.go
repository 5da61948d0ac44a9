// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// The keywords that the jsonschema package reads from a jsonschema tag, by the type they apply to. It silently
// ignores all others, so they are checked here.
var (
	anyKeywords    = []string{"title", "description", "type", "anchor", "oneof_required", "anyof_required", "oneof_ref", "oneof_type", "anyof_ref", "anyof_type"}
	numberKeywords = []string{"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "default", "example", "enum"}
	typeKeywords   = map[string][]string{
		"string":  {"minLength", "maxLength", "pattern", "format", "readOnly", "writeOnly", "default", "example", "enum"},
		"integer": numberKeywords,
		"number":  numberKeywords,
		"boolean": {"default"},
		"array":   {"minItems", "maxItems", "uniqueItems", "default", "format", "pattern"},
	}
)

// withKeywords returns the schema of an object with the children as its properties, and adds the keywords of the
// fields' jsonschema tags. The jsonschema package reads the tags: it reflects a struct with a placeholder type for
// each field (an array of length i), and is given the child for each.
func withKeywords(fields []field, children []*jsonschema.Schema) (*jsonschema.Schema, error) {
	standIns := make([]reflect.StructField, len(fields))
	for i, f := range fields {
		if err := checkKeywords(f, children[i]); err != nil {
			return nil, within(f.Name, err)
		}
		description, err := described(f)
		if err != nil {
			return nil, within(f.Name, err)
		}
		if description == "" {
			description = children[i].Description
		}
		tag := fmt.Sprintf(`json:"%d" jsonschema:%q jsonschema_description:%q jsonschema_extras:%q`,
			i, strings.Join(assignments(f), ","), description, f.Tag.Get("jsonschema_extras"))
		standIns[i] = reflect.StructField{
			Name: "F" + strconv.Itoa(i),
			Type: reflect.ArrayOf(i, reflect.TypeFor[standIn]()),
			Tag:  reflect.StructTag(tag),
		}
	}
	r := jsonschema.Reflector{
		Anonymous:      true,
		DoNotReference: true,
		KeyNamer: func(key string) string {
			i, _ := strconv.Atoi(key)
			return fields[i].name
		},
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			if t.Kind() == reflect.Array && t.Elem() == reflect.TypeFor[standIn]() {
				return children[t.Len()]
			}
			return nil
		},
		AdditionalFields: func(reflect.Type) []reflect.StructField { return standIns },
	}
	s := r.ReflectFromType(reflect.TypeFor[struct{}]())
	s.Version, s.Required = "", nil
	return s, nil
}

type standIn struct{}

// described returns the description of a field from its tags, except the jsonschema tag, which the jsonschema package
// reads.
func described(f field) (description string, err error) {
	by := ""
	if slices.ContainsFunc(splitKeywords(f), func(item string) bool { return strings.HasPrefix(item, "description=") }) {
		by = "jsonschema"
	}
	for _, tag := range []string{"description", "jsonschema_description"} {
		text := f.Tag.Get(tag)
		switch {
		case text == "":
			continue
		case by != "":
			return "", &typeError{msg: fmt.Sprintf("the tags %s and %s both have a description", by, tag)}
		}
		by, description = tag, text
	}
	return description, nil
}

// hidden reports whether the jsonschema tag hides a field from the model.
func hidden(f field) bool { return f.Tag.Get("jsonschema") == "-" }

// hasOption reports whether the jsonschema tag has the word "required" or "nullable".
func hasOption(f field, word string) bool {
	return slices.Contains(splitKeywords(f), word)
}

// assignments returns the keyword=value pairs of the jsonschema tag, with commas still escaped.
func assignments(f field) []string {
	var list []string
	for _, item := range splitKeywords(f) {
		if strings.Contains(item, "=") {
			list = append(list, strings.ReplaceAll(item, ",", `\,`))
		}
	}
	return list
}

// splitKeywords splits the jsonschema tag at unescaped commas.
func splitKeywords(f field) []string {
	const escaped = "\x00"
	tag := strings.ReplaceAll(f.Tag.Get("jsonschema"), `\,`, escaped)
	items := strings.Split(tag, ",")
	for i := range items {
		items[i] = strings.ReplaceAll(items[i], escaped, ",")
	}
	return items
}

// checkKeywords reports mistakes in a jsonschema tag that would otherwise silently drop a keyword or half a
// description.
func checkKeywords(f field, s *jsonschema.Schema) error {
	allowed := append(slices.Clip(anyKeywords), typeKeywords[s.Type]...)
	if s.Items != nil {
		allowed = append(allowed, typeKeywords[s.Items.Type]...)
	}
	for _, item := range splitKeywords(f) {
		key, value, assigned := strings.Cut(item, "=")
		switch {
		case !assigned:
			if item != "" && item != "required" && item != "nullable" {
				return &typeError{msg: fmt.Sprintf(`jsonschema tag: %q is not keyword=value (write a comma in a value as \\,)`, item)}
			}
		case !slices.Contains(allowed, key):
			return &typeError{msg: fmt.Sprintf("jsonschema tag: keyword %q%s", key, misplaced(key, s.Type))}
		case !fits(key, value, s):
			return &typeError{msg: fmt.Sprintf("jsonschema tag: %s cannot be %q", key, value)}
		}
	}
	return nil
}

func misplaced(key, typ string) string {
	for list := range maps.Values(typeKeywords) {
		if slices.Contains(list, key) {
			if typ == "" {
				typ = "this type"
			}
			return " does not apply to " + typ
		}
	}
	return " is unknown"
}

// fits reports whether the jsonschema package can read the value of a keyword.
func fits(key, value string, s *jsonschema.Schema) bool {
	typ := s.Type
	if s.Items != nil {
		typ = s.Items.Type
	}
	switch key {
	case "minLength", "maxLength", "minItems", "maxItems":
		_, err := strconv.ParseUint(value, 10, 64)
		return err == nil
	case "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return isNumber(value)
	case "default", "example", "enum":
		if s.Type == "array" && key == "default" {
			return true
		}
		switch typ {
		case "integer", "number":
			return isNumber(value)
		case "boolean":
			return value == "true" || value == "false"
		}
	}
	return true
}

// isNumber reports whether text is a JSON number.
func isNumber(text string) bool {
	var n json.Number
	return json.Unmarshal([]byte(text), &n) == nil && text != "null" && text[0] != '"'
}
