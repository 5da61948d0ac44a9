// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/invopop/jsonschema"
)

// node is a schema compiled for a walk over JSON text. It holds the keywords that are checked:
// type, properties, required, additionalProperties, propertyNames, items, enum, const, the bounds,
// uniqueItems, multipleOf, pattern, format date-time, contentEncoding base64, allOf, anyOf, oneOf
// and not. Other keywords (if, contains, other formats) are for the model only, and come only from
// types that make their own schemas. The Go type checks those.
type node struct {
	types typeSet // what the value may be
	enum  []literal

	fields   []property
	byName   map[string]int
	rest     *node // for unnamed fields; nil if they are not allowed
	keys     *node // for the names of unnamed fields, if not nil
	minProps uint64
	maxProps uint64

	items    *node
	minItems uint64
	maxItems uint64
	unique   bool

	minLength uint64
	maxLength uint64
	pattern   *regexp.Regexp
	dateTime  bool
	base64    bool
	duration  bool // a time.Duration, which encoding/json decodes from an integer

	minimum, maximum, above, below *number
	multipleOf                     *number

	allOf, anyOf, oneOf []*node
	not                 *node

	wrapper bool // the object wraps a value that is not an object

	orNull *node // if not nil, the value is null or matches this node, and the other fields are ignored
	leaf   leaf  // what Go decodes the value into, if it does so in one step
}

type property struct {
	name     string
	node     *node
	required bool
	// absent is the JSON that encoding/json decodes if the field has a default and is absent.
	absent string
}

// typeSet is a set of JSON types.
type typeSet uint8

const (
	typeObject typeSet = 1 << iota
	typeArray
	typeString
	typeInteger
	typeNumber
	typeBoolean
	typeNull

	typeAny = 1<<iota - 1
)

var typeNames = []string{"object", "array", "string", "integer", "number", "boolean", "null"}

const unbounded = ^uint64(0)

// free accepts every value.
var free = func() *node {
	n := &node{types: typeAny, maxProps: unbounded, maxItems: unbounded, maxLength: unbounded}
	n.rest, n.items = n, n
	return n
}()

// compiler turns schemas into nodes.
type compiler struct {
	defs   jsonschema.Definitions
	leaves map[*jsonschema.Schema]leaf
	named  map[string]*node
	// defaults has the fields with a default, as in the builder.
	defaults map[*jsonschema.Schema][]*field
	// complete is set once all definitions are known.
	complete bool
}

func (b *builder) compiler() *compiler {
	return &compiler{defs: b.defs, leaves: b.leaves, named: map[string]*node{}, defaults: b.defaults}
}

func (c *compiler) compile(s *jsonschema.Schema) (*node, error) {
	if s.Ref != "" {
		return c.definition(s.Ref)
	}
	if isAnything(s) && c.leaves[s].goType == nil {
		return free, nil
	}
	n := *free
	return &n, c.fill(&n, s)
}

func (c *compiler) definition(ref string) (*node, error) {
	name, ok := strings.CutPrefix(ref, refPrefix)
	if n := c.named[name]; n != nil {
		return n, nil
	}
	if !ok || c.defs[name] == nil {
		if c.complete {
			return nil, errorf("the schema has a reference to %q, which is not one of its definitions", ref)
		}
		return free, nil
	}
	n := *free
	c.named[name] = &n
	return &n, c.fill(&n, c.defs[name])
}

