// SPDX-License-Identifier: Apache-2.0

package toolset

import "fmt"

// Named returns a toolset with another name. Errors use the name to identify it.
func Named[D any](set Toolset[D], name string) Toolset[D] {
	if set == nil {
		return broken[D](name, "the toolset is nil")
	}
	if s, ok := set.(*static[D]); ok {
		c := *s
		c.name = name
		if c.err != nil {
			c.err = fmt.Errorf("toolset %s: %w", name, c.err)
		}
		return &c
	}
	return &named[D]{Base[D]{set}, name}
}

type named[D any] struct {
	Base[D]
	name string
}

func (n *named[D]) Name() string { return n.name }

// Check implements [Checker].
func (n *named[D]) Check() error {
	if err := n.Base.Check(); err != nil {
		return fmt.Errorf("toolset %s: %w", n.name, err)
	}
	return nil
}
