// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// field is a field of a JSON object as encoding/json sees it. Embedded structs are flattened. If several fields have the
// same name, only the one that encoding/json would fill counts.
type field struct {
	reflect.StructField
	name      string // in JSON
	tagged    bool   // name comes from the json tag
	index     []int  // path through embedded structs
	omittable bool   // omitempty or omitzero
	quoted    bool   // the ,string option applies
}

// jsonFields returns the fields of the struct type t in declaration order.
func jsonFields(t reflect.Type) ([]field, error) {
	var all []field
	if err := collectFields(t, nil, nil, &all); err != nil {
		return nil, err
	}
	byName := make(map[string][]field, len(all))
	for _, f := range all {
		byName[f.name] = append(byName[f.name], f)
	}
	kept := all[:0]
	for _, f := range all {
		if winner, ok := dominant(byName[f.name]); ok && slices.Equal(winner.index, f.index) {
			kept = append(kept, f)
		}
	}
	return kept, nil
}

// collectFields appends the fields of t, and of the structs embedded in it, in declaration order. open holds the
// embedded types that led to t, because a struct that embeds itself adds no fields.
func collectFields(t reflect.Type, open []reflect.Type, index []int, all *[]field) error {
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
			return &typeError{path: sf.Name, msg: "encoding/json cannot fill an embedded pointer to an unexported struct"}
		}
		if sf.Anonymous && name == "" && elem.Kind() == reflect.Struct {
			if err := collectFields(elem, open, at, all); err != nil {
				return err
			}
			continue
		}
		f := field{StructField: sf, name: name, tagged: name != "", index: at}
		if f.name == "" {
			f.name = sf.Name
		}
		for option := range strings.SplitSeq(options, ",") {
			switch option {
			case "omitempty", "omitzero":
				f.omittable = true
			case "string":
				f.quoted = quotable(elem.Kind())
			}
		}
		*all = append(*all, f)
	}
	return nil
}

// dominant returns the field that a name refers to: the least deeply embedded one, then the tagged one. If two fields
// are equal in both, the name refers to neither.
func dominant(fields []field) (field, bool) {
	rank := func(a, b field) int {
		if c := cmp.Compare(len(a.index), len(b.index)); c != 0 {
			return c
		}
		switch {
		case a.tagged == b.tagged:
			return 0
		case a.tagged:
			return -1
		}
		return 1
	}
	best := slices.MinFunc(fields, rank)
	ties := 0
	for _, f := range fields {
		if rank(f, best) == 0 {
			ties++
		}
	}
	return best, ties == 1
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

// quotable reports whether the ,string option has an effect on a field of this kind.
func quotable(k reflect.Kind) bool {
	switch k {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	}
	return false
}
