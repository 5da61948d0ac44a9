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

// wrapperField is the field that holds a value that is no object of its own.
const wrapperField = "value"

// wrapperNote tells the model about that field.
const wrapperNote = `Give the result in the field "` + wrapperField + `".`

// Type is the schema of a Go type, and the strict decoder that goes with it. It is immutable.
type Type struct {
	goType   reflect.Type
	pointer  reflect.Type // to goType
	json     json.RawMessage
	wrapped  bool
	root     *node
	validate *validation // nil if the type has no rules for the validator
}

var (
	types  sync.Map // reflect.Type to *Type
	making sync.Mutex
)

// For returns the schema of t, made once per type. A pointer type stands for what it points to.
//
// The schema follows encoding/json's view of the type: json names, embedded structs, types that
// decode themselves. A field is required unless it has omitempty or omitzero; a required pointer may
// be null. The jsonschema tag adds keywords (description, enum, pattern; jsonschema:"-" hides a field
// from the model), the validate tag adds its rules. The error of a type that has no schema names the
// type and the path to the field.
func For(t reflect.Type) (*Type, error) {
	if made, ok := types.Load(t); ok {
		return made.(*Type), nil
	}
	if t == nil {
		return nil, errors.New("schema: the type is nil")
	}
	making.Lock() // so that no type is made twice
	defer making.Unlock()
	base := pointee(t)
	made, ok := types.Load(base)
	if !ok {
		var err error
		if made, err = newType(base); err != nil {
			return nil, fmt.Errorf("schema: %v: %w", t, err)
		}
		types.Store(base, made)
	}
	types.Store(t, made)
	return made.(*Type), nil
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
	c := &compiler{defs: b.defs, leaves: b.leaves, named: map[string]*node{}}
	root, err := c.compile(doc)
	if err != nil {
		return nil, err
	}
	if wrapped {
		root.wrapper = true
	}
	validate, err := newValidation(t)
	if err != nil {
		return nil, err
	}
	return &Type{goType: t, pointer: reflect.PointerTo(t), json: text, wrapped: wrapped, root: root, validate: validate}, nil
}

// JSON is the schema: always of an object, in the same bytes every time. It must not be modified.
func (t *Type) JSON() json.RawMessage { return t.json }

// Wrapped reports whether the type is no JSON object with fields of its own, so that its schema is
// that of an object with the type as its one field, "value". The schema's description names the field, and so does what
// the model is told when it leaves it out. Decode unwraps it.
func (t *Type) Wrapped() bool { return t.wrapped }

// Name is the name of the Go type, in characters that providers accept in the name of a tool. It is
// empty for a type without a name.
func (t *Type) Name() string { return toolName(t.goType) }
