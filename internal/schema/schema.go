// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/ponte-go/ponte/internal/plainjson"
)

// wrapperField is the field that holds a value that is not an object.
const wrapperField = "value"

// wrapperNote tells the model about that field.
const wrapperNote = `Return the result in the field "` + wrapperField + `".`

// Type is the schema of a Go type, with its strict decoder. It is immutable.
type Type struct {
	goType   reflect.Type
	pointer  reflect.Type // to goType
	json     json.RawMessage
	wrapped  bool
	root     *node
	validate *validation // nil if the type has no rules for the validator
	direct   []int       // see directFields
}

var (
	types  sync.Map // reflect.Type to *Type
	making sync.Mutex
)

// For returns the schema of t, made once per type. For a pointer type, it is the schema of the
// element type.
//
// The schema follows encoding/json: json names, embedded structs, types with their own decoding. A
// field is required unless it has omitempty, omitzero or a default. A required pointer may be null.
// The jsonschema tag adds keywords (description, enum, pattern; jsonschema:"-" hides a field from
// the model), and the validate tag adds rules. If a type has no schema, the error names the type
// and the path to the field.
func For(t reflect.Type) (*Type, error) {
	if made, ok := types.Load(t); ok {
		return made.(*Type), nil
	}
	if t == nil {
		return nil, errors.New("schema: the type is nil")
	}
	base := pointee(t)
	made, err := (*Type)(nil), error(nil)
	making.Lock() // so that no type is made twice
	if known, ok := types.Load(base); ok {
		made = known.(*Type)
	} else {
		made, err = newType(base)
	}
	if err == nil {
		types.Store(base, made)
		types.Store(t, made)
	}
	making.Unlock()
	if err != nil {
		return nil, fmt.Errorf("schema: %v: %w", t, err)
	}
	return made, nil
}

func newType(t reflect.Type) (made *Type, err error) {
	defer func() {
		if p := recover(); p != nil { // from JSONSchema methods
			err = fmt.Errorf("panic while making the schema: %v", p)
		}
	}()
	b := newBuilder()
	doc, wrapped, err := b.build(t)
	if err != nil {
		return nil, err
	}
	text, err := plainjson.Marshal(doc)
	if err != nil {
		return nil, err
	}
	c := b.compiler()
	c.complete = true
	root, err := c.compile(doc)
	if err != nil {
		return nil, err
	}
	if wrapped {
		root.wrapper = true
	}
	validate, err := newValidation(t, b.fields)
	if err != nil {
		return nil, err
	}
	return &Type{
		goType: t, pointer: reflect.PointerTo(t), json: text, wrapped: wrapped, root: root,
		validate: validate, direct: directFields(t, root),
	}, nil
}

// JSON returns the schema, which always describes an object. Its bytes are always the same, and
// must not be modified.
func (t *Type) JSON() json.RawMessage { return t.json }

// Wrapped reports whether the type is not a JSON object with fields. Its schema then describes an
// object whose only field, "value", holds the type. The schema's description names the field, and
// so does the error if the model leaves it out. Decode unwraps it.
func (t *Type) Wrapped() bool { return t.wrapped }

// Name returns the name of the Go type, in characters that providers accept in tool names. It is
// empty for an unnamed type.
func (t *Type) Name() string { return toolName(t.goType) }
