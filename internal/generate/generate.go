// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
)

// Value returns a JSON value that matches a schema: always the same one, and a plain one. Objects
// get their required properties, arrays and maps one entry, and numbers are not zero unless they
// must be.
//
// It knows the keywords of JSON schemas that describe values: type, enum, const, the bounds,
// multipleOf, lengths, pattern (as package regexp reads it), the common formats, contentEncoding,
// properties, required, additionalProperties, propertyNames, items, prefixItems, uniqueItems, $ref
// within the schema, allOf, anyOf, oneOf and not. It ignores others, such as if, contains and
// patternProperties. If it finds no value for a schema, the error names the place.
func Value(schema json.RawMessage) (json.RawMessage, error) { return Seeded(schema, 0) }

// Seeded returns another matching value for every seed if the schema allows several: with optional
// properties, longer lists, other choices. The same seed gives the same value; seed 0 gives the
// value of [Value].
func Seeded(schema json.RawMessage, seed uint64) (json.RawMessage, error) {
	d, err := parseSchema(schema)
	if err != nil {
		return nil, fmt.Errorf("%w", err)
	}
	g := &generator{doc: d}
	if seed != 0 {
		g.rand = rand.New(rand.NewPCG(seed, 0))
	}
	if err := g.value(d.root, 0, 0); err != nil {
		return nil, fmt.Errorf("%w", err)
	}
	if !d.accepts(d.root, decoded(g.out)) {
		return nil, fmt.Errorf("%w: %s is not one", errNoValue, g.out)
	}
	return json.RawMessage(g.out), nil
}

// Bounds of one value. A schema that recurs gets its plainest values beyond plainDepth or plainSteps.
const (
	maxSteps   = 20_000
	plainSteps = 2_000
	maxNesting = 200
	plainDepth = 5
	maxOutput  = 1 << 20
	maxChain   = 64  // of references and alternatives for one value
	maxTries   = 200 // of values that must differ from others
	fewTries   = 10  // of values that must not fit another alternative
)

var (
	errNoValue = errors.New("no value found that keeps the schema")
	errTooBig  = errors.New("the schema asks for too large a value, or recurs without end")
)

// generator writes one value.
type generator struct {
	doc   *document
	rand  *rand.Rand // nil for the plain value
	out   []byte
	steps int
	// vary makes choices come out differently when the same place is tried again.
	vary int
}

// choose returns a number below n: 0 for the plain value, another one on each further try.
func (g *generator) choose(n int) int {
	if n <= 1 {
		return 0
	}
	k := g.vary
	if g.rand != nil {
		k += g.rand.IntN(n)
	}
	return k % n
}

// plain reports whether the value must now end.
func (g *generator) plain(depth int) bool { return depth > plainDepth || g.steps > plainSteps }

// value appends a value of n. Depth counts the objects and arrays around it, chain the references and alternatives that
// led to n without a value in between.
func (g *generator) value(n *node, depth, chain int) error {
	g.steps++
	if g.steps > maxSteps || depth > maxNesting || chain > maxChain || len(g.out) > maxOutput {
		return errTooBig
	}
	n = n.orAny()
	switch {
	case n.never:
		return errNoValue
	case n.Ref != "":
		target, err := g.doc.resolve(n.Ref)
		if err != nil {
			return err
		}
		rest := *n
		rest.Ref = ""
		return g.value(merge(&rest, target), depth, chain+1)
	case len(n.AnyOf) > 0:
		rest := *n
		rest.AnyOf = nil
		return g.alternative(n, &rest, n.AnyOf, depth, chain)
	case len(n.OneOf) > 0:
		rest := *n
		rest.OneOf = nil
		return g.alternative(n, &rest, n.OneOf, depth, chain)
	case len(n.AllOf) > 0: // behind the alternatives, which merging may have put there
		all := *n
		all.AllOf = nil
		merged := &all
		for _, part := range n.AllOf {
			merged = merge(merged, part)
		}
		return g.value(merged, depth, chain+1)
	case n.Not != nil:
		rest := *n
		rest.Not = nil
		return g.until(maxTries, func(text []byte) bool { return !g.doc.accepts(n.Not, decoded(text)) },
			func() error { return g.value(&rest, depth, chain+1) })
	case n.Enum != nil:
		return g.enum(n)
	}
	return g.typed(n, depth)
}

