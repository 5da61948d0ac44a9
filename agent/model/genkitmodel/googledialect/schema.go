package googledialect

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxDepth bounds the nesting of a schema, references followed.
const maxDepth = 64

// flatten rewrites a JSON schema for the plugin, which wants a type everywhere, follows references without end, and drops
// what it does not know. What cannot be said is put into the description, where the model reads it: Ponte checks the
// arguments against the whole schema in any case.
func flatten(schema map[string]any) (map[string]any, error) {
	f := flattener{root: schema}
	return f.node(schema, nil)
}

type flattener struct{ root map[string]any }

// node rewrites a schema; via are the references that led to it.
func (f *flattener) node(schema map[string]any, via []string) (map[string]any, error) {
	if ref, ok := schema["$ref"].(string); ok {
		if slices.Contains(via, ref) || len(via) > maxDepth {
			return nil, fmt.Errorf("the schema refers to itself by %s, which the plugin cannot pass on", ref)
		}
		target, err := f.resolve(ref)
		if err != nil {
			return nil, err
		}
		merged := maps.Clone(target)
		for name, value := range schema {
			if name != "$ref" {
				merged[name] = value
			}
		}
		return f.node(merged, append(slices.Clone(via), ref))
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		if list, ok := schema[keyword].([]any); ok {
			return f.choice(schema, keyword, list, via)
		}
	}
	out := map[string]any{}
	kind, notes := kindOf(schema)
	out["type"] = kind
	for _, name := range []string{"title", "format", "required", "minItems", "maxItems", "minimum", "maximum"} {
		if value, ok := schema[name]; ok {
			out[name] = value
		}
	}
	notes = append(notes, enumOf(schema, kind, out)...)
	if err := f.children(schema, out, via); err != nil {
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
func (f *flattener) choice(schema map[string]any, keyword string, list []any, via []string) (map[string]any, error) {
	base := maps.Clone(schema)
	delete(base, keyword)
	if len(via) > maxDepth {
		return nil, fmt.Errorf("the schema is nested more than %d deep", maxDepth)
	}
	var notes []string
	taken := false
	for _, element := range list {
		option, ok := element.(map[string]any)
		switch {
		case !ok:
			continue
		case option["type"] == "null":
			notes = append(notes, "may be null")
		case keyword == "allOf":
			for name, value := range option {
				if properties, ok := value.(map[string]any); ok && name == "properties" {
					if known, ok := base[name].(map[string]any); ok {
						properties = maps.Clone(properties)
						maps.Copy(properties, known)
						value = properties
					}
				} else if _, set := base[name]; set {
					continue
				}
				base[name] = value
			}
		case !taken:
			taken = true
			for name, value := range option {
				if _, set := base[name]; !set {
					base[name] = value
				}
			}
		default:
			notes = append(notes, fmt.Sprintf("or %v", option))
		}
	}
	out, err := f.node(base, append(slices.Clone(via), ""))
	if err != nil {
		return nil, err
	}
	describe(out, out, notes)
	return out, nil
}

// children rewrites the schemas of members and elements. What may be anything is a string to the model.
func (f *flattener) children(schema, out map[string]any, via []string) error {
	child := func(v any) (map[string]any, error) {
		object, ok := v.(map[string]any)
		if !ok || len(object) == 0 {
			return map[string]any{"type": "string", "description": "any JSON value"}, nil
		}
		return f.node(object, via)
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
		kind = t
	case []any:
		for _, element := range t {
			name, _ := element.(string)
			switch {
			case name == "null":
				notes = append(notes, "may be null")
			case kind == "":
				kind = name
			default:
				notes = append(notes, "or "+name)
			}
		}
	}
	switch {
	case kind != "" && kind != "null":
	case schema["properties"] != nil:
		kind = "object"
	case schema["items"] != nil:
		kind = "array"
	default:
		kind = "string"
	}
	return kind, notes
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
