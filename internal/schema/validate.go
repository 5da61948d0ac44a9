// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/go-playground/validator/v10"
)

// validation runs the validate tags of a type.
type validation struct {
	goType   reflect.Type
	validate *validator.Validate
	dive     string // the tag that leads to the structs in a type that is not a struct
	maps     bool   // there is a map on the way to a rule, so errors come in random order
}

// sharedValidator is used for all types except those that need their own rules.
var sharedValidator = sync.OnceValue(newValidator)

func newValidator() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(jsonName)
	return v
}

// jsonName returns the name of a field in JSON.
func jsonName(f reflect.StructField) string {
	tag := f.Tag.Get("json")
	name, _, _ := strings.Cut(tag, ",")
	switch {
	case tag != "-" && validName(name):
		return name
	case f.Anonymous && pointee(f.Type).Kind() == reflect.Struct:
		return flattened
	}
	return f.Name
}

// newValidation returns nil if t contains no validate tags. It reports tags that the validator
// cannot read, and fills the validator's cache for all structs in t.
func newValidation(t reflect.Type, fields map[reflect.Type]map[string]presence) (*validation, error) {
	s := newSurvey(t, fields)
	elem, dives := elements(t)
	if !s.ruled[elem] {
		return nil, nil
	}
	v := &validation{goType: t, validate: sharedValidator(), maps: s.maps}
	if dives > 0 {
		v.dive = diveTags(dives)
	}
	added := map[reflect.Type]map[string]string{}
	for _, st := range s.structs {
		if rules := s.rules(st); rules != nil {
			added[st] = rules
		}
	}
	if len(added) > 0 {
		v.validate = newValidator()
		for st, rules := range added {
			v.validate.RegisterStructValidationMapRules(rules, reflect.New(st).Interface())
		}
	}
	for _, st := range s.structs {
		if err := v.prepare(st); err != nil {
			return nil, err
		}
		if s.fields[st] != nil {
			continue // which the builder has checked
		}
		for _, f := range s.validatedFields(st) {
			if err := checkRules(st, f); err != nil {
				return nil, within(st.String()+"."+f.Name, err)
			}
		}
	}
	return v, nil
}

// prepare makes the validator parse the tags of a struct without applying them.
func (v *validation) prepare(st reflect.Type) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("validate tags of %v: %v", st, p)
		}
	}()
	return v.validate.StructPartial(reflect.New(st).Interface())
}

// survey holds the structs that a type contains, and which of them contain rules.
type survey struct {
	structs []reflect.Type
	ruled   map[reflect.Type]bool
	maps    bool
	fields  map[reflect.Type]map[string]presence // as in the builder
}

func newSurvey(t reflect.Type, fields map[reflect.Type]map[string]presence) *survey {
	s := &survey{ruled: map[reflect.Type]bool{}, fields: fields}
	s.collect(t)
	for changed := true; changed; { // types may contain each other
		changed = false
		for _, st := range s.structs {
			for _, f := range s.validatedFields(st) {
				if elem, _ := elements(f.Type); s.ruled[elem] && !s.ruled[st] {
					s.ruled[st], changed = true, true
				}
			}
		}
	}
	return s
}

func (s *survey) collect(t reflect.Type) {
	st, _ := elements(t)
	s.maps = s.maps || containsMap(t)
	if _, ok := s.ruled[st]; ok || !validated(st) {
		return
	}
	s.ruled[st] = false
	s.structs = append(s.structs, st)
	for _, f := range s.validatedFields(st) {
		if tag := f.Tag.Get("validate"); withoutPresence(f.Type, tag) != "" {
			s.ruled[st] = true
		}
		s.collect(f.Type)
	}
}

// validatedFields are the fields of a struct that the validator looks at.
func (s *survey) validatedFields(st reflect.Type) []*reflect.StructField {
	var fields []*reflect.StructField
	for i := range st.NumField() {
		f := st.Field(i)
		if (f.IsExported() || f.Anonymous) && f.Tag.Get("validate") != skipTag && s.fillable(st, &f) {
			fields = append(fields, &f)
		}
	}
	return fields
}

// skipTag makes the validator skip a field.
const skipTag = "-"

// fillable reports whether JSON can fill a field, or the fields of an embedded struct.
func (s *survey) fillable(st reflect.Type, f *reflect.StructField) bool {
	known, ok := s.fields[st]
	if !ok || isFlattened(f) {
		return true
	}
	_, ok = known[f.Name]
	return ok
}

// isFlattened reports whether the fields of an embedded struct take the place of the field.
func isFlattened(f *reflect.StructField) bool {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return f.Anonymous && !validName(name) && pointee(f.Type).Kind() == reflect.Struct && f.Tag.Get("json") != "-"
}

// rules returns the rules that replace the tags of st, by field name, or nil if the tags apply.
func (s *survey) rules(st reflect.Type) map[string]string {
	rules := map[string]string{}
	for i := range st.NumField() {
		if f := st.Field(i); !s.fillable(st, &f) {
			rules[f.Name] = skipTag
		}
	}
	for _, f := range s.validatedFields(st) {
		tag := f.Tag.Get("validate")
		rule := withoutPresence(f.Type, tag)
		switch p, ok := s.fields[st][f.Name]; {
		case isFlattened(f):
			rule = strings.ReplaceAll(","+tag+",", ",required,", ",")
			rule = strings.Trim(rule, ",")
		case ok && p.optional:
			rule = forOptional(rule, p.nonZero || nilable(f.Type))
		}
		if rule = s.withDives(f.Type, rule); rule != tag {
			rules[f.Name] = rule
		}
	}
	if len(rules) == 0 {
		return nil
	}
	return rules
}

