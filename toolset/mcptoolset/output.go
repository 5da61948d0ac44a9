// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/ponte-go/ponte/internal/lazy"
)

const (
	// maxOutputNodes bounds the size of an output schema with its references put in their places.
	maxOutputNodes = 1000
	// maxOutputWork bounds nodes times bytes of a result. Larger results are not checked.
	maxOutputWork = 1 << 25
)

// outputCheck checks structured content against the schema that the server has declared for it.
type outputCheck struct {
	schema *jsonschema.Resolved
	nodes  int
}

// newOutputCheck returns nil if the schema cannot be checked with bounded work: because it refers
// to itself or to something elsewhere, is too large, or is not a schema. The validator follows
// references without end.
func newOutputCheck(schema json.RawMessage) *outputCheck {
	var root any
	if json.Unmarshal(schema, &root) != nil {
		return nil
	}
	w := schemaWalk{root: root}
	if !w.bounded(root, nil) {
		return nil
	}
	var s jsonschema.Schema
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil
	}
	return &outputCheck{resolved, w.nodes}
}

// errForm reports a result that does not have the declared form.
var errForm = errors.New("it does not have the form that the server declares")

// check checks structured content of a number of bytes. A nil check finds nothing wrong.
func (c *outputCheck) check(content any, size int) (err error) {
	if c == nil || c.nodes*size > maxOutputWork {
		return nil
	}
	defer func() { _ = recover() }() // the validator's own fault says nothing about the result
	if err := c.schema.Validate(content); err != nil {
		return fmt.Errorf("%w: %s", errForm, head(strings.ToValidUTF8(err.Error(), "?"), 500))
	}
	return nil
}

// schemaWalk counts the nodes of a schema.
type schemaWalk struct {
	root  any
	nodes int
}

// elsewhere are keywords that change where references lead to.
var elsewhere = []string{
	"$ref", "$id", "id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef",
	"$recursiveAnchor",
}

// bounded reports whether a value and what it refers to has few enough nodes. path are the
// references that led to it.
func (w *schemaWalk) bounded(v any, path []string) bool {
	if w.nodes++; w.nodes > maxOutputNodes {
		return false
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if !w.bounded(e, path) {
				return false
			}
		}
	case map[string]any:
		for name, e := range v {
			ref, text := e.(string) // if it is none, the keyword is the name of a property
			switch {
			case name == "$ref" && text:
				if !w.follow(ref, path) {
					return false
				}
			case strings.EqualFold(name, "pattern") && text:
				w.nodes += lazy.Size(ref) / 10 // instructions
			case strings.EqualFold(name, "patternProperties"):
				patterns, _ := e.(map[string]any)
				for pattern := range patterns {
					w.nodes += lazy.Size(pattern) / 10
				}
			case text && slices.ContainsFunc(elsewhere, func(keyword string) bool { return strings.EqualFold(name, keyword) }):
				return false // the validator does not tell capitals from other letters
			}
			if !w.bounded(e, path) {
				return false
			}
		}
	}
	return true
}

// follow counts what a reference leads to.
func (w *schemaWalk) follow(ref string, path []string) bool {
	steps, local := strings.CutPrefix(ref, "#/")
	if !local || slices.Contains(path, ref) {
		return false
	}
	at := w.root
	for step := range strings.SplitSeq(steps, "/") {
		object, ok := at.(map[string]any)
		if !ok || strings.ContainsAny(step, "~%") {
			return false
		}
		if at, ok = object[step]; !ok {
			return false
		}
	}
	return w.bounded(at, append(path[:len(path):len(path)], ref))
}
