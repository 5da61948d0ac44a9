// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"encoding/json"
	"math/big"
	"slices"
)

// merge returns a schema of the values that both a and b accept. Where that cannot be said in one schema the result
// accepts more; what is generated from it is checked against the original.
func merge(a, b *node) *node {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	m := *a
	m.never = a.never || b.never
	m.Ref = ""
	for _, ref := range []string{a.Ref, b.Ref} {
		switch {
		case m.Ref == "":
			m.Ref = ref
		case ref != "":
			m.AllOf = append(slices.Clip(m.AllOf), &node{Ref: ref})
		}
	}
	m.Type = mergeTypes(a.Type, b.Type)
	if len(a.Type) > 0 && len(b.Type) > 0 && len(m.Type) == 0 {
		m.never = true
	}
	m.Enum = mergeEnums(a.Enum, b.Enum)
	m.AllOf = slices.Concat(m.AllOf, b.AllOf)
	m.AnyOf, m.AllOf = mergeAlternatives(a.AnyOf, b.AnyOf, m.AllOf, func(l []*node) *node { return &node{AnyOf: l} })
	m.OneOf, m.AllOf = mergeAlternatives(a.OneOf, b.OneOf, m.AllOf, func(l []*node) *node { return &node{OneOf: l} })
	if a.Not != nil && b.Not != nil {
		m.Not = &node{AnyOf: []*node{a.Not, b.Not}}
	} else {
		m.Not = cmp.Or(a.Not, b.Not)
	}
	m.mergeObjects(a, b)

	if a.Items == nil {
		m.Items = b.Items
	} else if b.Items != nil {
		m.Items = &items{merge(a.Items.node, b.Items.node), orElse(a.Items.prefix, b.Items.prefix)}
	}
	m.Prefix = orElse(a.Prefix, b.Prefix)
	m.Unique = a.Unique || b.Unique
	m.MinItems, m.MaxItems = larger(a.MinItems, b.MinItems), smaller(a.MaxItems, b.MaxItems)

	m.MinLength, m.MaxLength = larger(a.MinLength, b.MinLength), smaller(a.MaxLength, b.MaxLength)
	m.Patterns = slices.Concat(a.Patterns, b.Patterns)
	if m.Format == "" {
		m.Format = b.Format
	}
	if m.Encoding == "" {
		m.Encoding = b.Encoding
	}

	m.Minimum, m.Above = mergeBound(a.Minimum, b.Minimum, 1), mergeBound(a.Above, b.Above, 1)
	m.Maximum, m.Below = mergeBound(a.Maximum, b.Maximum, -1), mergeBound(a.Below, b.Below, -1)
	m.MultipleOf = mergeMultiples(a.MultipleOf, b.MultipleOf)
	return &m
}

func (m *node) mergeObjects(a, b *node) {
	m.Properties = slices.Clone(a.Properties)
	for _, p := range b.Properties {
		i := slices.IndexFunc(m.Properties, func(q property) bool { return q.name == p.name })
		if i < 0 {
			m.Properties = append(m.Properties, p)
		} else {
			m.Properties[i].node = merge(m.Properties[i].node, p.node)
		}
	}
	m.Required = slices.Clone(a.Required)
	for _, name := range b.Required {
		if !slices.Contains(m.Required, name) {
			m.Required = append(m.Required, name)
		}
	}
	m.Rest = merge(a.Rest, b.Rest)
	m.PropertyNames = merge(a.PropertyNames, b.PropertyNames)
	m.MinProperties, m.MaxProperties = larger(a.MinProperties, b.MinProperties), smaller(a.MaxProperties, b.MaxProperties)
}

// mergeEnums returns the values that are in both lists; nil means all values.
func mergeEnums(a, b []json.RawMessage) []json.RawMessage {
	if a == nil || b == nil {
		return orElse(a, b)
	}
	both := []json.RawMessage{}
	for _, v := range a {
		if slices.ContainsFunc(b, func(w json.RawMessage) bool { return equalJSON(decoded(v), decoded(w)) }) {
			both = append(both, v)
		}
	}
	return both
}

func mergeTypes(a, b typeList) typeList {
	if len(a) == 0 || len(b) == 0 {
		return orElse(a, b)
	}
	var both typeList
	for _, t := range a {
		switch {
		case slices.Contains(b, t), t == "integer" && slices.Contains(b, "number"):
			both = append(both, t)
		case t == "number" && slices.Contains(b, "integer"):
			both = append(both, "integer")
		}
	}
	return both
}

// mergeAlternatives keeps the alternatives of one side in place and adds the alternatives of the
// other to all.
func mergeAlternatives(a, b, all []*node, of func([]*node) *node) (list, allOf []*node) {
	if len(a) > 0 && len(b) > 0 {
		return a, append(slices.Clip(all), of(b))
	}
	return orElse(a, b), all
}

func mergeMultiples(a, b *number) *number {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	// The least common multiple of two fractions, with the denominators brought together.
	denominator := new(big.Int).Mul(a.Denom(), b.Denom())
	x, y := new(big.Int).Mul(a.Num(), b.Denom()), new(big.Int).Mul(b.Num(), a.Denom())
	divisor := new(big.Int).GCD(nil, nil, x, y)
	lcm := new(big.Int).Div(new(big.Int).Mul(x, y), divisor)
	return &number{new(big.Rat).SetFrac(lcm, denominator)}
}

// mergeBound returns the larger of two bounds for a sign of 1, the smaller one for -1.
func mergeBound(a, b *number, sign int) *number {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	if a.Cmp(b.Rat) == sign {
		return a
	}
	return b
}

func larger(a, b *count) *count {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return new(max(*a, *b))
}

func smaller(a, b *count) *count {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return new(min(*a, *b))
}

// orElse returns the first list that is not nil.
func orElse[S ~[]E, E any](a, b S) S {
	if a != nil {
		return a
	}
	return b
}
