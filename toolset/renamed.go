// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Renamed renames tools of a toolset: names[old] is the new name. Tools not in the map keep their names. In [Call.Tool],
// a tool sees its old name.
//
// A name that the toolset does not have is an error. It is reported by agent.New if the tools are known by then,
// otherwise in the first step of the run. Rename before filtering, or a name may be missing because of the filter.
func Renamed[D any](set Toolset[D], names map[string]string) Toolset[D] {
	if set == nil {
		return incomplete[D]("Renamed", set)
	}
	names = maps.Clone(names)
	rename := each(func(copied, inner *Tool[D]) {
		if name, ok := names[inner.Def.Name]; ok {
			renameTool(copied, inner, name)
		}
	})
	checked := func(tools []*Tool[D]) ([]*Tool[D], error) {
		if unknown := unknownNames(names, tools); unknown != "" {
			return nil, errors.New("rename: unknown tool " + unknown)
		}
		return rename(tools)
	}
	if _, ok := set.(*static[D]); ok {
		return derived(set, same[D], checked)
	}
	return &view[D, D]{set: set, context: same[D], fixed: rename, begin: func() listFunc[D, D] {
		step := checked
		return derive(func(tools []*Tool[D]) ([]*Tool[D], error) {
			made, err := step(tools)
			step = rename // later steps may miss a tool
			return made, err
		})
	}}
}

// RenamedFunc renames all tools of a toolset. Rename returns the new name for an old one, and must always return the
// same. In [Call.Tool], a tool sees its old name.
func RenamedFunc[D any](set Toolset[D], rename func(name string) string) Toolset[D] {
	if set == nil || rename == nil {
		return incomplete[D]("RenamedFunc", set)
	}
	return derived(set, same[D], each(func(copied, inner *Tool[D]) { renameTool(copied, inner, rename(inner.Def.Name)) }))
}

// unknownNames lists the keys of names that match no tool.
func unknownNames[D any](names map[string]string, tools []*Tool[D]) string {
	var unknown []string
	for old := range names {
		if !slices.ContainsFunc(tools, func(t *Tool[D]) bool { return t.Def.Name == old }) {
			unknown = append(unknown, fmt.Sprintf("%q", old))
		}
	}
	slices.Sort(unknown)
	return strings.Join(unknown, ", ")
}

// renameTool makes copied, a copy of inner, a tool with another name.
func renameTool[D any](copied, inner *Tool[D], name string) {
	copied.Def.Name = name
	// The tool's own functions see the name it was defined with.
	if inner.Call != nil {
		copied.Call = func(ctx context.Context, run *RunContext[D], args any) (Result, error) {
			return inner.Call(ctx, under(inner.Def.Name, run), args)
		}
	}
	if inner.Check != nil {
		copied.Check = func(ctx context.Context, run *RunContext[D], args any) error {
			return inner.Check(ctx, under(inner.Def.Name, run), args)
		}
	}
	if inner.Approval != nil {
		copied.Approval = func(ctx context.Context, run *RunContext[D], args any) (*Approval, error) {
			return inner.Approval(ctx, under(inner.Def.Name, run), args)
		}
	}
	if inner.Effects != nil {
		copied.Effects = func(ctx context.Context, run *RunContext[D], args any) ([]Effect, error) {
			return inner.Effects(ctx, under(inner.Def.Name, run), args)
		}
	}
}

// under is not inlined, which keeps programs smaller.
//
//go:noinline
func under[D any](name string, run *RunContext[D]) *RunContext[D] {
	inside := *run
	inside.Call.Tool = name
	return &inside
}
