// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/internal/schema"
)

// WriteSchema writes a JSON schema of dataset files, for editors, which complete and check them.
// Name it in the first line of a file:
//
//	# yaml-language-server: $schema=./moods_schema.json
func WriteSchema[In, Out any](w io.Writer, o FileOptions) error {
	in, err := schemaOf[In]()
	if err != nil {
		return fmt.Errorf("evals: the schema of inputs: %w", err)
	}
	out, err := schemaOf[Out]()
	if err != nil {
		return fmt.Errorf("evals: the schema of outputs: %w", err)
	}
	evaluators := object{"type": "array", "items": object{"anyOf": evaluatorSchemas(o)}}
	one := object{
		"type": "object", "additionalProperties": false, "required": []string{"inputs"},
		"properties": object{
			"name": object{"type": "string"}, "metadata": object{},
			"inputs": in, "expected_output": out, "evaluators": evaluators,
			"files": object{
				"type": "object", "additionalProperties": object{"type": "string"},
			},
		},
	}
	text, err := json.MarshalIndent(object{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
		"additionalProperties": false, "required": []string{"cases"},
		"properties": object{
			"$schema": object{"type": "string"}, "name": object{"type": "string"},
			"cases": object{"type": "array", "items": one}, "evaluators": evaluators,
		},
	}, "", "  ")
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	return err
}

type object map[string]any

// schemaOf returns the schema of a type as a value.
func schemaOf[T any]() (any, error) {
	if reflect.TypeFor[T]().Kind() == reflect.Interface {
		return object{}, nil
	}
	kind, err := schema.For(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(kind.JSON(), &tree); err != nil {
		return nil, err
	}
	if !kind.Wrapped() {
		return tree, nil
	}
	properties, _ := tree["properties"].(map[string]any)
	return properties["value"], nil
}

// evaluatorSchemas has a form for each name: alone, with one argument, with named arguments.
func evaluatorSchemas(o FileOptions) (all []any) {
	for _, name := range slices.Sorted(maps.Keys(o.Evaluators)) {
		all = append(all, object{"const": name}, withArguments(name, object{}))
	}
	for _, name := range slices.Sorted(maps.Keys(standardEvaluators)) {
		s := standardEvaluators[name]
		if s.args.Kind() != reflect.Struct {
			continue
		}
		properties := argumentSchemas(s.args)
		arguments := object{
			"type": "object", "additionalProperties": false, "properties": properties,
		}
		if s.first == "" {
			all = append(all, object{"const": name})
		} else {
			arguments["required"] = []string{s.first}
			all = append(all, withArguments(name, properties[s.first]))
		}
		all = append(all, withArguments(name, arguments))
	}
	return all
}

func withArguments(name string, arguments any) object {
	return object{
		"type": "object", "additionalProperties": false, "required": []string{name},
		"properties": object{name: arguments},
	}
}

// argumentSchemas returns the schemas of the arguments of a standard evaluator.
func argumentSchemas(args reflect.Type) object {
	all := object{}
	for field := range args.Fields() {
		if field.Anonymous {
			maps.Copy(all, argumentSchemas(field.Type))
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		all[name] = kindSchema(field.Type)
	}
	return all
}

func kindSchema(t reflect.Type) object {
	if t == reflect.TypeFor[json.RawMessage]() {
		return object{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return kindSchema(t.Elem())
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int:
		return object{"type": "integer"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Slice:
		return object{"type": "array", "items": kindSchema(t.Elem())}
	}
	return object{}
}
