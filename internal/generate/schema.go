// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// node is a JSON schema with the keywords that [Value] knows. A nil node accepts everything.
type node struct {
	never bool // the schema false

	Ref   string            `json:"$ref"`
	Type  typeList          `json:"type"`
	Enum  []json.RawMessage `json:"enum"`
	Const json.RawMessage   `json:"const"`
	AllOf []*node           `json:"allOf"`
	AnyOf []*node           `json:"anyOf"`
	OneOf []*node           `json:"oneOf"`
	Not   *node             `json:"not"`

	Properties    properties `json:"properties"`
	Required      []string   `json:"required"`
	Rest          *node      `json:"additionalProperties"`
	PropertyNames *node      `json:"propertyNames"`
	MinProperties *count     `json:"minProperties"`
	MaxProperties *count     `json:"maxProperties"`

	Items    *items  `json:"items"`
	Prefix   []*node `json:"prefixItems"`
	MinItems *count  `json:"minItems"`
	MaxItems *count  `json:"maxItems"`
	Unique   bool    `json:"uniqueItems"`

	MinLength *count   `json:"minLength"`
	MaxLength *count   `json:"maxLength"`
	Patterns  patterns `json:"pattern"`
	Format    string   `json:"format"`
	Encoding  string   `json:"contentEncoding"`

	Minimum    *number `json:"minimum"`
	Maximum    *number `json:"maximum"`
	Above      *number `json:"exclusiveMinimum"`
	Below      *number `json:"exclusiveMaximum"`
	MultipleOf *number `json:"multipleOf"`
}

// nodeFields has the fields of node and none of its methods.
type nodeFields node

func (n *node) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case 't':
		*n = node{}
		return nil
	case 'f':
		*n = node{never: true}
		return nil
	case '{':
		if err := json.Unmarshal(data, (*nodeFields)(n)); err != nil {
			return err
		}
		if n.MultipleOf != nil && n.MultipleOf.Sign() <= 0 {
			return errors.New("multipleOf is not above zero")
		}
		if n.Const != nil { // an enum of one
			n.Enum = mergeEnums(n.Enum, []json.RawMessage{n.Const})
		}
		return nil
	}
	return fmt.Errorf("%s is no schema", data)
}

// orAny returns n, or an empty node if n is nil.
func (n *node) orAny() *node {
	if n == nil {
		return &node{}
	}
	return n
}

// typeList is the type keyword: a name or a list of names.
type typeList []string

func (t *typeList) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		*t = make(typeList, 1)
		return json.Unmarshal(data, &(*t)[0])
	}
	return json.Unmarshal(data, (*[]string)(t))
}

func (t typeList) has(name string) bool { return len(t) == 0 || slices.Contains(t, name) }

// properties keep the order of the schema, for that is the order in which models write them.
type properties []property

type property struct {
	name string
	node *node
}

func (p properties) find(name string) (*node, bool) {
	for i := range p {
		if p[i].name == name {
			return p[i].node, true
		}
	}
	return nil, false
}

func (p *properties) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return errors.New("properties are no object")
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var n *node
		if err := dec.Decode(&n); err != nil {
			return err
		}
		*p = append(*p, property{name.(string), n})
	}
	return nil
}

// items is the items keyword, which up to draft 7 could also be what prefixItems is now.
type items struct {
	node   *node
	prefix []*node
}

func (i *items) UnmarshalJSON(data []byte) error {
	if data[0] == '[' {
		return json.Unmarshal(data, &i.prefix)
	}
	return json.Unmarshal(data, &i.node)
}

// patterns is the pattern keyword; merged schemas have several.
type patterns []string

func (p *patterns) UnmarshalJSON(data []byte) error {
	*p = make(patterns, 1)
	return json.Unmarshal(data, &(*p)[0])
}

// count is a length, which a schema may also write as 1.0 or 1e3.
type count int

const maxCount = 1 << 30

func (c *count) UnmarshalJSON(data []byte) error {
	f, err := strconv.ParseFloat(string(data), 64)
	if err != nil || f < 0 {
		return fmt.Errorf("%s is no length", data)
	}
	*c = count(min(f, maxCount))
	return nil
}

// number is an exact number.
type number struct{ *big.Rat }

func (n *number) UnmarshalJSON(data []byte) error {
	r, ok := exact(string(data))
	if !ok {
		return fmt.Errorf("%s is no number, or too large a one", data)
	}
	n.Rat = r
	return nil
}

// exact reads a JSON number. It refuses exponents that would make the exact number very large in
// memory.
func exact(text string) (*big.Rat, bool) {
	if _, exponent, ok := strings.Cut(strings.ToLower(text), "e"); ok {
		if e, err := strconv.Atoi(exponent); err != nil || e < -400 || e > 400 {
			return nil, false
		}
	}
	return new(big.Rat).SetString(text)
}

// document is a schema with what its references lead to.
type document struct {
	raw  json.RawMessage
	root *node
	refs map[string]*node
}

func parseSchema(schema json.RawMessage) (*document, error) {
	d := &document{raw: schema, refs: map[string]*node{}}
	if err := json.Unmarshal(schema, &d.root); err != nil {
		return nil, fmt.Errorf("the schema cannot be read: %w", err)
	}
	if d.root == nil {
		return nil, errors.New("the schema cannot be read: it is null")
	}
	return d, nil
}

// resolve follows a reference within the document, "#" or "#/" and a JSON pointer (RFC 6901).
func (d *document) resolve(ref string) (*node, error) {
	if n, ok := d.refs[ref]; ok {
		return n, nil
	}
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || pointer != "" && pointer[0] != '/' {
		return nil, fmt.Errorf("the reference %q leads out of the schema", ref)
	}
	raw := d.raw
	for pointer != "" {
		var step string
		step, pointer, _ = strings.Cut(pointer[1:], "/")
		if pointer != "" {
			pointer = "/" + pointer
		}
		raw = member(raw, strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
	}
	var n *node
	if raw == nil || json.Unmarshal(raw, &n) != nil {
		return nil, fmt.Errorf("the reference %q leads to no schema", ref)
	}
	d.refs[ref] = n
	return n, nil
}

// member returns the member of an object or array, or nil.
func member(raw json.RawMessage, name string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) == nil {
		return object[name]
	}
	var list []json.RawMessage
	i, err := strconv.Atoi(name)
	if err != nil || json.Unmarshal(raw, &list) != nil || i < 0 || i >= len(list) {
		return nil
	}
	return list[i]
}
