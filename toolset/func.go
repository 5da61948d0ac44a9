// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/schema"
)

// ValidationError lists what is wrong with the arguments of a tool call or with an output, field by field.
type ValidationError = schema.Error

// Func makes a tool of a function. In must be a struct (or a pointer to one); its JSON schema is what the model sees,
// and the function is called with arguments that keep it. See the package documentation for what the result may be.
//
// An argument type without a schema is reported by [Tool.Err], and so by agent.New.
func Func[D, In, Out any](name, description string, fn func(ctx context.Context, run *RunContext[D], in In) (Out, error), opts ...Option) *Tool[D] {
	t := newTool[D, In](name, description, opts)
	if fn == nil {
		t.err = errors.Join(t.err, fmt.Errorf("tool %q: function is nil", name))
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

// argumentsOf returns decoded arguments as a function takes them: those of a struct are decoded into a pointer to it, those of a
// pointer into that pointer.
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
	return in, fmt.Errorf("arguments are %T, want %v", args, want)
}

// Plain makes a tool of a function that needs nothing of the run. D is given explicitly, the other types are inferred:
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
		t.err = fmt.Errorf("tool %q: arguments: %w", name, err)
		return t
	case typ.Wrapped():
		t.err = fmt.Errorf("tool %q: arguments are %v, must be a struct", name, reflect.TypeFor[In]())
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

// checkName keeps to what all providers accept.
func checkName(name string) error {
	if name == "" || len(name) > 64 {
		return fmt.Errorf("tool name %q: must have 1 to 64 characters", name)
	}
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' {
			return fmt.Errorf("tool name %q: character %q is not allowed; use letters, digits, '_' and '-'", name, string(r))
		}
	}
	return nil
}

// Raw makes a tool whose schema is only known at run time. The function gets the arguments as the model wrote them,
// valid JSON but otherwise unchecked. schema must be the JSON schema of an object: a JSON object with the type "object".
// What is wrong with it is reported by [Tool.Err], and so by agent.New.
func Raw[D any](name, description string, schema json.RawMessage, fn func(ctx context.Context, run *RunContext[D], args json.RawMessage) (Result, error), opts ...Option) *Tool[D] {
	t := &Tool[D]{Def: model.ToolDef{Name: name, Description: description, Schema: slices.Clone(schema)}}
	for _, o := range opts {
		o(&t.Options)
	}
	t.err = typedOptions[D, json.RawMessage](t)
	if fn == nil {
		t.err = errors.Join(t.err, fmt.Errorf("tool %q: function is nil", name))
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
