// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxAcceptDepth bounds how far a schema and its references are followed for one value.
const maxAcceptDepth = 500

// accepts reports whether a value, decoded with numbers as json.Number, keeps a schema. Of the keywords it knows those
// that node has; formats are not checked.
func (d *document) accepts(n *node, v any) bool { return d.accept(n, v, 0) }

func (d *document) accept(n *node, v any, depth int) bool {
	if n == nil {
		return true
	}
	if n.never || depth > maxAcceptDepth || !n.Type.accept(v) {
		return false
	}
	is := func(n *node) bool { return d.accept(n, v, depth+1) }
	if n.Ref != "" {
		if target, err := d.resolve(n.Ref); err != nil || !is(target) {
			return false
		}
	}
	if n.Enum != nil && !slices.ContainsFunc(n.Enum, func(e json.RawMessage) bool { return equalJSON(decoded(e), v) }) {
		return false
	}
	one := 0
	for _, alternative := range n.OneOf {
		if is(alternative) {
			one++
		}
	}
	if len(n.OneOf) > 0 && one != 1 || len(n.AnyOf) > 0 && !slices.ContainsFunc(n.AnyOf, is) ||
		slices.ContainsFunc(n.AllOf, func(n *node) bool { return !is(n) }) || n.Not != nil && is(n.Not) {
		return false
	}
	switch v := v.(type) {
	case string:
		return n.acceptString(v)
	case json.Number:
		return n.acceptNumber(v)
	case []any:
		return d.acceptArray(n, v, depth)
	case map[string]any:
		return d.acceptObject(n, v, depth)
	}
	return true
}

func (t typeList) accept(v any) bool {
	if len(t) == 0 {
		return true
	}
	switch v := v.(type) {
	case nil:
		return t.has("null")
	case bool:
		return t.has("boolean")
	case string:
		return t.has("string")
	case []any:
		return t.has("array")
	case map[string]any:
		return t.has("object")
	case json.Number:
		r, ok := exact(v.String())
		return t.has("number") || t.has("integer") && ok && r.IsInt()
	}
	return false
}

func (n *node) acceptString(s string) bool {
	length := utf8.RuneCountInString(s)
	if n.MinLength != nil && length < int(*n.MinLength) || n.MaxLength != nil && length > int(*n.MaxLength) {
		return false
	}
	if n.Encoding == "base64" {
		if _, err := base64.StdEncoding.DecodeString(s); err != nil {
			return false
		}
	}
	for _, p := range n.Patterns {
		if re, err := regexp.Compile(p); err != nil || !re.MatchString(s) {
			return false
		}
	}
	return true
}

func (n *node) acceptNumber(v json.Number) bool {
	r, ok := exact(v.String())
	switch {
	case !ok,
		n.Minimum != nil && r.Cmp(n.Minimum.Rat) < 0, n.Maximum != nil && r.Cmp(n.Maximum.Rat) > 0,
		n.Above != nil && r.Cmp(n.Above.Rat) <= 0, n.Below != nil && r.Cmp(n.Below.Rat) >= 0:
		return false
	case n.MultipleOf != nil:
		return r.Quo(r, n.MultipleOf.Rat).IsInt()
	}
	return true
}

func (d *document) acceptArray(n *node, list []any, depth int) bool {
	if n.MinItems != nil && len(list) < int(*n.MinItems) || n.MaxItems != nil && len(list) > int(*n.MaxItems) {
		return false
	}
	for i, v := range list {
		if !d.accept(n.item(i), v, depth+1) {
			return false
		}
		if n.Unique && slices.ContainsFunc(list[:i], func(before any) bool { return equalJSON(before, v) }) {
			return false
		}
	}
	return true
}

// item is the schema of the i-th item, nil if anything will do.
func (n *node) item(i int) *node {
	prefix := n.Prefix
	if n.Items != nil && len(prefix) == 0 {
		prefix = n.Items.prefix
	}
	switch {
	case i < len(prefix):
		return prefix[i]
	case n.Items != nil:
		return n.Items.node
	}
	return nil
}

func (d *document) acceptObject(n *node, object map[string]any, depth int) bool {
	if n.MinProperties != nil && len(object) < int(*n.MinProperties) || n.MaxProperties != nil && len(object) > int(*n.MaxProperties) {
		return false
	}
	for _, name := range n.Required {
		if _, ok := object[name]; !ok {
			return false
		}
	}
	for name, v := range object {
		property, ok := n.Properties.find(name)
		if !ok {
			property = n.Rest
		}
		if !d.accept(property, v, depth+1) || !d.accept(n.PropertyNames, name, depth+1) {
			return false
		}
	}
	return true
}

// equalJSON compares decoded values; numbers are compared by value.
func equalJSON(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		if !ok {
			return false
		}
		if a == b || !strings.ContainsAny(string(a+b), ".eE") && a != "-0" && b != "-0" {
			return a == b
		}
		x, okX := exact(a.String())
		y, okY := exact(b.String())
		return okX && okY && x.Cmp(y) == 0
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equalJSON)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, v := range a {
			if w, ok := b[name]; !ok || !equalJSON(v, w) {
				return false
			}
		}
		return true
	}
	return a == b
}
