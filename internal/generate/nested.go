// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"fmt"
	"slices"
)

// at adds the place in the value to an error.
func at(step string, err error) error { return fmt.Errorf("%s: %w", step, err) }

func (g *generator) object(n *node, depth int) error {
	most := limit(n.MaxProperties, maxCount)
	least := limit(n.MinProperties, 0)
	plain := g.plain(depth)

	g.out = append(g.out, '{')
	written := map[string]bool{}
	for _, p := range n.Properties {
		required := slices.Contains(n.Required, p.name)
		wanted := !plain && g.rand != nil && g.choose(2) == 1 || len(written) < least-len(n.Required)
		if !required && (!wanted || len(written) >= most) {
			continue
		}
		if err := g.member(p.name, p.node, depth, written); err != nil && required {
			return at(p.name, err)
		}
	}
	for _, name := range n.Required {
		if _, known := n.Properties.find(name); !known && !written[name] {
			if err := g.member(name, n.Rest, depth, written); err != nil {
				return at(name, err)
			}
		}
	}
	// A map gets an entry or a few, anything else only what it must have.
	wanted := least
	if n.Rest != nil && !n.Rest.never && len(n.Properties) == 0 && !plain {
		wanted = max(wanted, 1+g.choose(3))
	}
	if err := g.entries(n, min(wanted, most), depth, written); err != nil && len(written) < least {
		return err
	}
	g.out = append(g.out, '}')
	return nil
}

// entries adds members with new names until there are n of them.
func (g *generator) entries(n *node, wanted, depth int, written map[string]bool) error {
	before := g.vary
	for tries := 0; len(written) < wanted; tries++ {
		if tries > wanted+maxTries {
			return fmt.Errorf("%w: too few names for properties", errNoValue)
		}
		names := node{Type: typeList{"string"}}
		start := len(g.out)
		g.vary = tries
		err := g.value(merge(&names, n.PropertyNames), depth+1, 0)
		name, _ := decoded(g.out[start:]).(string)
		g.out, g.vary = g.out[:start], before
		if err != nil {
			return at("the name of a property", err)
		}
		if _, known := n.Properties.find(name); known || written[name] {
			continue
		}
		if err := g.member(name, n.Rest, depth, written); err != nil {
			return at(name, err)
		}
	}
	return nil
}

// member appends a member of an object, or leaves the text as it was.
func (g *generator) member(name string, n *node, depth int, written map[string]bool) error {
	start := len(g.out)
	if len(written) > 0 {
		g.out = append(g.out, ',')
	}
	g.out = append(appendString(g.out, name), ':')
	if err := g.value(n, depth+1, 0); err != nil {
		g.out = g.out[:start]
		return err
	}
	written[name] = true
	return nil
}

func (g *generator) array(n *node, depth int) error {
	least, most := limit(n.MinItems, 0), limit(n.MaxItems, maxCount)
	wanted := least
	if !g.plain(depth) {
		wanted = max(wanted, len(n.Prefix), 1+g.choose(3))
	}
	var before []any
	vary := g.vary
	g.out = append(g.out, '[')
	for i := range min(wanted, most) {
		start := len(g.out)
		if i > 0 {
			g.out = append(g.out, ',')
		}
		from := len(g.out)
		write := func() error { return g.value(n.item(i), depth+1, 0) }
		err := error(nil)
		if n.Unique {
			g.vary += i // which is likely to be another one
			err = g.until(maxTries, func(text []byte) bool {
				v := decoded(text)
				return !slices.ContainsFunc(before, func(b any) bool { return equalJSON(b, v) })
			}, write)
			g.vary = vary
		} else {
			err = write()
		}
		if err != nil {
			g.out = g.out[:start]
			if i < least {
				return at(fmt.Sprintf("[%d]", i), err)
			}
			break
		}
		if n.Unique {
			before = append(before, decoded(g.out[from:]))
		}
	}
	g.out = append(g.out, ']')
	return nil
}

func limit(c *count, otherwise int) int {
	if c == nil {
		return otherwise
	}
	return int(*c)
}
