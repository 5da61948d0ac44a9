// SPDX-License-Identifier: Apache-2.0

package anthropicdialect

import (
	"errors"
	"maps"
	"slices"

	"github.com/ponte-go/ponte/agent/model/genkitmodel"
	"github.com/ponte-go/ponte/internal/adapter"
)

// Limits on what references may add to a schema: their nesting, and the number of values and bytes
// of text. Two references in each of thirty definitions make a billion.
const (
	maxChain = 64
	maxAdded = 1 << 20
)

// schema replaces references by what they refer to, because the plugin keeps only type, properties
// and required of a schema. A recursive reference becomes a schema that allows everything.
func schema(_ *genkitmodel.Call, root map[string]any) (map[string]any, error) {
	kept := maps.Clone(root)
	delete(kept, "$defs")
	delete(kept, "definitions")
	r := resolver{root: root}
	resolved, _ := r.resolve(kept, []string{"#"}).(map[string]any)
	if r.added > maxAdded {
		return nil, errors.New("too large after resolving references")
	}
	if resolved["properties"] == nil { // the SDK would leave it out, but the API requires it
		resolved["properties"] = map[string]any{}
	}
	return resolved, nil
}

type resolver struct {
	root  map[string]any
	added int
}

// resolve returns a copy of v without references. within lists the references that led to v.
func (r *resolver) resolve(v any, within []string) any {
	if len(within) > 1 {
		r.added++
	}
	if len(within) > maxChain {
		r.added = maxAdded + 1
	}
	if r.added > maxAdded {
		return nil
	}
	switch v := v.(type) {
	case string:
		if len(within) > 1 {
			r.added += len(v)
		}
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = r.resolve(v[i], within)
		}
		return list
	case map[string]any:
		object := map[string]any{}
		ref, ok := v["$ref"].(string)
		if target, found := adapter.Reference(r.root, ref); found && !slices.Contains(within, ref) {
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