// fill sets the fields of n according to s. n must accept everything so far.
func (c *compiler) fill(n *node, s *jsonschema.Schema) error {
	if inner, ok := nullable(s); ok {
		if inner.Ref != "" || inner.AllOf != nil || inner.AnyOf != nil || inner.OneOf != nil || inner.Not != nil {
			// A reference may lead to a definition that is still being filled.
			var err error
			n.orNull, err = c.compile(inner)
			return err
		}
		if err := c.fill(n, inner); err != nil {
			return err
		}
		n.types |= typeNull
		if len(n.enum) > 0 {
			n.enum = append(n.enum, newLiteral([]byte("null")))
		}
		return nil
	}
	if s.Type != "" {
		if n.types = typeOf(s.Type); n.types == 0 {
			return errorf("unknown JSON type %q", s.Type)
		}
	}
	n.leaf = c.leaves[s]
	n.unique = s.UniqueItems
	n.dateTime = s.Format == "date-time"
	n.base64 = s.ContentEncoding == "base64"
	n.duration = n.leaf.goType == durationType && !n.leaf.quoted
	limits := []struct {
		keyword *uint64
		field   *uint64
	}{
		{s.MinLength, &n.minLength}, {s.MaxLength, &n.maxLength},
		{s.MinItems, &n.minItems}, {s.MaxItems, &n.maxItems},
		{s.MinProperties, &n.minProps}, {s.MaxProperties, &n.maxProps},
	}
	for _, l := range limits {
		if l.keyword != nil {
			*l.field = *l.keyword
		}
	}
	n.minimum, n.maximum = bound(s.Minimum), bound(s.Maximum)
	n.above, n.below = bound(s.ExclusiveMinimum), bound(s.ExclusiveMaximum)
	n.multipleOf = bound(s.MultipleOf)
	if s.Pattern != "" {
		var err error
		if n.pattern, err = regexp.Compile(s.Pattern); err != nil {
			return err
		}
	}
	for _, v := range s.Enum {
		n.enum = append(n.enum, newLiteral([]byte(jsonOf(v))))
	}
	if s.Const != nil {
		n.enum = []literal{newLiteral([]byte(jsonOf(s.Const)))}
	}
	if s.Items != nil {
		var err error
		if n.items, err = c.compile(s.Items); err != nil {
			return err
		}
	}
	if err := c.fillAlternatives(n, s); err != nil {
		return err
	}
	return c.fillObject(n, s)
}

func (c *compiler) fillAlternatives(n *node, s *jsonschema.Schema) error {
	for _, a := range []struct {
		from []*jsonschema.Schema
		to   *[]*node
	}{{s.AllOf, &n.allOf}, {s.AnyOf, &n.anyOf}, {s.OneOf, &n.oneOf}} {
		for _, part := range a.from {
			child, err := c.compile(part)
			if err != nil {
				return err
			}
			*a.to = append(*a.to, child)
		}
	}
	var err error
	if s.Not != nil {
		n.not, err = c.compile(s.Not)
	}
	return err
}

func (c *compiler) fillObject(n *node, s *jsonschema.Schema) error {
	if s.PropertyNames != nil {
		var err error
		if n.keys, err = c.compile(s.PropertyNames); err != nil {
			return err
		}
	}
	switch {
	case s.AdditionalProperties == nil:
	case isNothing(s.AdditionalProperties):
		n.rest = nil
	default:
		var err error
		if n.rest, err = c.compile(s.AdditionalProperties); err != nil {
			return err
		}
	}
	if s.Properties == nil && len(s.Required) == 0 {
		return nil
	}
	n.byName = map[string]int{}
	if s.Properties != nil {
		for p := s.Properties.Oldest(); p != nil; p = p.Next() {
			child, err := c.compile(p.Value)
			if err != nil {
				if _, ok := err.(*typeError); !ok {
					err = &typeError{msg: err.Error()}
				}
				return within(p.Key, err)
			}
			n.byName[p.Key] = len(n.fields)
			n.fields = append(n.fields, property{name: p.Key, node: child})
		}
	}
	for _, name := range s.Required {
		i, ok := n.byName[name]
		if !ok {
			i = len(n.fields)
			n.byName[name] = i
			n.fields = append(n.fields, property{name: name, node: free})
		}
		n.fields[i].required = true
	}
	for _, f := range c.defaults[s] {
		i := n.byName[f.name]
		text, _, err := n.fields[i].node.decode([]byte(jsonOf(s.Properties.Value(f.name).Default)), pointee(f.Type))
		if err != nil {
			return within(f.name, &typeError{msg: err.Error()})
		}
		n.fields[i].absent = string(text)
	}
	return nil
}

func typeOf(name string) typeSet {
	for i, n := range typeNames {
		if n == name {
			return 1 << i
		}
	}
	return 0
}

func bound(n json.Number) *number {
	if n == "" {
		return nil
	}
	parsed := parseNumber([]byte(n))
	parsed.text = n.String()
	return &parsed
}