// alternative appends a value of whole, which is rest and one of a list. It takes the first one for which there is a
// value, beginning with the chosen one.
func (g *generator) alternative(whole, rest *node, list []*node, depth, chain int) error {
	order := slices.Clone(list)
	if first := g.choose(len(order)); first > 0 && !g.plain(depth) {
		order = slices.Concat(order[first:], order[:first])
	}
	if g.plain(depth) { // what ends a recursion is tried first
		slices.SortStableFunc(order, func(a, b *node) int { return a.weight() - b.weight() })
	}
	err := errNoValue
	for _, n := range order {
		start := len(g.out)
		write := func() error { return g.value(merge(rest, n), depth, chain+1) }
		if whole.OneOf == nil {
			err = write()
		} else { // of which it may be one too many
			err = g.until(fewTries, func(text []byte) bool { return g.doc.accepts(whole, decoded(text)) }, write)
		}
		if err == nil {
			return nil
		}
		g.out = g.out[:start]
	}
	return err
}

// weight orders alternatives by how likely they are to end a recursion.
func (n *node) weight() int {
	switch {
	case n == nil || slices.Contains(n.Type, "null"):
		return 0
	case n.Ref != "" || n.AllOf != nil || n.AnyOf != nil || n.OneOf != nil:
		return 3
	case slices.Contains(n.Type, "object") || slices.Contains(n.Type, "array"):
		return 2
	}
	return 1
}

// until has a value appended again and again until it is right, some tries at most. Beyond the first one it goes through
// what there is in order.
func (g *generator) until(tries int, right func(text []byte) bool, write func() error) error {
	start, vary, rand := len(g.out), g.vary, g.rand
	defer func() { g.vary, g.rand = vary, rand }()
	for range tries {
		if err := write(); err != nil {
			return err
		}
		if right(g.out[start:]) {
			return nil
		}
		g.out = g.out[:start]
		if g.rand == nil {
			g.vary++
		}
		g.rand = nil
	}
	return errNoValue
}

func (g *generator) enum(n *node) error {
	var fit []json.RawMessage
	for _, v := range n.Enum {
		if g.doc.accepts(n, decoded(v)) {
			fit = append(fit, v)
		}
	}
	if len(fit) == 0 {
		return fmt.Errorf("%w: no value of the enum fits", errNoValue)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, fit[g.choose(len(fit))]); err != nil {
		return err
	}
	g.out = append(g.out, compact.Bytes()...)
	return nil
}

// typed appends a value of a schema whose only alternatives are its types.
func (g *generator) typed(n *node, depth int) error {
	types := n.Type
	if len(types) == 0 {
		types = typeList{n.implied()}
	}
	kind := types[g.choose(len(types))]
	if g.plain(depth) && slices.Contains(types, "null") {
		kind = "null"
	}
	switch kind {
	case "null":
		g.out = append(g.out, "null"...)
	case "boolean":
		g.out = append(g.out, []string{"true", "false"}[g.choose(2)]...)
	case "integer", "number":
		return g.number(n, kind == "integer")
	case "string":
		return g.string(n)
	case "array":
		return g.array(n, depth)
	case "object":
		return g.object(n, depth)
	default:
		return fmt.Errorf("unknown type %q", kind)
	}
	return nil
}

// implied is the type that the keywords of a schema are about.
func (n *node) implied() string {
	switch {
	case n.Properties != nil || n.Required != nil || n.Rest != nil || n.PropertyNames != nil || n.MinProperties != nil:
		return "object"
	case n.Items != nil || n.Prefix != nil || n.MinItems != nil || n.Unique:
		return "array"
	case n.Minimum != nil || n.Maximum != nil || n.Above != nil || n.Below != nil || n.MultipleOf != nil:
		return "number"
	}
	return "string"
}

// decoded is the value of valid JSON, with exact numbers.
func decoded(text []byte) any {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	_ = dec.Decode(&v) // the schema's own, or written here
	return v
}
