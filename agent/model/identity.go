// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"reflect"
)

// Identifier is implemented by models that know what their responses depend on besides the request
// and [Info].
type Identifier interface {
	// Identity returns a text that differs if the responses to the same request may: because of
	// another address, other default settings, or another wrapper. It is the same in each process,
	// has no secret, and is not meant to be read. Keys do not matter. It is empty if it is not
	// known.
	Identity() string
}

// Identity returns the identity of a model, or "" if it is unknown. It is unknown for a type that
// embeds another package's model and has no Identity method.
func Identity(m Model) string {
	known, ok := m.(Identifier)
	if !ok {
		return ""
	}
	id := known.Identity()
	if id == "" || isEmbedded(reflect.ValueOf(m), id) {
		return ""
	}
	return fmt.Sprintf("%T %s", m, id)
}

var identifier = reflect.TypeFor[Identifier]()

// isEmbedded reports whether id may belong to a model which the value embeds: the value's own
// fields would then not be part of it. Types of one package know each other.
func isEmbedded(v reflect.Value, id string) bool {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return false
	}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.Anonymous || !field.Type.Implements(identifier) && !reflect.PointerTo(field.Type).Implements(identifier) {
			continue
		}
		of := field.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if of.Kind() == reflect.Struct && of.PkgPath() == v.Type().PkgPath() {
			return isEmbedded(v.Field(i), id)
		}
		inner, ok := Identifier(nil), false
		if v.Field(i).CanInterface() {
			inner, ok = v.Field(i).Interface().(Identifier)
		}
		if !ok || inner.Identity() == id {
			return true
		}
	}
	return false
}
