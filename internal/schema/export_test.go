// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// TagNames returns the names that the package reads in jsonschema tags, and those of validate tags that become formats or
// patterns.
func TagNames() (keywords, named []string) {
	keywords = strings.Fields(anyKeywords)
	for _, of := range typeKeywords {
		keywords = append(keywords, strings.Fields(of.value)...)
	}
	for _, format := range formats {
		named = append(named, strings.Fields(format.value)...)
	}
	for _, rule := range patterns {
		named = append(named, rule.key)
	}
	return keywords, named
}

// Repaired returns the document that Repair makes of a text in the plainest way, whether anybody accepts it or not; nil if there
// is none, or nothing to do.
func Repaired(text []byte) []byte {
	if json.Valid(text) {
		return nil
	}
	if m := mend(text); m != nil {
		return m.result
	}
	return nil
}

// BakedInRules returns the names of the validator's own rules.
func BakedInRules() []string {
	rules := reflect.ValueOf(sharedValidator()).Elem().FieldByName("validations")
	var names []string
	for _, key := range rules.MapKeys() {
		names = append(names, key.String())
	}
	slices.Sort(names)
	return append(names, "iscolor", "country_code", "eu_country_code") // the aliases
}

// ForeignTags returns the tags of other libraries that are errors, with what to use.
func ForeignTags() map[string]string {
	tags := map[string]string{}
	for _, use := range foreignTags {
		for _, tag := range strings.Fields(use.value) {
			tags[tag] = use.key
		}
	}
	return tags
}

// ExactValue decodes valid JSON, and keeps numbers as they are written.
var ExactValue = exactValue

// Where tells whether a value is in a text, by its path in the validator: here, absent (or null), or nowhere, which is within an
// absent value.
func (t *Type) Where(text, path string) string {
	return []string{"here", "absent", "nowhere"}[t.root.find(exactValue([]byte(text)), path)]
}

// Stored returns the names of the fields that are stored without encoding/json, each with its index.
func (t *Type) Stored() string {
	var names []string
	for i, at := range t.direct {
		if at >= 0 {
			names = append(names, t.root.fields[i].name+" "+strconv.Itoa(at))
		}
	}
	return strings.Join(names, ", ")
}

// HasOwnValidator reports whether a type has rules that made a validator of its own necessary.
func (t *Type) HasOwnValidator() bool {
	return t.validate != nil && t.validate.validate != sharedValidator()
}
