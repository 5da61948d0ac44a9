// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/go-playground/validator/v10"
)

// ruleWords has messages for the validate tags that models violate most. %s is the parameter.
var ruleWords = table{
	{"required", "is required and must not be empty"},
	{"email", "must be an email address"},
	{"url", "must be a URL"},
	{"http_url", "must be an http or https URL"},
	{"uri", "must be a URI"},
	{"uuid", "must be a UUID"},
	{"uuid4", "must be a UUID of version 4"},
	{"ip", "must be an IP address"},
	{"ipv4", "must be an IPv4 address"},
	{"ipv6", "must be an IPv6 address"},
	{"hostname", "must be a host name"},
	{"hostname_rfc1123", "must be a host name"},
	{"fqdn", "must be a fully qualified domain name"},
	{"datetime", "must be a date or time written like %s"},
	{"unique", "items must be unique"},
	{"ne", "must not be %s"},
	{"oneof", "must be one of: %s"},
	{"excludes", "must not contain %s"},
	{"lowercase", "must be in lower case"},
	{"uppercase", "must be in upper case"},
	{"json", "must be valid JSON"},
	{"eqfield", "must equal %s"},
	{"nefield", "must differ from %s"},
	{"gtfield", "must be greater than %s"},
	{"gtefield", "must not be less than %s"},
	{"ltfield", "must be less than %s"},
	{"ltefield", "must not be greater than %s"},
	{"required_if", "the field is required if %s"},
	{"required_unless", "the field is required unless %s"},
	{"required_with", "the field is required together with %s"},
	{"required_without", "the field is required without %s"},
	{"excluded_if", "must be left out if %s"},
	{"excluded_with", "must be left out together with %s"},
}

// problem returns the problem for an error of the validator.
func (v *validation) problem(f validator.FieldError, prefix string) Problem {
	path := strings.ReplaceAll(v.trimRoot(f.Namespace()), flattened+".", "")
	if prefix != "" && path != "" && path[0] != '[' {
		prefix += "."
	}
	p := Problem{Path: prefix + path, Rule: f.Tag()}
	param := f.Param()
	if strings.Contains(f.Tag(), "|") {
		param = "" // of the last alternative; the tag has them all
	}
	if param != "" {
		param = v.jsonNames(f)
		p.Rule += "=" + param
	}
	subject := ""
	if f.Kind() == reflect.String && hasWord("gtfield gtefield ltfield ltefield", f.Tag()) {
		subject, param = "its length ", "that of "+param
	}
	p.Message = subject + ruleMessage(f.Tag(), param)
	if f.Tag() == "unique" && param != "" {
		p.Message = "items must differ in " + param
	}
	if words, ok := durationBounds.get(f.Tag()); ok && f.Type() == durationType {
		p.Message = "must be " + words + " " + param
	}
	if strings.HasPrefix(f.Tag(), "required_") {
		return p // there is no value to quote
	}
	if text, err := Marshal(f.Value()); err == nil {
		p.Value = shorten(text)
	}
	return p
}

// trimRoot removes the name of the root type from a path of the validator.
func (v *validation) trimRoot(path string) string {
	if name := v.goType.Name(); name != "" && v.dive == "" {
		return strings.TrimPrefix(path, name+".")
	}
	return path
}

// jsonNames returns the parameter of a rule. Names of other fields are replaced by their JSON
// names, because models know no others.
func (v *validation) jsonNames(f validator.FieldError) string {
	tag, param := f.Tag(), f.Param()
	parent := v.parent(f)
	switch {
	case tag == "unique" && isCollection(f.Type()):
		parent = pointee(f.Type().Elem())
	case !readsFields(tag):
		return param
	}
	words := strings.Fields(param)
	pairs := hasPairs(tag)
	for i, word := range words {
		if pairs && i%2 == 1 {
			continue // a value
		}
		if path, ok := jsonPath(parent, word); ok {
			words[i] = path
		}
	}
	return strings.Join(words, " ")
}

// compared returns the path of the field that the value at a path was compared with, or path itself
// if there is none.
func (v *validation) compared(f validator.FieldError, path string) string {
	other, ok := jsonPath(v.parent(f), f.Param())
	if !ok {
		return path
	}
	return strings.TrimSuffix(path, f.Field()) + other
}

// parent returns the struct from which a rule that was broken names other fields.
func (v *validation) parent(f validator.FieldError) reflect.Type {
	parent, _ := elements(v.goType)
	path := v.trimRoot(f.StructNamespace())
	for at, key, ok := strings.Cut(path, "["); ok; at, key, ok = strings.Cut(path, "[") {
		_, rest, _ := strings.Cut(key, "]") // a key may have points
		path = at + rest
	}
	steps := strings.Split(path, ".")
	for _, name := range steps[:len(steps)-1] {
		if name == "" {
			continue // an index at the root
		}
		field, ok := fieldByName(parent, name)
		if !ok {
			return nil
		}
		parent, _ = elements(field.Type)
	}
	return parent
}

// jsonPath returns the path in JSON of a path in Go, from a struct.
func jsonPath(t reflect.Type, goPath string) (path string, ok bool) {
	for _, step := range strings.Split(goPath, ".") {
		name, _, _ := strings.Cut(step, "[")
		field, ok := fieldByName(t, name)
		if !ok {
			return "", false
		}
		if inJSON := jsonName(field); inJSON != flattened {
			path += "." + inJSON + step[len(name):]
		}
		t, _ = elements(field.Type)
	}
	return strings.TrimPrefix(path, "."), path != ""
}

// hasPairs reports whether the parameter of a rule is a list of fields, each with a value.
func hasPairs(tag string) bool {
	return strings.HasSuffix(tag, "_if") || strings.HasSuffix(tag, "_unless")
}

func fieldByName(t reflect.Type, name string) (reflect.StructField, bool) {
	if t == nil || t.Kind() != reflect.Struct {
		return reflect.StructField{}, false
	}
	return t.FieldByName(name)
}

// ruleMessage describes what a validate tag requires.
func ruleMessage(tag, param string) string {
	words, known := ruleWords.get(tag)
	switch {
	case strings.Contains(tag, "|"):
		return "must satisfy one of the rules " + strings.ReplaceAll(tag, "|", ", ")
	case !known && param != "":
		return "must satisfy the rule " + tag + "=" + param
	case !known:
		return "must satisfy the rule " + tag
	case !strings.Contains(words, "%s"):
		return words
	case hasPairs(tag):
		var conditions []string
		for i, word := range strings.Fields(param) {
			if i%2 == 1 {
				conditions[i/2] += " is " + word
			} else {
				conditions = append(conditions, word)
			}
		}
		param = strings.Join(conditions, " and ")
	}
	return fmt.Sprintf(words, param)
}
