// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// field is a field of a JSON object as encoding/json sees it. Embedded structs are flattened. If
// several fields have the same name, only the one that encoding/json would fill counts.
type field struct {
	reflect.StructField
	owner     reflect.Type // the struct that declares the field
	name      string       // in JSON
	tagged    bool         // name comes from the json tag
	index     []int        // path through embedded structs
	omittable bool         // omitempty or omitzero
	quoted    bool         // the ,string option applies
}

// jsonFields returns the fields of the struct type t in declaration order. encoding/json silently
// ignores fields of the same name if none of them has precedence, so these are an error. So are
// rules of a field that another one hides: there would never be a value to check.
func jsonFields(t reflect.Type) ([]*field, error) {
	var all []*field
	err := collectFields(t, nil, nil, &all)
	var kept []*field
	for _, f := range all {
		winner, twin := dominant(all, f.name)
		switch {
		case twin == f:
			err = also(err, errorf("the fields %s and %s have the same JSON name %q, so encoding/json ignores both; rename one of them",
				winner.goPath(t), twin.goPath(t), f.name))
		case winner == f:
			kept = append(kept, f)
		case ruled(f.Tag.Get("validate")):
			err = also(err, within(f.goPath(t), errorf("the field %s has the same JSON name %q and hides it, so its validate tag cannot apply",
				winner.goPath(t), f.name)))
		}
	}
	return kept, err
}

// goPath returns the path from the struct t to the field, in Go names.
func (f *field) goPath(t reflect.Type) string {
	var steps []string
	for _, i := range f.index {
		sf := pointee(t).Field(i)
		steps, t = append(steps, sf.Name), sf.Type
	}
	return strings.Join(steps, ".")
}

// ruled reports whether a validate tag has a rule.
func ruled(tag string) bool { return tag != "" && tag != "-" }

// collectFields appends the fields of t, and of the structs embedded in it, in declaration order.
// open holds the embedded types that led to t, because a struct that embeds itself adds no fields.
func collectFields(t reflect.Type, open []reflect.Type, index []int, all *[]*field) (wrong error) {
	if slices.Contains(open, t) {
		return nil
	}
	open = append(slices.Clip(open), t)
	for i := range t.NumField() {
		sf := t.Field(i)
		elem := sf.Type
		if elem.Name() == "" && elem.Kind() == reflect.Pointer {
			elem = elem.Elem()
		}
		if !sf.IsExported() && (!sf.Anonymous || elem.Kind() != reflect.Struct) {
			continue
		}
		tag := sf.Tag.Get("json")
		if tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if !validName(name) {
			name = ""
		}
		at := append(slices.Clip(index), i)
		if !sf.IsExported() && sf.Type.Kind() == reflect.Pointer {
			wrong = also(wrong, within(sf.Name, errorf("encoding/json cannot fill an embedded pointer to an unexported struct")))
		}
		if sf.Anonymous && name == "" && elem.Kind() == reflect.Struct {
			wrong = also(wrong, within(sf.Name, checkEmbedded(sf)))
			wrong = also(wrong, collectFields(elem, open, at, all))
			continue
		}
		f := &field{StructField: sf, owner: t, name: name, tagged: name != "", index: at}
		if f.name == "" {
			f.name = sf.Name
		}
		for _, option := range strings.Split(options, ",") {
			switch option {
			case "omitempty", "omitzero":
				f.omittable = true
			case "string":
				kind := elem.Kind()
				f.quoted = kind > 0 && kind <= reflect.Float64 && kind != reflect.Uintptr || kind == reflect.String
			default: // options of other libraries are left alone
				if strings.HasPrefix(strings.TrimSpace(option), "omit") {
					unknown := errorf("the json option %q is unknown", option)
					wrong = also(wrong, within(sf.Name, unknown))
				}
			}
		}
		*all = append(*all, f)
	}
	return wrong
}

// checkEmbedded reports tags of an embedded struct that would be ignored.
func checkEmbedded(f reflect.StructField) error {
	wrong := checkTags(&field{StructField: f})
	for _, tag := range [...]string{
		"description", "jsonschema", "jsonschema_description", "enum", "default",
	} {
		if f.Tag.Get(tag) != "" {
			wrong = also(wrong, errorf("the tag %s has no effect; use %s", tag, "it on a field"))
		}
	}
	return wrong
}

// dominant returns the field that a name refers to: the least deeply embedded one, then the tagged
// one. If another field is equal in both, it is the twin, and the name refers to neither.
func dominant(all []*field, name string) (best, twin *field) {
	for _, f := range all {
		switch {
		case f.name != name:
		case best == nil || f.rank() < best.rank():
			best, twin = f, nil
		case f.rank() == best.rank():
			twin = f
		}
	}
	return best, twin
}

// rank is lower for fields that hide others of the same name.
func (f *field) rank() int {
	depth := 2 * len(f.index)
	if f.tagged {
		depth--
	}
	return depth
}

// validName reports whether encoding/json accepts the name of a json tag.
func validName(name string) bool {
	if name == "" {
		return false
	}
	for _, c := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return false
		}
	}
	return true
}
