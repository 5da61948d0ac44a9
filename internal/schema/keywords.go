// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// The keywords that the jsonschema package reads from a jsonschema tag, by the type they apply to.
// It silently ignores all others, so they are checked here.
const (
	anyKeywords    = "title description type anchor oneof_required anyof_required oneof_ref oneof_type anyof_ref anyof_type"
	numberKeywords = "multipleOf minimum maximum exclusiveMinimum exclusiveMaximum default example enum"
)

var typeKeywords = table{
	{"string", "minLength maxLength pattern format readOnly writeOnly default example enum"},
	{"integer", numberKeywords},
	{"number", numberKeywords},
	{"boolean", "default"},
	{"array", "minItems maxItems uniqueItems default format pattern"},
}

// withKeywords returns the schema of an object with the children as its properties, and adds the
// keywords of the fields' jsonschema tags. The jsonschema package reads the tags: it reflects a
// struct with a placeholder type for each field (an array of length i), and is given the child for
// each.
func (b *builder) withKeywords(fields []*field, children []*jsonschema.Schema) *jsonschema.Schema {
	standIns := make([]reflect.StructField, len(fields))
	for i, f := range fields {
		description, _ := described(f)
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
	for _, child := range children {
		itemsOfDefault(child)
	}
	return s
}

// itemsOfDefault gives the default of a list, which the jsonschema package reads as strings, the
// type of its items.
func itemsOfDefault(s *jsonschema.Schema) {
	list, ok := s.Default.([]any)
	if !ok || s.Items == nil {
		return
	}
	switch s.Items.Type {
	case "integer", "number", "boolean":
		for i, item := range list {
			list[i] = json.RawMessage(item.(string))
		}
	}
}

type standIn struct{}

// described returns the description of a field from its tags, except the jsonschema tag, which the
// jsonschema package reads.
func described(f *field) (description string, err error) {
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
			return "", errorf("the tags %s and %s both have a description", by, tag)
		}
		by, description = tag, text
	}
	return description, nil
}

// hidden reports whether the jsonschema tag hides a field from the model.
func hidden(f *field) bool { return f.Tag.Get("jsonschema") == "-" }

// hasOption reports whether the jsonschema tag has the word "required" or "nullable".
func hasOption(f *field, word string) bool {
	return slices.Contains(splitKeywords(f), word)
}

// assignments returns the keyword=value pairs of the jsonschema tag, with commas still escaped.
func assignments(f *field) []string {
	var list []string
	for _, item := range splitKeywords(f) {
		if strings.Contains(item, "=") {
			list = append(list, strings.ReplaceAll(item, ",", `\,`))
		}
	}
	return list
}

// splitKeywords splits the jsonschema tag at unescaped commas.
func splitKeywords(f *field) []string { return splitEscaped(f.Tag.Get("jsonschema")) }

// checkKeywords reports mistakes in a jsonschema tag that would otherwise silently drop a keyword
// or half a description.
func (b *builder) checkKeywords(f *field, s *jsonschema.Schema) error {
	ofType, _ := typeKeywords.get(s.Type)
	allowed := anyKeywords + " " + ofType
	if s.Items != nil {
		ofItems, _ := typeKeywords.get(s.Items.Type)
		allowed += " " + ofItems
	}
	items := splitKeywords(f)
	for i, item := range items {
		key, value, assigned := strings.Cut(item, "=")
		switch {
		case !assigned:
			if item != "" && item != "required" && item != "nullable" {
				return errorf(`jsonschema tag: %q is not keyword=value (write a comma in a value as \\,)`, item)
			}
		case !hasWord(allowed, key):
			return errorf("jsonschema tag: keyword %q%s", key, misplaced(key, s.Type))
		case strings.HasSuffix(key, "type") && s.Type != "" && s.Type != value && !b.leaves[s].custom && (s.Type != "number" || value != "integer"):
			return errorf("jsonschema tag: %s contradicts the type %v of the field", item, f.Type)
		case key == "enum" && slices.Contains(items[:i], item):
			return errorf("jsonschema tag: %s is there twice", item)
		case !fits(key, value, s):
			return errorf("jsonschema tag: %s cannot be %q", key, value)
		}
	}
	for _, item := range strings.Split(f.Tag.Get("jsonschema_extras"), ",") {
		if key, _, assigned := strings.Cut(item, "="); assigned && (hasWord(anyKeywords, key) || misplaced(key, "") != unknownKeyword) {
			return errorf("jsonschema_extras tag: %s is a keyword; use the tag jsonschema", key)
		}
	}
	return nil
}

const unknownKeyword = " is unknown"

func misplaced(key, typ string) string {
	for _, of := range typeKeywords {
		if hasWord(of.value, key) {
			if typ == "" {
				typ = "this type"
			}
			return " does not apply to " + typ
		}
	}
	return unknownKeyword
}

// fits reports whether the jsonschema package can read the value of a keyword, and the keyword can
// have it.
func fits(key, value string, s *jsonschema.Schema) bool {
	for s.Type == "array" && s.Items != nil && key != "minItems" && key != "maxItems" {
		s = s.Items
	}
	switch key {
	case "minLength", "maxLength", "minItems", "maxItems":
		_, err := strconv.ParseUint(value, 10, 64)
		return err == nil
	case "multipleOf":
		return isNumber(value) && parseNumber([]byte(value)).compare(number{integer: true}) > 0
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return isNumber(value)
	case "uniqueItems":
		return value == "true"
	case "readOnly", "writeOnly":
		return isBool(value)
	case "default", "example", "enum":
		switch s.Type {
		case "integer", "number":
			return isNumber(value)
		case "boolean":
			return isBool(value)
		}
	}
	return true
}

func isBool(text string) bool { return text == "true" || text == "false" }

// isNumber reports whether text is a JSON number.
func isNumber(text string) bool {
	var n json.Number
	return json.Unmarshal([]byte(text), &n) == nil && text != "null" && text[0] != '"'
}
