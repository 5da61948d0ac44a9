// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"context"

	"github.com/ponte-go/ponte/internal/errs"
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
			c.err = errs.Errorf("toolset %s: %w", name, c.err)
		}
		return &c
	}
	return &named[D]{set, name}
}

type named[D any] struct {
	set  Toolset[D]
	name string
}

func (n *named[D]) Name() string { return n.name }

func (n *named[D]) Open(ctx context.Context, run *RunContext[D]) (Instance[D], error) {
	return n.set.Open(ctx, run)
}

// FixedTools implements [Fixed].
func (n *named[D]) FixedTools() []*Tool[D] { return fixedTools(n.set) }

// Check implements [Checker].
func (n *named[D]) Check() error {
	if err := check(n.set); err != nil {
		return errs.Errorf("toolset %s: %w", n.name, err)
	}
	return nil
}
