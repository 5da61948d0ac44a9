// SPDX-License-Identifier: Apache-2.0

package googledialect

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// maxDepth and maxSize limit the nesting and the size of a schema after resolving references, in
// keywords and bytes of text. Two references in each of thirty definitions make a billion.
const (
	maxDepth = 64
	maxSize  = 1 << 20
)

var errTooLarge = fmt.Errorf("a schema that is too large after resolving references: %w", model.ErrUnsupported)

// flatten rewrites a JSON schema for the plugin and the API. The plugin requires a type everywhere,
// follows references endlessly, and drops unknown keywords. The API does not accept unknown
// keywords. What cannot be expressed is added to the description for the model. Ponte checks the
// arguments against the original schema in any case.
func flatten(schema map[string]any) (map[string]any, error) {
	f := flattener{root: schema}
	return f.node(schema, nil, 0)
}

// arguments is like flatten, for the arguments of a tool. The API does not accept an object without
// members, but accepts no schema.
func arguments(schema map[string]any) (map[string]any, error) {
	out, err := flatten(schema)
	if members, _ := out["properties"].(map[string]any); err == nil && out["type"] == "object" && len(members) == 0 {
		return map[string]any{}, nil
	}
	return out, err
}

type flattener struct {
	root      map[string]any
	size      int
	recursive map[string]bool // results of isRecursive
}

func (f *flattener) spend(n int) error {
	if f.size += n; f.size > maxSize {
		return errTooLarge
	}
	return nil
}

// node rewrites a schema. via lists the references that led to it.
func (f *flattener) node(schema map[string]any, via []string, depth int) (map[string]any, error) {
	if depth > maxDepth {
		return nil, errTooLarge
	}
	schema, via, err := f.follow(schema, via)
	if err != nil {
		return nil, err
	}
	if err := f.spend(1 + len(schema)); err != nil {
		return nil, err
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		if list, ok := schema[keyword].([]any); ok {
			return f.choice(schema, keyword, list, via, depth)
		}
	}
	kind, notes := kindOf(schema)
	out := map[string]any{"type": kind}
	if err := f.children(schema, out, via, depth); err != nil {
		return nil, err
	}
	return out, f.describe(out, schema, slices.Concat(notes, keep(out, schema), f.enumOf(out, schema), f.unsaid(schema)))
}

// follow returns the schema that a reference refers to, merged with the keywords next to the
// reference.
func (f *flattener) follow(schema map[string]any, via []string) (map[string]any, []string, error) {
	for {
		ref, ok := schema["$ref"].(string)
		if !ok {
			return schema, via, nil
		}
		if slices.Contains(via, ref) && f.isRecursive(ref) {
			return nil, nil, fmt.Errorf("a schema that refers to itself by %s: %w", ref, model.ErrUnsupported)
		}
		target, ok := adapter.Reference(f.root, ref)
		if !ok {
			return nil, nil, fmt.Errorf("the reference %q leads to no schema in this document", ref)
		}
		if err := f.spend(1 + len(target) + len(schema) + len(via)); err != nil {
			return nil, nil, err
		}
		merged := maps.Clone(target)
		for name, value := range schema {
			if name != "$ref" {
				merged[name] = value
			}
		}
		schema, via = merged, append(slices.Clip(via), ref)
	}
}

// isRecursive reports whether the target of a reference contains the reference, other than next to
// it in allOf.
func (f *flattener) isRecursive(ref string) bool {
	if is, known := f.recursive[ref]; known {
		return is
	}
	seen := map[string]bool{}
	var leadsBack func(v any) bool
	leadsBack = func(v any) bool {
		switch v := v.(type) {
		case []any:
			return slices.ContainsFunc(v, leadsBack)
		case map[string]any:
			if next, ok := v["$ref"].(string); ok && !seen[next] {
				seen[next] = true
				if target, ok := adapter.Reference(f.root, next); next == ref || ok && leadsBack(target) {
					return true
				}
			}
			for _, member := range v {
				if leadsBack(member) {
					return true
				}
			}
		}
		return false
	}
	target, _ := adapter.Reference(f.root, ref)
	if f.recursive == nil {
		f.recursive = map[string]bool{}
	}
	f.recursive[ref] = leadsBack(target)
	return f.recursive[ref]
}

