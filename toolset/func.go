// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
	"github.com/ponte-go/ponte/internal/schema"
)

// ValidationError lists the problems with the arguments of a tool call, or with an output, field by field.
type ValidationError = schema.Error

// Func returns a tool that calls fn. In must be a struct or a pointer to one. The model sees its JSON schema, and fn is
// called only with arguments that match it. See [Result] for what fn may return.
//
// If In has no schema, [Tool.Err] and agent.New report it.
func Func[D, In, Out any](name, description string, fn func(ctx context.Context, run *RunContext[D], in In) (Out, error), opts ...Option) *Tool[D] {
	t := newTool[D, In](name, description, opts)
	if fn == nil {
		t.err = errors.Join(t.err, errs.Errorf("tool %q: function is nil", name))
		return t
	}
	t.Call = func(ctx context.Context, run *RunContext[D], args any) (Result, error) {
		in, err := argumentsOf[In](args)
		if err != nil {
			return Result{}, err
		}
		return settle(fn(ctx, run, in))
	}
	return t
}

// argumentsOf returns decoded arguments in the form that the function takes. If In is a struct, they were decoded into a
// pointer to it. If In is a pointer, they were decoded into that pointer.
func argumentsOf[In any](args any) (in In, err error) {
	switch v := args.(type) {
	case *In:
		return *v, nil
	case In:
		return v, nil
	}
	want := reflect.TypeFor[In]()
	if want.Kind() == reflect.Struct {
		want = reflect.PointerTo(want)
	}
	return in, errs.Errorf("arguments are %T, want %v", args, want)
}

// Plain returns a tool for a function that does not use the run. D is given explicitly, the other types are inferred:
//
//	toolset.Plain[Deps]("add", "Add two numbers.", add)
func Plain[D, In, Out any](name, description string, fn func(ctx context.Context, in In) (Out, error), opts ...Option) *Tool[D] {
	if fn == nil {
		return Func[D, In, Out](name, description, nil, opts...)
	}
	return Func(name, description, func(ctx context.Context, _ *RunContext[D], in In) (Out, error) { return fn(ctx, in) }, opts...)
}

func newTool[D, In any](name, description string, opts []Option) *Tool[D] {
	t := &Tool[D]{Def: model.ToolDef{Name: name, Description: description}}
	for _, o := range opts {
		o(&t.Options)
	}
	optionsErr := typedOptions[D, In](t)
	defer func() { t.err = errors.Join(t.err, optionsErr) }()
	typ, err := schema.For(reflect.TypeFor[In]())
	switch {
	case err != nil:
		t.err = errs.Errorf("tool %q: arguments: %w", name, err)
		return t
	case typ.Wrapped():
		t.err = errs.Errorf("tool %q: arguments have type %v, must be a struct", name, reflect.TypeFor[In]())
		return t
	}
	t.Def.Schema = typ.JSON()
	t.sound = t.Def.Schema
	pointer := reflect.TypeFor[In]().Kind() == reflect.Pointer
	t.Decode = func(raw []byte) (any, error) {
		in := new(In)
		if err := typ.Decode(raw, in); err != nil {
			return nil, err
		}
		if pointer {
			return *in, nil
		}
		return in, nil
	}
	return t
}

// maxName is the length of a tool's name that every provider accepts.
const maxName = 64

// checkName accepts only names that every provider accepts.
func checkName(name string) error {
	if name == "" || len(name) > maxName {
		return errs.Errorf("tool name %q: must have 1 to 64 characters", name)
	}
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' {
			return errs.Errorf("tool name %q: invalid character %q; use letters, digits, '_' and '-'", name, string(r))
		}
	}
	return nil
}

// Raw returns a tool whose schema is known only at run time. The function gets the arguments as the model wrote them:
// they are valid JSON but otherwise unchecked. The schema must be the JSON schema of an object: a JSON object with the
// type "object". [Tool.Err] and agent.New report an invalid one.
func Raw[D any](name, description string, schema json.RawMessage, fn func(ctx context.Context, run *RunContext[D], args json.RawMessage) (Result, error), opts ...Option) *Tool[D] {
	t := &Tool[D]{Def: model.ToolDef{Name: name, Description: description, Schema: slices.Clone(schema)}}
	for _, o := range opts {
		o(&t.Options)
	}
	t.err = typedOptions[D, json.RawMessage](t)
	if fn == nil {
		t.err = errors.Join(t.err, errs.Errorf("tool %q: function is nil", name))
		return t
	}
	t.Decode = func(raw []byte) (any, error) { return decodeRaw(raw) }
	t.Call = func(ctx context.Context, run *RunContext[D], args any) (Result, error) {
		raw, _ := args.(json.RawMessage)
		return settle(fn(ctx, run, raw))
	}
	return t
}

func decodeRaw(raw []byte) (json.RawMessage, error) {
	if len(raw) == 0 {
		return json.RawMessage("{}"), nil
	}
	if !json.Valid(raw) {
		return nil, Retry("the arguments are not valid JSON")
	}
	return raw, nil
}
