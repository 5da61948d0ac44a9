// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"bytes"
	"context"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
)

// Prepared changes or drops tool definitions in each step. Prepare gets one definition at a time and returns the
// definition to show to the model, or nil to leave out the tool. It cannot rename a tool. Use [Renamed] for that.
//
// The checking of arguments does not change. A changed schema should therefore only be stricter than the original one,
// for example by listing the values that make sense in this run. Definitions should not change without need, because a
// provider's prompt cache starts with them.
func Prepared[D any](set Toolset[D], prepare func(ctx context.Context, run *RunContext[D], def model.ToolDef) (*model.ToolDef, error)) Toolset[D] {
	if set == nil || prepare == nil {
		return incomplete[D]("Prepared", set)
	}
	return &view[D, D]{set: set, context: same[D], begin: func() listFunc[D, D] {
		var kept steady[D]
		var made redefined[D]
		return func(ctx context.Context, run *RunContext[D], inner Listing[D]) (Listing[D], error) {
			kept.begin()
			made.begin(inner.Tools)
			for _, t := range inner.Tools {
				def, err := prepare(ctx, run, t.Def)
				switch {
				case err != nil:
					return Listing[D]{}, errs.Errorf("prepare tool %q: %w", t.Def.Name, err)
				case def == nil:
					continue
				case def.Name != t.Def.Name:
					return Listing[D]{}, errs.Errorf("prepare tool %q: must not be renamed to %q", t.Def.Name, def.Name)
				}
				tool, err := made.tool(t, def)
				if err != nil {
					return Listing[D]{}, errs.Errorf("prepare tool %q: %w", t.Def.Name, err)
				}
				kept.add(tool)
			}
			return Listing[D]{Tools: kept.end(), Instructions: inner.Instructions}, nil
		}
	}}
}

// PreparedAll is like [Prepared], but prepare gets all definitions of a step at once. It may change, drop and reorder
// them, but must not add or rename any. It may modify the slice until it returns.
func PreparedAll[D any](set Toolset[D], prepare func(ctx context.Context, run *RunContext[D], defs []model.ToolDef) ([]model.ToolDef, error)) Toolset[D] {
	if set == nil || prepare == nil {
		return incomplete[D]("PreparedAll", set)
	}
	return &view[D, D]{set: set, context: same[D], begin: func() listFunc[D, D] {
		var kept steady[D]
		var made redefined[D]
		var defs []model.ToolDef
		return func(ctx context.Context, run *RunContext[D], inner Listing[D]) (Listing[D], error) {
			kept.begin()
			made.begin(inner.Tools)
			defs = defs[:0]
			for _, t := range inner.Tools {
				defs = append(defs, t.Def)
			}
			prepared, err := prepare(ctx, run, defs)
			if err != nil {
				return Listing[D]{}, errs.Errorf("prepare tools: %w", err)
			}
			for i := range prepared {
				def := &prepared[i]
				t := find(inner.Tools, i, def.Name)
				if t == nil {
					return Listing[D]{}, errs.Errorf("prepare tools: tool %q was added or renamed", def.Name)
				}
				if slices.ContainsFunc(prepared[:i], func(d model.ToolDef) bool { return d.Name == def.Name }) {
					return Listing[D]{}, errs.Errorf("prepare tools: tool %q is listed twice", def.Name)
				}
				tool, err := made.tool(t, def)
				if err != nil {
					return Listing[D]{}, errs.Errorf("prepare tools: tool %q: %w", def.Name, err)
				}
				kept.add(tool)
			}
			return Listing[D]{Tools: kept.end(), Instructions: inner.Instructions}, nil
		}
	}}
}

// find returns the tool with the given name. It looks at index at first.
func find[D any](tools []*Tool[D], at int, name string) *Tool[D] {
	if at < len(tools) && tools[at].Def.Name == name {
		return tools[at]
	}
	if i := slices.IndexFunc(tools, func(t *Tool[D]) bool { return t.Def.Name == name }); i >= 0 {
		return tools[i]
	}
	return nil
}

// redefined makes tools with changed definitions. It returns the same tool as in the previous step if the definition is
// the same.
type redefined[D any] struct {
	from []*Tool[D]
	made map[*Tool[D]]*Tool[D]
}

func (r *redefined[D]) begin(inner []*Tool[D]) {
	if !sameSlice(inner, r.from) {
		r.from = inner
		clear(r.made)
	}
}

func (r *redefined[D]) tool(inner *Tool[D], def *model.ToolDef) (*Tool[D], error) {
	if equalDefs(&inner.Def, def) {
		return inner, nil
	}
	if made, ok := r.made[inner]; ok && equalDefs(&made.Def, def) {
		return made, nil
	}
	made := *inner
	made.Def = *def
	if !sameBytes(def.Schema, inner.Def.Schema) {
		made.Def.Schema = slices.Clone(def.Schema) // the function may reuse its memory
	}
	if err := checkSchema(made.Def.Schema); err != nil {
		return nil, err
	}
	made.sound = made.Def.Schema
	if r.made == nil {
		r.made = map[*Tool[D]]*Tool[D]{}
	}
	r.made[inner] = &made
	return &made, nil
}

func equalDefs(a, b *model.ToolDef) bool {
	return a.Name == b.Name && a.Description == b.Description && a.Strict == b.Strict && bytes.Equal(a.Schema, b.Schema)
}
