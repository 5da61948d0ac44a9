// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"context"
	"fmt"
)

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
	return &named[D]{name, set}
}

type named[D any] struct {
	name string
	set  Toolset[D]
}

func (n *named[D]) Name() string { return n.name }

func (n *named[D]) Open(ctx context.Context, run *RunContext[D]) (Instance[D], error) {
	return n.set.Open(ctx, run)
}

// Check implements [Checker].
func (n *named[D]) Check() error {
	if err := check(n.set); err != nil {
		return fmt.Errorf("toolset %s: %w", n.name, err)
	}
	return nil
}

// FixedTools implements [Fixed].
func (n *named[D]) FixedTools() []*Tool[D] {
	if fixed, ok := n.set.(Fixed[D]); ok {
		return fixed.FixedTools()
	}
	return nil
}

// check returns the error of a [Checker], or nil for other toolsets.
func check[D any](set Toolset[D]) error {
	if checker, ok := set.(Checker); ok {
		return checker.Check()
	}
	return nil
}
