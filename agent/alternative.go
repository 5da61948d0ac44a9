// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"reflect"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/internal/schema"
	"github.com/ponte-go/ponte/toolset"
)

// Alternative is one way in which a run can end: see [Config.Alternatives]. Make it with [As],
// [OutputFunc], [Text] or [Media].
type Alternative[D, O any] struct {
	def    model.ToolDef
	decode func(args []byte) (any, error)
	make   func(ctx context.Context, run *toolset.RunContext[D], decoded any) (O, error)
	text   func(ctx context.Context, run *toolset.RunContext[D], text string) (O, error)
	media  func(ctx context.Context, run *toolset.RunContext[D], media []model.Part, text string) (O, error)
	// exact says that what is not JSON is not repaired.
	exact bool
	// partial decodes what is still being written; nil if that makes no sense.
	partial func(written []byte) (O, bool)
	// typ is what the model writes.
	typ reflect.Type
	err error
}

// As lets the model answer with a T, which convert makes an output of. The model is offered a tool of the given name; if
// the name is empty it is made from the type's. A union is an interface type for O and an alternative for each of its
// types. [Stream.Partials] calls convert with incomplete values, too:
//
//	Alternatives: []agent.Alternative[Deps, Answer]{
//		agent.As[Deps]("city", "A city.", func(c City) Answer { return c }),
//		agent.As[Deps]("country", "A country.", func(c Country) Answer { return c }),
//	}
func As[D, T, O any](name, description string, convert func(T) O) Alternative[D, O] {
	a := OutputFunc(name, description, func(_ context.Context, _ *toolset.RunContext[D], value T) (O, error) {
		return convert(value), nil
	})
	if typ, err := schema.For(reflect.TypeFor[T]()); err == nil {
		a.partial = partially(typ, convert)
	}
	return a
}

// OutputFunc lets the model end the run by calling a function: its arguments are validated like a tool's, and what it
// returns is the output. An error made with [toolset.Retry] goes back to the model. Handing over to another agent is an
// output function that runs it.
func OutputFunc[D, T, O any](name, description string, fn func(ctx context.Context, run *toolset.RunContext[D], value T) (O, error)) Alternative[D, O] {
	if description == "" {
		description = defaultOutputText
	}
	typ, err := schema.For(reflect.TypeFor[T]())
	if err != nil {
		return Alternative[D, O]{err: fmt.Errorf("output %s: %w", name, err)}
	}
	if name == "" {
		name = typ.Name()
	}
	return Alternative[D, O]{
		typ: reflect.TypeFor[T](),
		def: model.ToolDef{Name: name, Description: description, Schema: typ.JSON()},
		decode: func(args []byte) (any, error) {
			value := new(T)
			return value, typ.Decode(args, value)
		},
		make: func(ctx context.Context, run *toolset.RunContext[D], decoded any) (O, error) {
			value, ok := decoded.(*T)
			if !ok {
				var zero O
				return zero, fmt.Errorf("output is %T, want %T", decoded, value)
			}
			return fn(ctx, run, *value)
		},
	}
}

// Text lets the model answer with plain text, beside other alternatives or alone.
func Text[D, O any](fn func(ctx context.Context, run *toolset.RunContext[D], text string) (O, error)) Alternative[D, O] {
	return Alternative[D, O]{text: fn}
}

// Media lets the model answer with media that it makes, such as an image, beside other alternatives or alone. The function
// gets the media parts of the response, in order, and the text beside them, which may be empty. An answer without media is
// an output only if there is a [Text] alternative, too.
func Media[D, O any](fn func(ctx context.Context, run *toolset.RunContext[D], media []model.Part, text string) (O, error)) Alternative[D, O] {
	return Alternative[D, O]{media: fn}
}

func (a *Alternative[D, O]) decodeForModel(args []byte, complete bool) (any, []byte, *loop.Invalid) {
	decoded, repaired, err := a.decoded(args, complete)
	if err != nil {
		return nil, nil, forModel(err)
	}
	return decoded, repaired, nil
}

// decodedText is decoded for an answer in text. Models fence JSON there even if they are told not to: that is no repair.
func (a *Alternative[D, O]) decodedText(text string, complete bool) (value any, repaired []byte, err error) {
	decode := func(text []byte) (any, error) { return a.decode(schema.TrimFences(text)) }
	if a.exact {
		value, err = decode([]byte(text))
		return value, nil, err
	}
	return decodeRepaired(decode, []byte(text), complete)
}

// decoded decodes what the model wrote, and repairs it if that is permitted.
func (a *Alternative[D, O]) decoded(text []byte, complete bool) (value any, repaired []byte, err error) {
	if a.exact {
		value, err = a.decode(text)
		return value, nil, err
	}
	return decodeRepaired(a.decode, text, complete)
}
