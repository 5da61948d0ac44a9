// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"reflect"
	"strings"
)

// ruleCheck looks for rules of a field that cannot work. The validator would panic over them in
// every call, or over some values, or refuse or accept every value.
type ruleCheck struct {
	parents []reflect.Value // values of the struct
	level   reflect.Type    // of the values that the rules are about: the field, or its elements after dive
}

// checkRules returns an error if a rule in the validate tag of a field of the struct st cannot
// work.
func checkRules(st reflect.Type, f *reflect.StructField) error {
	tag := f.Tag.Get("validate")
	if !ruled(tag) {
		return nil
	}
	c := &ruleCheck{parents: []reflect.Value{sample(st, 0), reflect.Zero(st)}, level: f.Type}
	tokens := strings.Split(tag, ",")
	for i := 0; i < len(tokens); i++ {
		if err := c.token(tokens, &i); err != nil {
			return errorf("validate tag %q: %v", tokens[i], err)
		}
	}
	return nil
}

// token checks the token at a position, and for keys all those until endkeys.
func (c *ruleCheck) token(tokens []string, at *int) error {
	switch token := tokens[*at]; token {
	case "omitempty", "omitzero", "omitnil", "structonly", "nostructlevel", "isdefault", "required", "endkeys":
	case "dive":
		t := pointee(c.level)
		switch t.Kind() {
		case reflect.Slice, reflect.Array, reflect.Map:
			c.level = t.Elem()
		default:
			return errorf("it needs a list or a map, not %v", c.level)
		}
		if *at+1 < len(tokens) && tokens[*at+1] == "keys" {
			if t.Kind() != reflect.Map {
				return errorf("keys needs a map, not %v", t)
			}
			keys := &ruleCheck{parents: c.parents, level: t.Key()}
			for *at += 2; *at < len(tokens) && tokens[*at] != "endkeys"; *at++ {
				if err := keys.token(tokens, at); err != nil {
					return err
				}
			}
		}
	case "keys":
		return errorf("it must follow dive")
	default:
		for _, rule := range strings.Split(token, "|") {
			if err := c.rule(rule); err != nil {
				return err
			}
		}
	}
	return nil
}

// rule checks a single rule.
func (c *ruleCheck) rule(rule string) error {
	name, param, _ := strings.Cut(rule, "=")
	param = ruleParam(param)
	t := pointee(c.level)
	if err := c.try("", name); err != nil && strings.HasPrefix(err.Error(), "Undefined") || name == "" {
		return errorf("the rule is unknown")
	}
	if !applies(name, t) {
		if t.Kind() == reflect.Struct {
			return errorf("the rule does not apply to %v", c.level)
		}
		return errorf("the rule applies to strings, not to %v", c.level)
	}
	if name == "unique" {
		if plain, err := c.unique(t, param); plain || err != nil {
			return err
		}
	}
	parts, err := c.references(name, param, t)
	if err != nil {
		return err
	}
	if parts == nil {
		parts = []string{rule}
	}
	for _, part := range parts {
		for _, value := range samples(t) {
			if err := c.try(value, part); err != nil {
				if t.Kind() == reflect.Interface {
					return errorf("the rule does not apply to every JSON value; give the field a type")
				}
				return errorf("the rule does not apply to %v: %v", c.level, err)
			}
		}
	}
	return nil
}

// breaksRule returns an error if a value, or an element of it, breaks a rule of its tag that is
// about the value alone.
func breaksRule(tag string, value any) error {
	inside := "" // the rules of its elements
	for _, token := range strings.Split(tag, ",") {
		name, _, _ := strings.Cut(token, "=")
		switch {
		case token == "", token == skipTag, readsFields(name), token == "required":
		case inside != "" || token == "dive":
			inside += "," + token
		case sharedValidator().Var(value, token) != nil:
			return errorf("it breaks the rule %s", token)
		}
	}
	if inside == "" {
		return nil
	}
	if elem, _ := elements(reflect.TypeOf(value)); !validated(elem) && sharedValidator().Var(value, inside[1:]) != nil {
		return errorf("it breaks a rule of %s", inside[1:])
	}
	return nil
}

// try applies a rule to a value, and returns what the validator panics with.
func (c *ruleCheck) try(value any, rule string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errorf("%v", p)
		}
	}()
	for _, parent := range c.parents {
		_ = sharedValidator().VarWithValue(value, parent.Interface(), rule)
	}
	return nil
}

// ruleOfAnyType lists rules that are not only about strings, in addition to the rules of isBound.
const ruleOfAnyType = "unique port json latitude longitude luhn_checksum country_code eu_country_code " +
	"iso3166_1_alpha_numeric iso3166_1_alpha_numeric_eu iso4217_numeric"

// applies reports whether a rule can be about values other than strings, if t is another type. For
// most rules the validator compares the text "<T Value>" then.
func applies(rule string, t reflect.Type) bool {
	kind := t.Kind()
	if kind == reflect.String || kind == reflect.Interface || readsFields(rule) {
		return true
	}
	stringer := (strings.HasPrefix(rule, "uuid") || rule == "ulid") && t.Implements(reflect.TypeFor[fmt.Stringer]())
	if kind == reflect.Struct && !t.ConvertibleTo(timeType) {
		return stringer
	}
	switch rule {
	case "number", "numeric":
		return isNumeric(t)
	case "boolean":
		return kind == reflect.Bool
	}
	return stringer || isBound(rule) || hasWord(ruleOfAnyType, rule) // or it panics, which try finds
}

