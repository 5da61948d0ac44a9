// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"slices"
)

func unmarshal(data []byte, v any) error { return json.Unmarshal(data, v) }

// addUnion makes d a union of the variants. A variant titled "other" asks to keep unknown ones,
// which all unions do.
func (m *model) addUnion(d *def, vs []*schema) error {
	u := &union{fallback: fallbacks[d.name]}
	d.union = u
	for _, s := range vs {
		if s.Title == "other" {
			continue
		}
		v, tagProp, err := m.variant(d, s)
		if err != nil {
			return err
		}
		if tagProp != "" {
			if u.tag != "" && u.tag != tagProp {
				return fmt.Errorf("variants with different discriminators %s and %s", u.tag, tagProp)
			}
			u.tag = tagProp
		}
		u.variants = append(u.variants, v)
	}
	if u.tag != "" {
		return nil
	}
	for i, s := range vs {
		key, err := m.distinctKey(vs, i)
		if err != nil {
			return fmt.Errorf("variant %s: %w", s.Title, err)
		}
		u.variants[i].key = key
	}
	return nil
}

// variant returns one alternative and the name of the property that is its tag, if it has one.
func (m *model) variant(d *def, s *schema) (v variant, tagProp string, err error) {
	for _, p := range s.Properties {
		if c := p.schema.constString(); c != "" {
			tagProp, v.tag = p.name, c
		}
	}
	if v.tag != "" {
		v.field = goName(v.tag)
	} else {
		v.alias = s.Title
		v.field = variantNames[s.Title]
		if v.field == "" {
			v.field = goName(s.Title)
		}
	}
	if ref := s.ref(); ref != "" {
		v.typ = goName(ref)
		return v, tagProp, nil
	}
	// The variant is spelt out in place: it becomes a type named after union and variant.
	inline := &def{name: d.name + "." + v.field, goName: d.goName + v.field}
	m.defs[inline.goName] = inline
	v.typ = inline.goName
	return v, tagProp, m.addFields(inline, s)
}

// distinctKey returns the first required property of variant i that no other variant has.
func (m *model) distinctKey(vs []*schema, i int) (string, error) {
	resolve := func(s *schema) *schema {
		if r := s.ref(); r != "" {
			return m.root.Defs[r]
		}
		return s
	}
	for _, key := range resolve(vs[i]).Required {
		shared := slices.ContainsFunc(vs, func(o *schema) bool {
			return o != vs[i] && resolve(o).Properties.get(key) != nil
		})
		if !shared {
			return key, nil
		}
	}
	return "", fmt.Errorf("no key tells it apart")
}

// closeNested marks the unions that are themselves variants of a union with a body: they are
// flattened into it.
func (m *model) closeNested() {
	for _, d := range m.defs {
		if d.union == nil {
			continue
		}
		for _, v := range d.union.variants {
			if v.def.union != nil {
				v.def.union.closed = true
			}
		}
	}
}

func (m *model) recordUses() {
	for _, d := range m.sorted() {
		for _, f := range d.fields {
			t := &f.typ
			for t.elem != nil {
				t = t.elem
			}
			if used := m.defs[t.name]; used != nil {
				used.usedBy = append(used.usedBy, fmt.Sprintf("%s.%s", d.goName, f.name))
			}
		}
	}
	for _, d := range m.defs {
		slices.Sort(d.usedBy)
	}
}
