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

// Renamed gives tools of a toolset other names: names[old] is the new name, and tools that are not mentioned keep theirs.
// A tool sees its old name in [Call.Tool].
//
// A name that the toolset does not have is an error: of agent.New if the tools are known by then, else of the run's first
// step. Rename first and filter afterwards, so that it does not depend on a filter whether a name is there.
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
			return nil, errors.New("rename: there is no tool " + unknown)
		}
		return rename(tools)
	}
	if _, ok := set.(*static[D]); ok {
		return derived(set, same[D], checked)
	}
	return &view[D, D]{set: set, context: same[D], begin: func() listFunc[D, D] {
		step := checked
		return derive(func(tools []*Tool[D]) ([]*Tool[D], error) {
			made, err := step(tools)
			step = rename // later steps may miss a tool
			return made, err
		})
	}}
}

// RenamedFunc gives all tools of a toolset other names: rename returns the new name for an old one, and always the same.
// A tool sees its old name in [Call.Tool].
func RenamedFunc[D any](set Toolset[D], rename func(name string) string) Toolset[D] {
	if set == nil || rename == nil {
		return incomplete[D]("RenamedFunc", set)
	}
	return derived(set, same[D], each(func(copied, inner *Tool[D]) { renameTool(copied, inner, rename(inner.Def.Name)) }))
}

// unknownNames lists the keys of names that no tool has.
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

// renameTool makes copied, a copy of inner, a tool of another name.
func renameTool[D any](copied, inner *Tool[D], name string) {
	copied.Def.Name = name
	// What belongs to the tool itself goes by the name that it was defined with.
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
}

func under[D any](name string, run *RunContext[D]) *RunContext[D] {
	inside := *run
	inside.Call.Tool = name
	return &inside
}
