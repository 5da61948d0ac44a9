// SPDX-License-Identifier: Apache-2.0

package unstable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// rule is what the tags of a field say.
type rule struct {
	name                    string // on the wire
	required, lenient, skip bool
}

func ruleOf(f *reflect.StructField) rule {
	tag := f.Tag.Get("acp")
	return rule{f.Tag.Get("json"), strings.Contains(tag, "required"), strings.Contains(tag, "lenient"), strings.Contains(tag, "skip")}
}

// marshalStruct encodes the struct that v points to.
func marshalStruct(v any) ([]byte, error) {
	s := reflect.ValueOf(v).Elem()
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range s.NumField() {
		f, field := s.Type().Field(i), s.Field(i)
		r := ruleOf(&f)
		if !r.required && field.IsZero() {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:", r.name)
		if field.Kind() == reflect.Slice && field.IsNil() && field.Type() != reflect.TypeFor[json.RawMessage]() {
			b.WriteString("[]")
			continue
		}
		data, err := json.Marshal(field.Interface())
		if err != nil {
			return nil, err
		}
		b.Write(data)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// unmarshalStruct decodes into the struct that v points to.
func unmarshalStruct(data []byte, v any) error {
	var members map[string]json.RawMessage
	s := reflect.ValueOf(v).Elem()
	what := s.Type().Name()
	if err := json.Unmarshal(data, &members); err != nil || members == nil {
		return fmt.Errorf("unstable: %s: it is not an object", what)
	}
	s.SetZero()
	for i := range s.NumField() {
		f := s.Type().Field(i)
		r := ruleOf(&f)
		raw, ok := members[r.name]
		null := ok && string(raw) == "null"
		isRaw := f.Type == reflect.TypeFor[json.RawMessage]()
		switch {
		case !ok && r.required:
			return fmt.Errorf("unstable: %s: required field %q is missing", what, r.name)
		case !ok, null && !isRaw && (!r.required || f.Type.Kind() == reflect.Slice):
			continue
		}
		if err := decodeField(raw, s.Field(i), r); err != nil {
			if r.lenient {
				s.Field(i).SetZero()
				continue
			}
			return fmt.Errorf("unstable: %s.%s: %w", what, r.name, err)
		}
	}
	return nil
}

func decodeField(raw json.RawMessage, field reflect.Value, r rule) error {
	if !r.skip || field.Kind() != reflect.Slice {
		if field.Kind() != reflect.Pointer && string(raw) == "null" && field.Type() != reflect.TypeFor[json.RawMessage]() {
			return errors.New("it is null")
		}
		return json.Unmarshal(raw, field.Addr().Interface())
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	kept := reflect.MakeSlice(field.Type(), 0, len(list))
	for _, e := range list {
		elem := reflect.New(field.Type().Elem())
		if json.Unmarshal(e, elem.Interface()) == nil {
			kept = reflect.Append(kept, elem.Elem())
		}
	}
	field.Set(kept)
	return nil
}

// marshalUnion encodes the union that v points to: its only variant, with the tag.
func marshalUnion(tag string, v any) ([]byte, error) {
	s := reflect.ValueOf(v).Elem()
	var set []int
	for i := range s.NumField() {
		if !s.Field(i).IsNil() {
			set = append(set, i)
		}
	}
	if len(set) != 1 {
		return nil, fmt.Errorf("unstable: %s: %d variants are set, want one", s.Type().Name(), len(set))
	}
	if raw, ok := s.Field(set[0]).Interface().(json.RawMessage); ok {
		return raw, nil
	}
	data, err := json.Marshal(s.Field(set[0]).Interface())
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf("{%q:%q", tag, s.Type().Field(set[0]).Tag.Get("acp"))
	if string(data) != "{}" {
		head += ","
	}
	return append([]byte(head), data[1:]...), nil
}

// unmarshalUnion decodes into the union that v points to. A variant that it does not have becomes Unknown.
func unmarshalUnion(tag string, data []byte, v any) error {
	s := reflect.ValueOf(v).Elem()
	var members map[string]json.RawMessage
	var variant string
	if json.Unmarshal(data, &members) != nil || json.Unmarshal(members[tag], &variant) != nil {
		return fmt.Errorf("unstable: %s: required field %q is missing", s.Type().Name(), tag)
	}
	s.SetZero()
	for i := range s.NumField() {
		if f := s.Type().Field(i); f.Tag.Get("acp") == variant && variant != "" {
			value := reflect.New(f.Type.Elem())
			if err := json.Unmarshal(data, value.Interface()); err != nil {
				return err
			}
			s.Field(i).Set(value)
			return nil
		}
	}
	s.FieldByName("Unknown").SetBytes(bytes.Clone(data))
	return nil
}
