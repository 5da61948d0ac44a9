// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// foreignTags are struct tags of other libraries that restrict or describe a value, by what to use
// in their place: in lower case, and without underscores. They would be ignored, so they are
// errors. Tags that name a field in another encoding (yaml, form, db) are left alone.
var foreignTags = table{
	{"validate", "validate binding valid validator validates validation constraint constraints vd " +
		"min max len length range minimum maximum gt gte ge lt lte le minlen maxlen " +
		"exclusiveminimum exclusivemaximum minlength maxlength minitems maxitems " +
		"uniqueitems minproperties maxproperties"},
	{`validate:"required"`, "required"},
	{`json:",omitempty"`, "optional"},
	{"a pointer", "nullable"},
	{"json", "json"},
	{"enum", "enum enums oneof const choice choices allowed options values"},
	{"default", "default defaults"},
	{"jsonschema", "jsonschema multipleof pattern regex regexp format readonly writeonly"},
	{"description", "description desc descr doc"},
	{"the tool's function", "mod conform"},
}

// checkTags reports tags that would be ignored although their author expects something of them, and
// text that is not a list of tags.
func checkTags(f *field) (wrong error) {
	rest := strings.TrimLeft(string(f.Tag), " ")
	for rest != "" {
		key, quoted, ok := strings.Cut(rest, ":")
		text, err := strconv.QuotedPrefix(quoted)
		if !ok || err != nil || key == "" || strings.ContainsAny(key, " \"") {
			return also(wrong, errorf("the struct tag %q is malformed at %q: it must be key:\"value\" pairs separated by spaces", f.Tag, rest))
		}
		rest = strings.TrimLeft(quoted[len(text):], " ")
		use := foreignTags.lists(strings.ToLower(strings.ReplaceAll(key, "_", "")))
		switch {
		case use == key:
		case use == "description" && f.Tag.Get("description") != "":
		case use != "":
			wrong = also(wrong, errorf("the tag %s has no effect; use %s", key, use))
		case strings.HasPrefix(key, "jsonschema_") && key != "jsonschema_description" && key != "jsonschema_extras":
			wrong = also(wrong, errorf("the tag %s is unknown", key))
		}
	}
	return wrong
}

// addEnum adds the values of the enum tag. For a list they apply to its items.
func (b *builder) addEnum(s *jsonschema.Schema, f *field) error {
	list, ok := f.Tag.Lookup("enum")
	if !ok {
		return nil
	}
	target, t := s, pointee(f.Type)
	for target.Type == "array" && target.Items != nil {
		target, t = target.Items, pointee(t.Elem())
	}
	switch {
	case target.Enum != nil:
		return errorf("the tags jsonschema and enum both list values")
	case target.Type != "string" && target.Type != "integer" && target.Type != "number" && target.Type != "boolean":
		return errorf("enum tag: it does not apply to %v", f.Type)
	}
	var values []string
	for _, value := range splitEscaped(list) {
		value = strings.TrimSpace(value)
		text, err := b.text(target, t, value)
		switch {
		case value == "":
			return errorf("enum tag: %q has an empty value", list)
		case err != nil:
			return errorf("enum tag: the value %q is not accepted: %v", value, err)
		}
		values = append(values, text)
	}
	var err error
	if target.Enum, err = literals(values); err != nil {
		return errorf("enum tag: %v", err)
	}
	return nil
}

// text returns the JSON text of a value written in a tag, and checks that the Go type takes it.
func (b *builder) text(s *jsonschema.Schema, t reflect.Type, value string) (text string, err error) {
	text = value
	switch {
	case b.leaves[s].quoted && t.Kind() == reflect.String:
		text = jsonOf(jsonOf(value))
	case s.Type == "array" && !json.Valid([]byte(text)):
		items := []json.RawMessage{}
		for _, item := range splitEscaped(value) {
			if text, err = b.text(s.Items, pointee(t.Elem()), strings.TrimSpace(item)); err != nil {
				return "", err
			}
			items = append(items, json.RawMessage(text))
		}
		return jsonOf(items), nil
	case s.Type == "string", s.Type == "" && !json.Valid([]byte(text)):
		text = jsonOf(value)
	}
	_, err = b.value(s, t, text)
	return text, err
}

// value returns the Go value of a text, or why a schema or the Go type that it belongs to does not
// accept it.
func (b *builder) value(s *jsonschema.Schema, t reflect.Type, text string) (any, error) {
	n, err := b.compiler().compile(s)
	if err != nil {
		return nil, err
	}
	_, value, err := n.decode([]byte(text), t)
	return value, err
}

// addDefault adds the value of the default tag. It reports whether the field has a default from
// there or from its jsonschema tag.
func (b *builder) addDefault(s *jsonschema.Schema, f *field) (ok bool, err error) {
	tag, tagged := f.Tag.Lookup("default")
	switch {
	case !tagged && s.Default == nil:
		return false, nil
	case tagged && s.Default != nil:
		return false, errorf("the tags jsonschema and default both have a default")
	}
	t := pointee(f.Type)
	text := ""
	if tagged {
		text, err = b.text(s, t, tag)
		s.Default = json.RawMessage(text)
	} else {
		text = jsonOf(s.Default)
		tag = text
	}
	var value any
	if err == nil {
		value, err = b.value(s, t, text)
	}
	if err == nil {
		err = breaksRule(f.Tag.Get("validate"), value)
	}
	if err != nil {
		return false, errorf("the default %q is not accepted: %v", tag, err)
	}
	return true, nil
}

// splitEscaped splits a list at commas that are not escaped with a backslash.
func splitEscaped(list string) []string {
	const escaped = "\x00"
	items := strings.Split(strings.ReplaceAll(list, `\,`, escaped), ",")
	for i := range items {
		items[i] = strings.ReplaceAll(items[i], escaped, ",")
	}
	return items
}
