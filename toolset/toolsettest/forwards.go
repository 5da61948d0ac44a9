// SPDX-License-Identifier: Apache-2.0

package toolsettest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/ponte-go/ponte/toolset"
)

// Rules about what agent.New asks before a run.

// forwards finds toolsets inside whose optional interfaces the toolset hides.
func (s *suite[D]) forwards(context.Context) error {
	set := s.make()
	_, checks := set.(toolset.Checker)
	_, fixed := set.(toolset.Fixed[D])
	var errs []error
	inside(reflect.ValueOf(set), reflect.TypeFor[toolset.Toolset[D]](), func(field string, t reflect.Type) {
		hides := func(what string) {
			errs = append(errs, fmt.Errorf("%T hides from agent.New that its %s, a %v, is a %s: embed toolset.Base", set, field, t, what))
		}
		if !checks && t.Implements(reflect.TypeFor[toolset.Checker]()) {
			hides("toolset.Checker")
		}
		if !fixed && t.Implements(reflect.TypeFor[toolset.Fixed[D]]()) {
			hides("toolset.Fixed")
		}
	})
	return errors.Join(errs...)
}

// inside calls found for the toolsets that a value has in its fields, and in what these hold:
// structs, slices, arrays and maps, and pointers to structs of the package of the outermost
// toolset. Those of other packages have toolsets of their own, as an agent has.
func inside(v reflect.Value, toolsets reflect.Type, found func(field string, t reflect.Type)) {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return
	}
	home, seen := v.Type().PkgPath(), map[uintptr]bool{}
	var look func(name string, v reflect.Value)
	fields := func(v reflect.Value) {
		for i := range v.NumField() {
			look(v.Type().Field(i).Name, v.Field(i))
		}
	}
	look = func(name string, v reflect.Value) {
		kind := v.Kind()
		switch nilable := kind == reflect.Interface || kind == reflect.Pointer; {
		case nilable && v.IsNil():
		case kind == reflect.Interface && v.Type().Implements(toolsets):
			found(name, v.Elem().Type())
		case v.Type().Implements(toolsets):
			found(name, v.Type())
		case kind == reflect.Pointer && v.Type().Elem().PkgPath() == home && !seen[v.Pointer()]:
			seen[v.Pointer()] = true
			look(name, v.Elem())
		case kind == reflect.Struct:
			fields(v)
		case kind == reflect.Slice || kind == reflect.Array:
			for i := range v.Len() {
				look(fmt.Sprintf("%s[%d]", name, i), v.Index(i))
			}
		case kind == reflect.Map:
			for _, key := range v.MapKeys() {
				look(fmt.Sprintf("%s[%v]", name, key), v.MapIndex(key))
			}
		}
	}
	fields(v)
}

// fixed checks that every run has the tools that agent.New is told.
func (s *suite[D]) fixed(ctx context.Context) error {
	fixed, ok := s.make().(toolset.Fixed[D])
	if !ok {
		return nil
	}
	tools := fixed.FixedTools()
	return s.within(ctx, func(_ *session[D], l toolset.Listing[D]) error {
		listed := names(l)
		for _, t := range tools {
			switch {
			case t == nil:
				return errors.New("FixedTools has a tool that is nil")
			case t.Yield == nil && !slices.Contains(listed, t.Def.Name):
				return fmt.Errorf("FixedTools has %q, which is not listed: the tools are %v", t.Def.Name, listed)
			}
			for _, l := range l.Tools {
				if t.Def.Name == l.Def.Name && t.InMemory != l.InMemory {
					return fmt.Errorf("tool %q: FixedTools has InMemory %q, the listing %q",
						t.Def.Name, t.InMemory, l.InMemory)
				}
			}
		}
		return nil
	})
}