// choice uses the first of several schemas that is not null, and describes the others. For allOf,
// all of them are used. Lists of values are merged.
func (f *flattener) choice(schema map[string]any, keyword string, list []any, via []string, depth int) (map[string]any, error) {
	if err := f.spend(len(list)); err != nil {
		return nil, err
	}
	base := maps.Clone(schema)
	delete(base, keyword)
	options, notes := f.options(list)
	switch {
	case keyword == "allOf":
		notes = nil // null or a single schema: only the schema
		for _, option := range options {
			option, through, err := f.follow(option, via)
			if err != nil {
				return nil, err
			}
			if err := f.join(base, option); err != nil {
				return nil, err
			}
			via = through
		}
	case len(options) > 0:
		if values, meanings := literals(options); values != nil {
			base["enum"], notes = values, append(notes, meanings...)
			break
		}
		option, through, err := f.follow(options[0], via)
		if err != nil {
			return nil, err
		}
		if err := f.join(base, option); err != nil {
			return nil, err
		}
		via = through
		if len(options) > 1 { // the API would enforce it
			if values := valuesOf(base); values != nil {
				notes = append(notes, "one of "+f.short(values))
			}
			delete(base, "enum")
			delete(base, "const")
		}
		for _, other := range options[1:] {
			notes = append(notes, "or "+f.short(other))
		}
	}
	out, err := f.node(base, via, depth+1)
	if err != nil {
		return nil, err
	}
	return out, f.describe(out, out, notes)
}

// options returns the schemas of a list without null. It follows references to find null and
// values.
func (f *flattener) options(list []any) (options []map[string]any, notes []string) {
	for _, element := range list {
		option, ok := element.(map[string]any)
		if !ok {
			continue
		}
		seen := option
		if ref, ok := option["$ref"].(string); ok {
			if target, ok := adapter.Reference(f.root, ref); ok {
				seen = target
			}
		}
		switch values := valuesOf(seen); {
		case seen["type"] == "null", len(values) == 1 && values[0] == nil:
			notes = []string{"may be null"}
		case values != nil:
			options = append(options, seen)
		default:
			options = append(options, option)
		}
	}
	return options, notes
}

// join adds the keywords of option that base does not have. Members and required are merged.
func (f *flattener) join(base, option map[string]any) error {
	if err := f.spend(len(option)); err != nil {
		return err
	}
	for name, value := range option {
		known, set := base[name]
		switch {
		case !set:
			base[name] = value
		case name == "properties":
			more, _ := value.(map[string]any)
			members, ok := known.(map[string]any)
			if !ok {
				continue
			}
			if err := f.spend(len(members) + len(more)); err != nil {
				return err
			}
			joined := maps.Clone(more)
			if joined == nil {
				joined = map[string]any{}
			}
			maps.Copy(joined, members)
			base[name] = joined
		case name == "required":
			more, _ := value.([]any)
			list, _ := known.([]any)
			if err := f.spend(len(list) + len(more)); err != nil {
				return err
			}
			base[name] = slices.Concat(list, more)
		}
	}
	return nil
}

// children rewrites the schemas of members and elements. What can be any value becomes a string.
func (f *flattener) children(schema, out map[string]any, via []string, depth int) error {
	child := func(v any) (map[string]any, error) {
		object, ok := v.(map[string]any)
		if !ok || len(object) == 0 {
			return map[string]any{"type": "string", "description": "any JSON value"}, f.spend(1)
		}
		return f.node(object, via, depth+1)
	}
	switch out["type"] {
	case "object":
		properties, ok := schema["properties"].(map[string]any)
		if !ok {
			return nil
		}
		members := make(map[string]any, len(properties))
		for name, value := range properties {
			member, err := child(value)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			members[name] = member
		}
		out["properties"] = members
	case "array":
		element := schema["items"]
		if tuple, _ := schema["prefixItems"].([]any); len(tuple) > 0 {
			element = tuple[0]
		}
		items, err := child(element)
		if err != nil {
			return fmt.Errorf("items: %w", err)
		}
		out["items"] = items
	}
	return nil
}
