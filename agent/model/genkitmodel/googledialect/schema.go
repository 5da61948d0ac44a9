package googledialect

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxDepth and maxNodes bound the nesting and the size of a schema once its references have been followed: two references
// in each of thirty definitions make a billion.
const (
	maxDepth = 64
	maxNodes = 10_000
)

// flatten rewrites a JSON schema for the plugin, which wants a type everywhere, follows references without end, and drops
// what it does not know. What cannot be said is put into the description, where the model reads it: Ponte checks the
// arguments against the whole schema in any case.
func flatten(schema map[string]any) (map[string]any, error) {
	f := flattener{root: schema}
	return f.node(schema, nil, 0)
}

type flattener struct {
	root  map[string]any
	nodes int
}

// node rewrites a schema; via are the references that led to it.
func (f *flattener) node(schema map[string]any, via []string, depth int) (map[string]any, error) {
	if f.nodes++; depth > maxDepth || f.nodes > maxNodes {
		return nil, errors.New("the schema is too large once its references are followed")
	}
	schema, via, err := f.follow(schema, via)
	if err != nil {
		return nil, err
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		if list, ok := schema[keyword].([]any); ok {
			return f.choice(schema, keyword, list, via, depth)
		}
	}
	out := map[string]any{}
	kind, notes := kindOf(schema)
	out["type"] = kind
	keep(out, schema)
	notes = append(notes, enumOf(schema, kind, out)...)
	if err := f.children(schema, out, via, depth); err != nil {
		return nil, err
	}
	for _, name := range []string{"pattern", "minLength", "maxLength", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"} {
		if value, ok := schema[name]; ok {
			notes = append(notes, fmt.Sprintf("%s: %v", name, value))
		}
	}
	describe(out, schema, notes)
	return out, nil
}

// keep copies what the plugin knows, as far as it is of the type that the plugin takes for granted.
func keep(out, schema map[string]any) {
	for _, name := range []string{"title", "format"} {
		if text, ok := schema[name].(string); ok {
			out[name] = text
		}
	}
	if list, ok := schema["required"].([]any); ok {
		out["required"] = list
	}
	for _, name := range []string{"minItems", "maxItems", "minimum", "maximum"} {
		switch value := schema[name].(type) {
		case int64, float64:
			out[name] = value
		}
	}
}

// follow returns what a schema refers to, with what stands beside the reference.
func (f *flattener) follow(schema map[string]any, via []string) (map[string]any, []string, error) {
	for {
		ref, ok := schema["$ref"].(string)
		if !ok {
			return schema, via, nil
		}
		if slices.Contains(via, ref) {
			return nil, nil, fmt.Errorf("the schema refers to itself by %s, which the plugin cannot pass on", ref)
		}
		target, err := f.resolve(ref)
		if err != nil {
			return nil, nil, err
		}
		merged := maps.Clone(target)
		for name, value := range schema {
			if name != "$ref" {
				merged[name] = value
			}
		}
		schema, via = merged, append(slices.Clone(via), ref)
	}
}

func (f *flattener) resolve(ref string) (map[string]any, error) {
	var at any = f.root
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, fmt.Errorf("the reference %q leads out of the schema", ref)
	}
	for step := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if step == "" {
			continue
		}
		object, _ := at.(map[string]any)
		at = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	target, ok := at.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the reference %q leads nowhere", ref)
	}
	return target, nil
}

// choice takes the first of several schemas that is not null, and says what the others were. All of them count for allOf.
func (f *flattener) choice(schema map[string]any, keyword string, list []any, via []string, depth int) (map[string]any, error) {
	base := maps.Clone(schema)
	delete(base, keyword)
	var notes []string
	taken := false
	for _, element := range list {
		option, ok := element.(map[string]any)
		switch {
		case !ok:
			continue
		case option["type"] == "null":
			notes = append(notes, "may be null")
		case keyword != "allOf" && taken:
			notes = append(notes, fmt.Sprintf("or %v", option))
		default:
			taken = true
			option, through, err := f.follow(option, via)
			if err != nil {
				return nil, err
			}
			join(base, option)
			via = through
		}
	}
	out, err := f.node(base, via, depth+1)
	if err != nil {
		return nil, err
	}
	describe(out, out, notes)
	return out, nil
}

// join adds to base what option says and base does not; the members and what is required of both count.
func join(base, option map[string]any) {
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
			members = maps.Clone(members)
			for member, schema := range more {
				if _, there := members[member]; !there {
					members[member] = schema
				}
			}
			base[name] = members
		case name == "required":
			more, _ := value.([]any)
			list, _ := known.([]any)
			base[name] = append(slices.Clone(list), more...)
		}
	}
}

// children rewrites the schemas of members and elements. What may be anything is a string to the model.
func (f *flattener) children(schema, out map[string]any, via []string, depth int) error {
	child := func(v any) (map[string]any, error) {
		object, ok := v.(map[string]any)
		if !ok || len(object) == 0 {
			return map[string]any{"type": "string", "description": "any JSON value"}, nil
		}
		return f.node(object, via, depth+1)
	}
	if properties, ok := schema["properties"].(map[string]any); ok && out["type"] == "object" {
		members := make(map[string]any, len(properties))
		for name, value := range properties {
			member, err := child(value)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			members[name] = member
		}
		out["properties"] = members
	}
	if out["type"] == "array" {
		items, err := child(schema["items"])
		if err != nil {
			return err
		}
		out["items"] = items
	}
	return nil
}

// kindOf returns the one type of a schema: the first of several, or the one that its other keywords give away.
func kindOf(schema map[string]any) (kind string, notes []string) {
	switch t := schema["type"].(type) {
	case string:
		kind = known(t)
	case []any:
		for _, element := range t {
			name, _ := element.(string)
			switch {
			case name == "null":
				notes = append(notes, "may be null")
			case kind == "":
				kind = known(name)
			default:
				notes = append(notes, "or "+name)
			}
		}
	}
	switch {
	case kind != "":
	case schema["properties"] != nil:
		kind = "object"
	case schema["items"] != nil:
		kind = "array"
	default:
		kind = "string"
	}
	return kind, notes
}

// known returns a type that the plugin knows.
func known(kind string) string {
	if slices.Contains([]string{"string", "number", "integer", "boolean", "object", "array"}, kind) {
		return kind
	}
	return ""
}

// enumOf keeps the values of strings, and names others.
func enumOf(schema map[string]any, kind string, out map[string]any) []string {
	values, _ := schema["enum"].([]any)
	if value, ok := schema["const"]; ok {
		values = []any{value}
	}
	if len(values) == 0 {
		return nil
	}
	isText := func(v any) bool { s, ok := v.(string); return ok && s != "" }
	if kind == "string" && !slices.ContainsFunc(values, func(v any) bool { return !isText(v) }) {
		out["enum"] = values
		return nil
	}
	return []string{fmt.Sprintf("one of %v", values)}
}

func describe(out, schema map[string]any, notes []string) {
	description, _ := schema["description"].(string)
	if len(notes) > 0 {
		description = strings.TrimSpace(description + " (" + strings.Join(notes, ", ") + ")")
	}
	if description != "" {
		out["description"] = description
	}
}
