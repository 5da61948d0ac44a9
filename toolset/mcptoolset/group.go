// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/toolset"
)

// All returns a toolset with the tools of several servers. They connect at the same time when a run begins, so a run waits for the slowest
// one and not for all of them in turn. If two tools have the same name, the first one is offered.
func All[D any](servers []*Server, options Options[D]) toolset.Toolset[D] {
	g := &group[D]{}
	for _, s := range servers {
		g.sets = append(g.sets, &serverTools[D]{server: s, options: options})
	}
	return g
}

type group[D any] struct{ sets []*serverTools[D] }

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
	for _, s := range g.sets {
		s.server.Connect()
	}
	in := &groupInstance[D]{sets: g.sets, last: make([]toolset.Listing[D], len(g.sets))}
	for _, s := range g.sets {
		if _, err := s.Open(ctx, run); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// groupInstance keeps what was joined last, so that equal tools are the same slice.
type groupInstance[D any] struct {
	sets   []*serverTools[D]
	last   []toolset.Listing[D]
	joined toolset.Listing[D]
}

// Tools implements [toolset.Instance].
func (g *groupInstance[D]) Tools(ctx context.Context, run *toolset.RunContext[D]) (toolset.Listing[D], error) {
	changed := false
	for i, s := range g.sets {
		l, err := s.Tools(ctx, run)
		if err != nil {
			return toolset.Listing[D]{}, err
		}
		changed = changed || !slices.Equal(l.Tools, g.last[i].Tools) || l.Instructions != g.last[i].Instructions
		g.last[i] = l
	}
	if !changed {
		return g.joined, nil
	}
	var tools []*toolset.Tool[D]
	var texts []string
	taken := map[string]bool{}
	for _, l := range g.last {
		for _, t := range l.Tools {
			if !taken[t.Def.Name] {
				taken[t.Def.Name] = true
				tools = append(tools, t)
			}
		}
		if l.Instructions != "" {
			texts = append(texts, l.Instructions)
		}
	}
	g.joined = toolset.Listing[D]{Tools: tools, Instructions: strings.Join(texts, "\n\n")}
	return g.joined, nil
}

// Close implements [toolset.Instance].
func (g *groupInstance[D]) Close(context.Context) error { return nil }
