// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/toolset"
)

// All returns a toolset with the tools of several servers. It is a [toolset.Combine] of [Tools]
// that also checks that the servers have different names.
func All[D any](servers []*Server, options Options[D]) toolset.Toolset[D] {
	g := &group[D]{}
	var sets []toolset.Toolset[D]
	for _, s := range servers {
		set := &serverTools[D]{server: s, options: options}
		g.sets, sets = append(g.sets, set), append(sets, set)
	}
	g.Toolset = toolset.Combine(sets...)
	return g
}

type group[D any] struct {
	toolset.Base[D]
	sets []*serverTools[D]
}

// Name implements [toolset.Toolset].
func (g *group[D]) Name() string {
	names := make([]string, len(g.sets))
	for i, s := range g.sets {
		names[i] = s.Name()
	}
	return strings.Join(names, "+")
}

// Check implements [toolset.Checker].
func (g *group[D]) Check() error {
	var errs []error
	seen := map[string]bool{}
	for _, s := range g.sets {
		if err := s.Check(); err != nil {
			errs = append(errs, err)
			continue
		}
		if name := s.server.config.Name; seen[name] {
			errs = append(errs, fmt.Errorf("mcptoolset: All: two servers are named %q", name))
		} else {
			seen[name] = true
		}
	}
	return errors.Join(errs...)
}

// Open implements [toolset.Toolset].
func (g *group[D]) Open(ctx context.Context, run *toolset.RunContext[D]) (toolset.Instance[D], error) {
	if err := g.Check(); err != nil {
		return nil, err
	}
	return g.Base.Open(ctx, run)
}
