// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"encoding/json"
	"reflect"
)

// Marshal returns the JSON of a type of this package or of package unstable, on one line, as a
// connection sends it. v is the value or a pointer to it. Other values are encoded as by
// [encoding/json.Marshal].
func Marshal(v any) ([]byte, error) {
	if ofProtocol(v) {
		return marshalJSON(v)
	}
	if t := reflect.TypeOf(v); t != nil && t.Kind() != reflect.Pointer {
		p := reflect.New(t)
		if p.Elem().Set(reflect.ValueOf(v)); ofProtocol(p.Interface()) {
			return marshalJSON(p.Interface())
		}
	}
	return json.Marshal(v)
}

// Unmarshal decodes JSON into the type of this package or of package unstable that v points to, as
// a connection does: it fails with a [DecodeError] if a required member is missing or does not
// decode, and drops optional ones that do not decode. Other values are decoded as by
// [encoding/json.Unmarshal].
func Unmarshal(data []byte, v any) error {
	if ofProtocol(v) {
		return unmarshalJSON(data, v)
	}
	return json.Unmarshal(data, v)
}

// ofProtocol reports whether p points to a value of the protocol. Those are the types with their
// own codec, and the structs whose fields all have the tags that make a [shape].
func ofProtocol(p any) bool {
	if _, ok := p.(ownCodec); ok {
		return !reflect.ValueOf(p).IsNil()
	}
	v := reflect.ValueOf(p)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return false
	}
	t := v.Type().Elem()
	if path := t.PkgPath(); path != acpPath && path != acpPath+"/unstable" {
		return false
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.Tag == "" && f.Type != rawType {
			return false
		}
	}
	return true
}

// acpPath is the import path of this package.
var acpPath = reflect.TypeFor[shape]().PkgPath()
