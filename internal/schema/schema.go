package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/invopop/jsonschema"
)

// Type is the schema of a Go type, and the strict decoder that goes with it. It is immutable.
type Type struct {
	goType  reflect.Type
	json    json.RawMessage
	wrapped bool
}

// For returns the schema of t, made once per type. A pointer type stands for what it points to.
func For(t reflect.Type) (*Type, error) {
	s := (&jsonschema.Reflector{Anonymous: true, DoNotReference: true}).ReflectFromType(t)
	s.Version = ""
	ty := &Type{goType: t}
	if s.Type != "object" {
		ty.wrapped = true
		p := jsonschema.NewProperties()
		p.Set("value", s)
		s = &jsonschema.Schema{Type: "object", Properties: p, Required: []string{"value"}, AdditionalProperties: jsonschema.FalseSchema}
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("schema: %v: %w", t, err)
	}
	ty.json = text
	return ty, nil
}

// JSON is the schema: always of an object, in the same bytes every time. It must not be modified.
func (t *Type) JSON() json.RawMessage { return t.json }

// Wrapped reports whether the type is no JSON object of its own, so that its schema is that of an
// object with the type as its one field, "value". Decode unwraps it.
func (t *Type) Wrapped() bool { return t.wrapped }

// Name is the name of the Go type, in characters that providers accept in the name of a tool. It is
// empty for a type without a name.
func (t *Type) Name() string { return t.goType.Name() }

// Decode checks raw against the schema, decodes it into dst, a pointer to the Go type, and validates
// the result. Empty or blank raw, and null, stand for {}. The error is an [*Error] if the author of
// raw can mend it. After an error the contents of dst are undefined.
func (t *Type) Decode(raw []byte, dst any) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = []byte("{}")
	}
	if t.wrapped {
		var w struct {
			Value json.RawMessage `json:"value"`
		}
		if err := json.Unmarshal(raw, &w); err != nil {
			return &Error{Problems: []Problem{{Rule: RuleSyntax, Message: err.Error()}}}
		}
		raw = w.Value
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(dst); err != nil {
		return &Error{Problems: []Problem{{Rule: RuleDecode, Message: err.Error()}}}
	}
	return nil
}
