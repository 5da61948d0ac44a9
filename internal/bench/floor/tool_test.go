// SPDX-License-Identifier: Apache-2.0

package floor

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// Tool is a function that the model may call.
type Tool[D any] struct {
	Def
	call func(ctx context.Context, deps D, args string) (string, error)
}

// NewTool makes a tool of a function.
func NewTool[D, In, Out any](name, description string, fn func(ctx context.Context, deps D, in In) (Out, error)) (*Tool[D], error) {
	in, err := newChecked[In](nil)
	if err != nil {
		return nil, fmt.Errorf("floor: tool %s: %w", name, err)
	}
	call := func(ctx context.Context, deps D, args string) (string, error) {
		value, err := in.decode(args)
		if err != nil {
			return "", err
		}
		out, err := fn(ctx, deps, value)
		if err != nil {
			return "", err
		}
		text, err := json.Marshal(out)
		return string(text), err
	}
	return &Tool[D]{Def{name, description, in.schema.Schema()}, call}, nil
}

// checked decodes JSON that keeps the schema of a type.
type checked[T any] struct{ schema *jsonschema.Resolved }

// newChecked makes the schema of a type; adjust may add rules to it.
func newChecked[T any](adjust func(*jsonschema.Schema)) (checked[T], error) {
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		return checked[T]{}, err
	}
	if adjust != nil {
		adjust(schema)
	}
	resolved, err := schema.Resolve(nil)
	return checked[T]{resolved}, err
}

// decode checks what was sent, which needs its generic form, and then decodes it.
func (c checked[T]) decode(text string) (value T, err error) {
	data := []byte(text)
	var sent any
	if err := json.Unmarshal(data, &sent); err != nil {
		return value, err
	}
	if err := c.schema.Validate(sent); err != nil {
		return value, err
	}
	return value, json.Unmarshal(data, &value)
}