// forOptional returns the tag of a field that may be absent. Rules that are about absent fields
// come first, because the validator stops at the first rule that a value breaks. If zero is set,
// the zero value means an absent field, and the others apply to other values only. Otherwise see
// [validation.check].
func forOptional(tag string, zero bool) string {
	first, rest := "", ""
	for tag != "" {
		token, after, _ := strings.Cut(tag, ",")
		name, _, _ := strings.Cut(token, "=")
		switch {
		case strings.HasPrefix(token, "omit"):
			zero = false // which it says itself
			fallthrough
		case token == "dive":
			rest, after = rest+","+tag, ""
		case readsPresence(name):
			first += "," + token
		default:
			rest += "," + token
		}
		tag = after
	}
	if zero && rest != "" {
		first += ",omitempty"
	}
	return strings.TrimPrefix(first+rest, ",")
}

// nilable reports whether values of type t can be nil, which means absent.
func nilable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		return true
	}
	return false
}

// withDives returns the tag with which the validator reaches structs in slices and maps. Without
// "dive" in the tag it would skip them, although the schema promises to check them.
func (s *survey) withDives(t reflect.Type, tag string) string {
	elem, dives := elements(t)
	if dives == 0 || !s.ruled[elem] || slices.Contains(strings.Split(tag, ","), "dive") {
		return tag
	}
	if tag == "" && t.Kind() == reflect.Pointer {
		tag = "omitempty"
	}
	if tag != "" {
		tag += ","
	}
	return tag + diveTags(dives)
}

// diveTags returns the tag that leads through so many slices and maps.
func diveTags(n int) string { return "dive,dive,dive,dive,dive,dive,dive,dive"[:5*n-1] }

// withoutPresence returns the tag of a value of type t without what the walk over the text has
// checked: "unique" for lists, and "required", if that would reject a zero value that is present.
// The walk over the text has already checked presence. The validator sees only the decoded value
// and cannot distinguish zero from missing.
func withoutPresence(t reflect.Type, tag string) string {
	var kept []string
	keys := false
	for _, token := range strings.Split(tag, ",") {
		switch token {
		case "required":
			if !keys && zeroIsValue(t) {
				continue
			}
		case "unique":
			if t := pointee(t); !keys && isCollection(t) && t.Kind() != reflect.Map && !isBytes(t) {
				continue
			}
		case "keys", "endkeys":
			keys = token == "keys"
		case "dive":
			if inner := pointee(t); inner.Kind() == reflect.Slice || inner.Kind() == reflect.Array || inner.Kind() == reflect.Map {
				t = inner.Elem()
			}
		}
		kept = append(kept, token)
	}
	return strings.Join(kept, ",")
}

// zeroIsValue reports whether the zero value of t is a valid value for a required field. An empty
// string is not, and nil means null.
func zeroIsValue(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		return false
	}
	return true
}

// maxDives limits how deeply slices and maps are nested directly in each other. Types may be
// recursive.
const maxDives = 8

// elements follows pointers, slices and maps, and returns the type they lead to and the number of
// slices and maps on the way.
func elements(t reflect.Type) (elem reflect.Type, dives int) {
	for t = pointee(t); dives < maxDives; t = pointee(t.Elem()) {
		switch t.Kind() {
		case reflect.Slice, reflect.Array, reflect.Map:
			dives++
		default:
			return t, dives
		}
	}
	return t, dives
}

// containsMap reports whether there is a map on the way that elements follows.
func containsMap(t reflect.Type) bool {
	for range maxDives {
		switch t = pointee(t); t.Kind() {
		case reflect.Map:
			return true
		case reflect.Slice, reflect.Array:
			t = t.Elem()
		default:
			return false
		}
	}
	return false
}

// validated reports whether the validator descends into values of type t.
func validated(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !t.ConvertibleTo(timeType)
}

// check returns the problems that the validator finds in the value dst points to, which was decoded
// from text. Rules of a field that is absent, or null where the schema allows it, do not apply,
// except those that are about absent fields. Nor do comparisons with such a field.
func (v *validation) check(dst any, prefix string, root *node, text []byte) (problems []Problem) {
	value := reflect.ValueOf(dst)
	for value.Elem().Kind() == reflect.Pointer {
		value, dst = value.Elem(), value.Elem().Interface()
	}
	var err error
	if v.dive != "" {
		err = v.validate.Var(dst, v.dive)
	} else {
		err = v.validate.Struct(dst)
	}
	// Another error says that there is no value. Struct and Var do not wrap theirs.
	findings, _ := err.(validator.ValidationErrors) //nolint:errorlint // see above
	var sent any                                    // decoded when it is needed
	find := func(path string) whereabouts {
		if sent == nil {
			sent = exactValue(text)
		}
		return root.find(sent, path)
	}
	for _, f := range findings {
		p, place := v.problem(f, prefix), here
		if value := reflect.ValueOf(f.Value()); !value.IsValid() || value.IsZero() {
			place = find(p.Path)
		}
		if place == here && comparesFields(f.Tag()) {
			place = find(v.compared(f, p.Path))
		}
		if place == here || place == absent && (strings.HasPrefix(f.Tag(), "required") || f.Tag() == "skip_unless") {
			problems = append(problems, p)
		}
	}
	if v.maps {
		sort.Stable(byPath(problems))
	}
	return problems
}

// byPath sorts problems by path. Package slices would add 8 kB to every program.
type byPath []Problem

func (p byPath) Len() int           { return len(p) }
func (p byPath) Less(i, j int) bool { return p[i].Path < p[j].Path }
func (p byPath) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }

// flattened is the name of an embedded struct in the validator's paths. It is not part of the JSON
// path.
const flattened = "\x00"
