// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"fmt"
	"iter"
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
	v.RegisterTagNameFunc(func(f reflect.StructField) string {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name != "-" && validName(name):
			return name
		case f.Anonymous && pointee(f.Type).Kind() == reflect.Struct:
			return flattened
		}
		return f.Name
	})
	return v
}

// newValidation returns nil if t contains no validate tags. It reports tags that the validator cannot read, and fills
// the validator's cache for all structs in t.
func newValidation(t reflect.Type) (*validation, error) {
	s := newSurvey(t)
	elem, dives := elements(t)
	if !s.ruled[elem] {
		return nil, nil
	}
	v := &validation{goType: t, validate: sharedValidator(), maps: s.maps}
	if dives > 0 {
		v.dive = strings.TrimSuffix(strings.Repeat("dive,", dives), ",")
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
}

func newSurvey(t reflect.Type) *survey {
	s := &survey{ruled: map[reflect.Type]bool{}}
	s.collect(t)
	for changed := true; changed; { // types may contain each other
		changed = false
		for _, st := range s.structs {
			for f := range validatedFields(st) {
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
	for f := range validatedFields(st) {
		if withoutPresence(f.Type, f.Tag.Get("validate")) != "" {
			s.ruled[st] = true
		}
		s.collect(f.Type)
	}
}

// validatedFields are the fields of a struct that the validator looks at.
func validatedFields(st reflect.Type) iter.Seq[reflect.StructField] {
	return func(yield func(reflect.StructField) bool) {
		for i := range st.NumField() {
			f := st.Field(i)
			if (f.IsExported() || f.Anonymous) && f.Tag.Get("validate") != "-" && !yield(f) {
				return
			}
		}
	}
}

// rules returns the rules that replace the tags of st, by field name, or nil if the tags apply.
func (s *survey) rules(st reflect.Type) map[string]string {
	rules := map[string]string{}
	for f := range validatedFields(st) {
		tag := f.Tag.Get("validate")
		if rule := s.withDives(f.Type, withoutPresence(f.Type, tag)); rule != tag {
			rules[f.Name] = rule
		}
	}
	if len(rules) == 0 {
		return nil
	}
	return rules
}

// withDives returns the tag with which the validator reaches structs in slices and maps. Without "dive" in the tag it
// would skip them, although the schema says that they are checked.
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
	return tag + strings.TrimSuffix(strings.Repeat("dive,", dives), ",")
}

// withoutPresence returns the tag of a value of type t without "required", if that would reject a zero value that is
// present. The walk over the text has already checked presence. The validator sees only the decoded value and cannot
// distinguish zero from missing.
func withoutPresence(t reflect.Type, tag string) string {
	if !strings.Contains(tag, "required") {
		return tag
	}
	var kept []string
	keys := false
	for token := range strings.SplitSeq(tag, ",") {
		switch token {
		case "required":
			if !keys && zeroIsValue(t) {
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

// zeroIsValue reports whether the zero value of t is a valid value for a required field. An empty string is not, and nil
// means null.
func zeroIsValue(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		return false
	}
	return true
}

// maxDives limits how deeply slices and maps are nested directly in each other. Types may be recursive.
const maxDives = 8

// elements follows pointers, slices and maps, and returns the type they lead to and the number of slices and maps on
// the way.
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

// check returns the problems that the validator finds in the value dst points to. The error is a mistake in the tags.
func (v *validation) check(dst any, prefix string) ([]Problem, error) {
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
	if err == nil {
		return nil, nil
	}
	var findings validator.ValidationErrors
	if !errors.As(err, &findings) {
		return nil, fmt.Errorf("schema: validating %v: %w", v.goType, err)
	}
	problems := make([]Problem, len(findings))
	for i, f := range findings {
		problems[i] = v.problem(f, prefix)
	}
	if v.maps {
		sort.Stable(byPath(problems))
	}
	return problems, nil
}

// byPath sorts problems by path. Package slices would add 8 kB to every program.
type byPath []Problem

func (p byPath) Len() int           { return len(p) }
func (p byPath) Less(i, j int) bool { return p[i].Path < p[j].Path }
func (p byPath) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }

// flattened is the name of an embedded struct in the validator's paths. It is not part of the JSON path.
const flattened = "\x00"
