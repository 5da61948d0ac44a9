// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"reflect"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/internal/schema"
	"github.com/ponte-go/ponte/toolset"
)

// Alternative is one of the ways in which a model can give the output. See [Config.Alternatives]. Create one with [As],
// [OutputFunc], [HandOver], [Text] or [Media].
type Alternative[D, O any] struct {
	def    model.ToolDef
	decode func(args []byte) (any, error)
	make   func(ctx context.Context, run *toolset.RunContext[D], decoded any) (O, error)
	text   func(ctx context.Context, run *toolset.RunContext[D], text string) (O, error)
	media  func(ctx context.Context, run *toolset.RunContext[D], media []model.Part, text string) (O, error)
	// loop is the loop's part of a hand-over, prompt decodes text that is not just JSON, and over
	// hands over to another agent, instead of make. If there is no output, the error is errNoOutput
	// and done has the reason.
	loop   func() *loop.HandOver
	prompt func(a *Alternative[D, O], text []byte, complete bool) (decoded any, repaired []byte, err error)
	over   func(ctx context.Context, run *toolset.RunContext[D], c *engine.Call, done *engine.Done) (O, error)
	// exact disables the repair of malformed JSON.
	exact bool
	// partial decodes incomplete output, or is nil if the alternative has no partial values.
	partial func(written []byte) (O, bool)
	// typ is the type that the model writes.
	typ reflect.Type
	err error
}

// As lets the model answer with a T, which convert turns into the output. The model is offered a tool of the given name; an
// empty name is derived from the type's. For a union, make O an interface type and give an alternative for each of its
// types. [Stream.Partials] also calls convert with incomplete values.
//
//	Alternatives: []agent.Alternative[Deps, Answer]{
//		agent.As[Deps]("city", "A city.", func(c City) Answer { return c }),
//		agent.As[Deps]("country", "A country.", func(c Country) Answer { return c }),
//	}
func As[D, T, O any](name, description string, convert func(T) O) Alternative[D, O] {
	if convert == nil {
		return OutputFunc[D, T, O](name, description, nil)
	}
	a := OutputFunc(name, description, func(_ context.Context, _ *toolset.RunContext[D], value T) (O, error) {
		return convert(value), nil
	})
	if typ, err := schema.For(reflect.TypeFor[T]()); err == nil {
		a.partial = partially(typ, convert)
	}
	return a
}

// OutputFunc lets the model end the run by calling a function. The arguments are validated like a tool's, and the function
// returns the output. An error made with [toolset.Retry] is reported to the model. To pass the conversation to another
// agent, use [HandOver].
func OutputFunc[D, T, O any](name, description string, fn func(ctx context.Context, run *toolset.RunContext[D], value T) (O, error)) Alternative[D, O] {
	if description == "" {
		description = defaultOutputText
	}
	typ, err := schema.For(reflect.TypeFor[T]())
	if name == "" && err == nil {
		name = typ.Name()
	}
	a := Alternative[D, O]{
		typ: reflect.TypeFor[T](), def: model.ToolDef{Name: name, Description: description},
	}
	if fn == nil && err == nil {
		err = errNilFunc
	}
	if err != nil {
		a.err = errs.Errorf("output %s: %w", name, err)
		return a
	}
	a.def.Schema = typ.JSON()
	a.decode = func(args []byte) (any, error) {
		value := new(T)
		return value, typ.Decode(args, value)
	}
	a.make = func(ctx context.Context, run *toolset.RunContext[D], decoded any) (O, error) {
		value, ok := decoded.(*T)
		if !ok {
			var zero O
			return zero, errs.Errorf("output is %T, want %T", decoded, value)
		}
		return fn(ctx, run, *value)
	}
	return a
}

var errNilFunc = errors.New("the function is nil")

// Text lets the model answer with plain text, alone or next to other alternatives.
func Text[D, O any](fn func(ctx context.Context, run *toolset.RunContext[D], text string) (O, error)) Alternative[D, O] {
	return Alternative[D, O]{text: fn}
}

// Media lets the model answer with generated media, such as an image, alone or next to other alternatives. The function
// gets the media parts of the response in order, and its text, which may be empty. An answer without media is an output
// only if there is also a [Text] alternative.
func Media[D, O any](fn func(ctx context.Context, run *toolset.RunContext[D], media []model.Part, text string) (O, error)) Alternative[D, O] {
	return Alternative[D, O]{media: fn}
}

// decodedText is decoded for an answer in text. Models often put JSON in a code fence there; removing it is not a repair.
func (a *Alternative[D, O]) decodedText(text string, complete bool) (value any, repaired []byte, err error) {
	decode := func(text []byte) (any, error) { return a.decode(schema.TrimFences(text)) }
	if a.exact {
		value, err = decode([]byte(text))
		return value, nil, err
	}
	return decodeRepaired(decode, []byte(text), complete)
}

// decoded decodes the model's output, and repairs it if repairs are allowed.
func (a *Alternative[D, O]) decoded(text []byte, complete bool) (value any, repaired []byte, err error) {
	if a.exact {
		value, err = a.decode(text)
		return value, nil, err
	}
	return decodeRepaired(a.decode, text, complete)
}