// unique checks that the values to compare can be compared. plain means that the schema has a
// keyword for the rule, so the validator does not see it.
func (c *ruleCheck) unique(t reflect.Type, param string) (plain bool, err error) {
	elem := t
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		elem = pointee(t.Elem())
	default:
		return false, nil // about another field: see references
	}
	if param != "" {
		f, ok := fieldByName(elem, param)
		if !ok {
			return false, errorf("%v has no field %s", elem, param)
		}
		elem = pointee(f.Type)
	}
	plain = t.Kind() != reflect.Map && param == ""
	nillable := t.Elem().Kind() == reflect.Pointer && t.Elem().Implements(jsonUnmarshaler)
	if !elem.Comparable() || !plain && (nillable || !alwaysComparable(elem)) {
		return plain, errorf("values of type %v cannot be compared", elem)
	}
	return plain, nil
}

// alwaysComparable reports whether no comparison of two values of type t panics.
func alwaysComparable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface:
		return false
	case reflect.Array:
		return alwaysComparable(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !alwaysComparable(t.Field(i).Type) {
				return false
			}
		}
	}
	return t.Comparable()
}

// readsFields reports whether a rule is about other fields. Such a rule has a meaning for an absent
// field, and for fields of any type.
func readsFields(rule string) bool {
	return comparesFields(rule) || readsPresence(rule)
}

// comparesFields reports whether a rule compares a value with another field.
func comparesFields(rule string) bool {
	return strings.HasSuffix(rule, "field") || strings.HasPrefix(rule, "field")
}

// readsPresence reports whether a rule is about whether fields are there.
func readsPresence(rule string) bool {
	return strings.HasPrefix(rule, "required_") || strings.HasPrefix(rule, "excluded_") || rule == "skip_unless"
}

// references checks the fields that a rule names. If it names several with a value each, it returns
// a rule for each of them, because the validator does not look at all.
func (c *ruleCheck) references(name, param string, t reflect.Type) (parts []string, err error) {
	words := oneOfValue.FindAllString(param, -1)
	switch {
	case hasPairs(name):
		if len(words) == 0 || len(words)%2 != 0 {
			return nil, errorf("it needs pairs of a field and a value")
		}
		for i := 0; i < len(words); i += 2 {
			if _, err := resolve(c.parents[0].Type(), words[i]); err != nil {
				return nil, err
			}
			parts = append(parts, name+"="+words[i]+" "+words[i+1])
		}
		return parts, nil
	case readsPresence(name):
		if len(words) == 0 {
			return nil, errorf("it needs a field")
		}
		if len(words) > 1 && (name == "required_without" || name == "excluded_without") {
			return nil, errorf("it takes one field; see %s_all for several", name)
		}
		for _, word := range words {
			if _, err := resolve(c.parents[0].Type(), word); err != nil {
				return nil, err
			}
		}
	case comparesFields(name), name == "unique" && !isCollection(t):
		other, err := resolve(c.parents[0].Type(), param)
		if err != nil {
			return nil, err
		}
		if other != nil && !comparable(name, t, pointee(other)) {
			return nil, errorf("it does not compare %v with %v", c.level, other)
		}
	}
	return nil, nil
}

func isCollection(t reflect.Type) bool {
	return t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map
}

// comparable reports whether a rule can compare values of two types.
func comparable(rule string, a, b reflect.Type) bool {
	kind := a.Kind()
	if kind != b.Kind() {
		return false
	}
	equality := strings.HasPrefix(rule, "eq") || strings.HasPrefix(rule, "ne") || rule == "unique"
	switch {
	case rule == "postcode_iso3166_alpha2_field", strings.HasPrefix(rule, "field"):
		return kind == reflect.String
	case kind == reflect.String, isNumeric(a):
		return true
	case kind == reflect.Bool:
		return equality
	case kind == reflect.Struct:
		return a.ConvertibleTo(timeType) && b.ConvertibleTo(timeType)
	}
	return isCollection(a) && (equality || strings.HasSuffix(rule, "csfield"))
}

// resolve returns the type of the field that a rule names, from a struct: Field, or Field.Inner. It
// is nil for paths with an index.
func resolve(t reflect.Type, path string) (reflect.Type, error) {
	if strings.Contains(path, "[") {
		return nil, nil
	}
	for _, name := range strings.Split(path, ".") {
		f, ok := fieldByName(pointee(t), name)
		if !ok || !f.IsExported() {
			return nil, errorf("%v has no field %s (rules use the names of Go fields)", t, name)
		}
		t = f.Type
	}
	return t, nil
}

// samples returns values of a type for rules to be tried on. Those of an interface are all that
// JSON has.
func samples(t reflect.Type) []any {
	switch {
	case t.Kind() == reflect.Interface:
		return []any{"", "a", 1.5, true, []any{"a"}, map[string]any{"a": "a"}}
	case t.Kind() == reflect.Struct && !t.ConvertibleTo(timeType): // to which the validator applies rules only in another struct
		return []any{"", "a"}
	}
	return []any{reflect.Zero(t).Interface(), sample(t, 0).Interface()}
}

// sample returns a value of a type in which pointers are not nil, and lists and maps not empty.
func sample(t reflect.Type, depth int) reflect.Value {
	v := reflect.New(t).Elem()
	if depth > 3 {
		return v
	}
	switch t.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(sample(t.Elem(), depth+1))
	case reflect.String:
		v.SetString("a")
	case reflect.Slice:
		v.Set(reflect.Append(v, sample(t.Elem(), depth+1)))
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(reflect.Zero(t.Key()), sample(t.Elem(), depth+1))
	case reflect.Struct:
		for i := range t.NumField() {
			if f := v.Field(i); f.CanSet() {
				f.Set(sample(f.Type(), depth+1))
			}
		}
	}
	return v
}
