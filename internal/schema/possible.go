// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
)

// excludesAll reports whether the bounds of s, or of its items, contradict each other.
func excludesAll(s *jsonschema.Schema) bool {
	above := func(low, high *uint64) bool { return low != nil && high != nil && *low > *high }
	beyond := func(low, high json.Number, equal int) bool {
		return low != "" && high != "" && parseNumber([]byte(low)).compare(parseNumber([]byte(high))) >= equal
	}
	switch {
	case s == nil:
		return false
	case above(s.MinLength, s.MaxLength), above(s.MinItems, s.MaxItems), above(s.MinProperties, s.MaxProperties):
	case beyond(s.Minimum, s.Maximum, 1), beyond(s.ExclusiveMinimum, s.Maximum, 0):
	case beyond(s.Minimum, s.ExclusiveMaximum, 0), beyond(s.ExclusiveMinimum, s.ExclusiveMaximum, 0):
	case s.Type == "integer" && next(s.ExclusiveMinimum, s.ExclusiveMaximum):
	case s.Enum != nil && refusesEach(s):
	case s.PropertyNames != nil && s.PropertyNames.Enum != nil &&
		above(s.MinProperties, new(uint64(len(s.PropertyNames.Enum)))):
	case s.UniqueItems && s.Items != nil && s.Items.Enum != nil &&
		above(s.MinItems, new(uint64(len(s.Items.Enum)))): // fewer values than items
	case s.UniqueItems && s.Items != nil && s.Items.Type == "boolean" &&
		above(s.MinItems, new(uint64(2))):
	case noMultiple(s), noText(s):
	default:
		return excludesAll(s.Items) || excludesAll(s.AdditionalProperties)
	}
	return true
}

// next reports whether there is no integer between two bounds.
func next(low, high json.Number) bool {
	a, err := low.Int64()
	b, err2 := high.Int64()
	return err == nil && err2 == nil && a+1 == b
}

// noMultiple reports whether no multiple of MultipleOf is between the bounds. It looks at integers
// only.
func noMultiple(s *jsonschema.Schema) bool {
	of, err := s.MultipleOf.Int64()
	low, err2 := s.Minimum.Int64()
	high, err3 := s.Maximum.Int64()
	if err != nil || err2 != nil || err3 != nil || of <= 0 {
		return false
	}
	rest := high % of
	if rest < 0 {
		rest += of
	}
	return uint64(rest) > uint64(high)-uint64(low)
}

// noText reports whether the patterns of rules such as alpha and numeric have no text in common. If
// they have any, one of three texts is in all of them.
func noText(s *jsonschema.Schema) bool {
	return !slices.ContainsFunc([]string{"a", "0", "+12345678"}, func(text string) bool {
		for _, of := range append(slices.Clip(s.AllOf), s) {
			for _, rule := range patterns {
				if rule.value == of.Pattern && !regexp.MustCompile(rule.value).MatchString(text) {
					return false
				}
			}
		}
		return true
	})
}

// breaksRules reports whether each value of the list of s breaks a rule of the field.
func (b *builder) breaksRules(s *jsonschema.Schema, f *field) bool {
	for _, v := range s.Enum {
		value, err := b.value(s, pointee(f.Type), jsonOf(v))
		if err == nil && breaksRule(f.Tag.Get("validate"), value) == nil {
			return false
		}
	}
	return s.Enum != nil
}

// refusesEach reports whether s rejects every value of its own list.
func refusesEach(s *jsonschema.Schema) bool {
	for _, value := range s.Enum {
		if !refuses(s, jsonOf(value)) {
			return false
		}
	}
	return true
}

// endless reports whether every value of s has a value of an open schema in it, and where. Open are
// those for which seen is true. The others in it have an end.
func (b *builder) endless(s *jsonschema.Schema, seen map[*jsonschema.Schema]bool) (path string, is bool) {
	if s != nil && s.Ref != "" {
		s = b.defs[strings.TrimPrefix(s.Ref, refPrefix)]
		if is, known := seen[s]; known {
			return "", is
		}
	}
	if s == nil { // of a type that is not complete, which is examined later
		return "", false
	}
	seen[s] = true
	if s.Properties != nil {
		for _, name := range s.Required {
			if path, is = b.endless(s.Properties.Value(name), seen); is {
				return "." + name + path, true
			}
		}
	}
	var inner *jsonschema.Schema
	if n := s.MinItems; n != nil && *n > 0 {
		inner = s.Items
	}
	if n := s.MinProperties; n != nil && *n > 0 {
		inner = s.AdditionalProperties
	}
	path, is = b.endless(inner, seen)
	seen[s] = false
	return "[]" + path, is
}
