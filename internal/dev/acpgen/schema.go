// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// schema is the subset of JSON Schema (and of the x- keywords of its generator) that the protocol
// uses. Prose is not read.
type schema struct {
	Ref                  string          `json:"$ref"`
	Type                 typeSet         `json:"type"`
	Const                json.RawMessage `json:"const"`
	Title                string          `json:"title"`
	Format               string          `json:"format"`
	Properties           properties      `json:"properties"`
	Required             []string        `json:"required"`
	Items                *schema         `json:"items"`
	AdditionalProperties json.RawMessage `json:"additionalProperties"`
	AllOf                []*schema       `json:"allOf"`
	AnyOf                []*schema       `json:"anyOf"`
	OneOf                []*schema       `json:"oneOf"`
	Default              json.RawMessage `json:"default"`
	DefaultOnError       bool            `json:"x-deserialize-default-on-error"`
	DefaultOnNull        bool            `json:"x-deserialize-default-on-null"`
	SkipInvalidItems     bool            `json:"x-deserialize-skip-invalid-items"`
	Method               string          `json:"x-method"`
	Side                 string          `json:"x-side"`
}

// root is the part of the document that matters here.
type root struct {
	Defs map[string]*schema `json:"$defs"`
}

func parseSchema(data []byte) (*root, error) {
	var r root
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("parse schema: %w", err)
	}
	if len(r.Defs) == 0 {
		return nil, fmt.Errorf("parse schema: no $defs")
	}
	return &r, nil
}

// ref returns the name of the definition that s refers to, directly or wrapped in an allOf of one.
func (s *schema) ref() string {
	if s.Ref != "" {
		return strings.TrimPrefix(s.Ref, "#/$defs/")
	}
	if len(s.AllOf) == 1 {
		return s.AllOf[0].ref()
	}
	return ""
}

// nonNull unwraps anyOf [X, null].
func (s *schema) nonNull() (inner *schema, nullable bool) {
	if len(s.AnyOf) == 2 && s.AnyOf[1].Type.is("null") {
		return s.AnyOf[0], true
	}
	return s, s.Type.has("null")
}

// variants returns the alternatives of a union, nil if s is none.
func (s *schema) variants() []*schema {
	if len(s.OneOf) > 0 {
		return s.OneOf
	}
	return s.AnyOf
}

func (s *schema) requires(name string) bool {
	for _, r := range s.Required {
		if r == name {
			return true
		}
	}
	return false
}

// constString returns the string that s must be, "" if it is not a constant string.
func (s *schema) constString() string {
	var v string
	if json.Unmarshal(s.Const, &v) != nil {
		return ""
	}
	return v
}

// typeSet is the "type" keyword: one name or several.
type typeSet []string

func (t *typeSet) UnmarshalJSON(b []byte) error {
	if b[0] == '[' {
		return json.Unmarshal(b, (*[]string)(t))
	}
	var one string
	if err := json.Unmarshal(b, &one); err != nil {
		return err
	}
	*t = typeSet{one}
	return nil
}

func (t typeSet) has(name string) bool {
	for _, n := range t {
		if n == name {
			return true
		}
	}
	return false
}

func (t typeSet) is(name string) bool { return len(t) == 1 && t[0] == name }

// base returns the type that is not null.
func (t typeSet) base() string {
	for _, n := range t {
		if n != "null" {
			return n
		}
	}
	return ""
}

// properties keeps the order of the document.
type properties []property

type property struct {
	name   string
	schema *schema
}

func (p *properties) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil { // {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var s schema
		if err := d.Decode(&s); err != nil {
			return err
		}
		*p = append(*p, property{key.(string), &s})
	}
	return nil
}

func (p properties) get(name string) *schema {
	for _, x := range p {
		if x.name == name {
			return x.schema
		}
	}
	return nil
}
