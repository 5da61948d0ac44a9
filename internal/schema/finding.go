// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-playground/validator/v10"

	"github.com/ponte-go/ponte/internal/plainjson"
)

// ruleWords has messages for the validate tags that models violate most. %s is the parameter.
var ruleWords = map[string]string{
	"required":         "is required and must not be empty",
	"email":            "must be an email address",
	"url":              "must be a URL",
	"http_url":         "must be an http or https URL",
	"uri":              "must be a URI",
	"uuid":             "must be a UUID",
	"uuid4":            "must be a UUID of version 4",
	"ip":               "must be an IP address",
	"ipv4":             "must be an IPv4 address",
	"ipv6":             "must be an IPv6 address",
	"hostname":         "must be a host name",
	"hostname_rfc1123": "must be a host name",
	"fqdn":             "must be a fully qualified domain name",
	"datetime":         "must be a date or time written like %s",
	"unique":           "items must be unique",
	"ne":               "must not be %s",
	"oneof":            "must be one of: %s",
	"excludes":         "must not contain %s",
	"lowercase":        "must be in lower case",
	"uppercase":        "must be in upper case",
	"json":             "must be valid JSON",
	"eqfield":          "must equal %s",
	"nefield":          "must differ from %s",
	"gtfield":          "must be greater than %s",
	"gtefield":         "must not be less than %s",
	"ltfield":          "must be less than %s",
	"ltefield":         "must not be greater than %s",
	"required_if":      "the field is required if %s",
	"required_unless":  "the field is required unless %s",
	"required_with":    "the field is required together with %s",
	"required_without": "the field is required without %s",
	"excluded_if":      "must be left out if %s",
	"excluded_with":    "must be left out together with %s",
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
	p.Message = ruleMessage(f.Tag(), param)
	if strings.HasPrefix(f.Tag(), "required_") {
		return p // there is no value to quote
	}
	if text, err := plainjson.Marshal(f.Value()); err == nil {
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

// jsonNames returns the parameter of a rule. Names of other fields are replaced by their JSON names, because models
// know no others.
func (v *validation) jsonNames(f validator.FieldError) string {
	tag, param := f.Tag(), f.Param()
	if !strings.HasSuffix(tag, "field") && !strings.HasPrefix(tag, "required_") && !strings.HasPrefix(tag, "excluded_") {
		return param
	}
	parent, _ := elements(v.goType)
	steps := strings.Split(v.trimRoot(f.StructNamespace()), ".")
	for _, step := range steps[:len(steps)-1] {
		name, _, _ := strings.Cut(step, "[")
		if name == "" {
			continue // an index at the root
		}
		field, ok := fieldByName(parent, name)
		if !ok {
			return param
		}
		parent, _ = elements(field.Type)
	}
	words := strings.Fields(param)
	pairs := hasPairs(tag)
	for i, word := range words {
		if pairs && i%2 == 1 {
			continue // a value
		}
		if field, ok := fieldByName(parent, word); ok {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); validName(name) {
				words[i] = name
			}
		}
	}
	return strings.Join(words, " ")
}

// hasPairs reports whether the parameter of a rule is a list of fields, each with a value.
func hasPairs(tag string) bool {
	return strings.HasSuffix(tag, "_if") || strings.HasSuffix(tag, "_unless")
}

func fieldByName(t reflect.Type, name string) (reflect.StructField, bool) {
	if t.Kind() != reflect.Struct {
		return reflect.StructField{}, false
	}
	return t.FieldByName(name)
}

// ruleMessage describes what a validate tag requires.
func ruleMessage(tag, param string) string {
	words, known := ruleWords[tag]
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
		for pair := range slices.Chunk(strings.Fields(param), 2) {
			conditions = append(conditions, strings.Join(pair, " is "))
		}
		param = strings.Join(conditions, " and ")
	}
	return fmt.Sprintf(words, param)
}
