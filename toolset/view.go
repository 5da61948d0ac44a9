// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"context"
	"errors"
	"slices"
)

// view is a toolset that presents the tools of another toolset. Most combinators are views: the lifecycle passes through,
// and only the listing of each step differs.
type view[N, D any] struct {
	set Toolset[N]
	// context makes the inner run context.
	context func(*RunContext[D]) *RunContext[N]
	// fixed makes the tools that every run has of those that the inner toolset gives every run. It is nil if that cannot be known.
	fixed toolsFunc[N, D]
	// begin is called once for each run.
	begin func() listFunc[N, D]
}

// listFunc makes the listing of a step. It returns the same slice for as long as the tools are the same.
type listFunc[N, D any] func(ctx context.Context, run *RunContext[D], inner Listing[N]) (Listing[D], error)

// incomplete returns a toolset that reports a nil toolset or function passed to a combinator.
func incomplete[D, N any](kind string, set Toolset[N]) Toolset[D] {
	if set == nil {
		return broken[D](kind+"()", "the toolset is nil")
	}
	return misused[D](set, "%s: the function is nil", kind)
}

func (v *view[N, D]) Name() string { return v.set.Name() }

// Check implements [Checker].
func (v *view[N, D]) Check() error {
	_, err := v.fixedTools()
	return errors.Join(check(v.set), err)
}

// FixedTools implements [Fixed].
func (v *view[N, D]) FixedTools() []*Tool[D] {
	tools, _ := v.fixedTools() // Check reports the error
	return tools
}

func (v *view[N, D]) fixedTools() ([]*Tool[D], error) {
	tools := fixedTools(v.set)
	if v.fixed == nil || len(tools) == 0 {
		return nil, nil
	}
	return v.fixed(tools)
}

func (v *view[N, D]) Open(ctx context.Context, run *RunContext[D]) (Instance[D], error) {
	inner, err := v.set.Open(ctx, v.context(run))
	if err != nil {
		return nil, err
	}
	return &viewInstance[N, D]{view: v, inner: inner, list: v.begin()}, nil
}

type viewInstance[N, D any] struct {
	view  *view[N, D]
	inner Instance[N]
	list  listFunc[N, D]
}

func (in *viewInstance[N, D]) Tools(ctx context.Context, run *RunContext[D]) (Listing[D], error) {
	inner, err := in.inner.Tools(ctx, in.view.context(run))
	if err != nil {
		return Listing[D]{}, err
	}
	return in.list(ctx, run, inner)
}

func (in *viewInstance[N, D]) Close(ctx context.Context) error { return in.inner.Close(ctx) }

// same is the context function of a view with the same deps.
func same[D any](run *RunContext[D]) *RunContext[D] { return run }

// unchanged is the toolsFunc of a view that changes no tools.
func unchanged[D any](tools []*Tool[D]) ([]*Tool[D], error) { return tools, nil }

// toolsFunc makes the tools of a step. The result depends only on the inner tools.
type toolsFunc[N, D any] func([]*Tool[N]) ([]*Tool[D], error)

// derived returns a toolset whose tools depend only on the inner tools. They are made again only when those change, and
// once, before any run, if those are static.
func derived[N, D any](set Toolset[N], context func(*RunContext[D]) *RunContext[N], tools toolsFunc[N, D]) Toolset[D] {
	s, ok := set.(*static[N])
	if !ok {
		return &view[N, D]{set: set, context: context, fixed: tools, begin: func() listFunc[N, D] { return derive(tools) }}
	}
	made, err := tools(s.listing.Tools)
	if err != nil {
		return misused[D](set, "%w", err)
	}
	listing := Listing[D]{Tools: made, Instructions: s.listing.Instructions}
	if s.err == nil {
		return newStatic(s.name, listing)
	}
	var sound []*Tool[D] // what is wrong with the others is known
	for i, t := range made {
		if s.listing.Tools[i].Err() == nil {
			sound = append(sound, t)
		}
	}
	all := newStatic(s.name, Listing[D]{Tools: sound})
	all.listing, all.err = listing, errors.Join(s.err, all.err)
	return all
}

// derive makes tools again only when the inner tools have changed.
func derive[N, D any](tools toolsFunc[N, D]) listFunc[N, D] {
	var from []*Tool[N]
	var to []*Tool[D]
	begun := false
	return func(_ context.Context, _ *RunContext[D], inner Listing[N]) (Listing[D], error) {
		if !begun || !sameSlice(inner.Tools, from) {
			made, err := tools(inner.Tools)
			if err != nil {
				return Listing[D]{}, err
			}
			from, to, begun = inner.Tools, made, true
		}
		return Listing[D]{Tools: to, Instructions: inner.Instructions}, nil
	}
}

// each makes the tools one by one. Change modifies a copy of each tool.
func each[D any](change func(copied, inner *Tool[D])) toolsFunc[D, D] {
	return func(inner []*Tool[D]) ([]*Tool[D], error) {
		copies := make([]Tool[D], len(inner))
		tools := make([]*Tool[D], len(inner))
		for i, t := range inner {
			copies[i] = *t
			change(&copies[i], t)
			tools[i] = &copies[i]
		}
		return tools, nil
	}
}

// sameSlice reports whether two slices share the same memory, and therefore hold the same tools.
func sameSlice[T any](a, b []*T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// steady collects the tools of a step, and returns the previous step's slice if it holds the same tools.
type steady[D any] struct{ last, next []*Tool[D] }

func (s *steady[D]) begin()         { s.next = s.next[:0] }
func (s *steady[D]) add(t *Tool[D]) { s.next = append(s.next, t) }

func (s *steady[D]) end() []*Tool[D] {
	if !slices.Equal(s.last, s.next) {
		s.last = slices.Clone(s.next)
	}
	clear(s.next)
	return s.last
}
