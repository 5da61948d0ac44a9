package anthropicdialect

import (
	"maps"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model/genkitmodel"
)

// schema puts what references point to in their place, because of a schema the plugin keeps type, properties and
// required alone. A reference to what it is part of becomes a schema that everything keeps.
func schema(_ *genkitmodel.Call, root map[string]any) (map[string]any, error) {
	kept := maps.Clone(root)
	delete(kept, "$defs")
	delete(kept, "definitions")
	resolved, _ := resolver{root}.resolve(kept, []string{"#"}).(map[string]any)
	if resolved["properties"] == nil { // the SDK would leave it out, which the API refuses
		resolved["properties"] = map[string]any{}
	}
	return resolved, nil
}

type resolver struct{ root map[string]any }

// resolve returns a copy of v without references. Within are those that lead to v.
func (r resolver) resolve(v any, within []string) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = r.resolve(v[i], within)
		}
		return list
	case map[string]any:
		object := map[string]any{}
		ref, ok := v["$ref"].(string)
		if target := r.target(ref); ok && target != nil && !slices.Contains(within, ref) {
			resolved, _ := r.resolve(target, append(slices.Clip(within), ref)).(map[string]any)
			maps.Copy(object, resolved)
		}
		for name, member := range v {
			if name != "$ref" || !ok {
				object[name] = r.resolve(member, within)
			}
		}
		return object
	}
	return v
}

// target returns what a reference within the schema points to (RFC 6901), or nil.
func (r resolver) target(ref string) any {
	path, local := strings.CutPrefix(ref, "#/")
	if !local {
		if ref == "#" {
			return r.root
		}
		return nil
	}
	var at any = r.root
	for name := range strings.SplitSeq(path, "/") {
		object, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	return at
}
