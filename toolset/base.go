// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"context"
	"errors"
	"slices"
)

// Base is embedded by custom combinators. It passes everything on to the toolset inside, also what
// agent.New asks before a run: a struct that embeds a [Toolset] alone hides whether that is a
// [Checker] or [Fixed].
//
//	type audited struct{ toolset.Base[Deps] }
//
//	func Audited(set toolset.Toolset[Deps]) toolset.Toolset[Deps] { return &audited{toolset.Base[Deps]{Toolset: set}} }
//
//	func (a *audited) Open(ctx context.Context, run *toolset.RunContext[Deps]) (toolset.Instance[Deps], error) { … }
//
// A combinator that adds, hides or renames tools also implements FixedTools, which may return nil.
// One that can be misused implements Check and joins its error with the error of Base. If Toolset
// is nil, Check and Open return an error.
type Base[D any] struct{ Toolset[D] }

var errNoToolset = errors.New("toolset: Base: the toolset is nil")

// Name returns the name of the toolset inside.
func (b Base[D]) Name() string {
	if b.Toolset == nil {
		return "nil"
	}
	return b.Toolset.Name()
}

// Open opens the toolset inside.
func (b Base[D]) Open(ctx context.Context, run *RunContext[D]) (Instance[D], error) {
	if b.Toolset == nil {
		return nil, errNoToolset
	}
	return b.Toolset.Open(ctx, run)
}

// Check implements [Checker].
func (b Base[D]) Check() error {
	if b.Toolset == nil {
		return errNoToolset
	}
	return check(b.Toolset)
}

// FixedTools implements [Fixed].
func (b Base[D]) FixedTools() []*Tool[D] { return fixedTools(b.Toolset) }

// check returns the error of a [Checker], or nil for other toolsets.
func check[D any](set Toolset[D]) error {
	if checker, ok := set.(Checker); ok {
		return checker.Check()
	}
	return nil
}

// fixedTools returns the tools of a [Fixed] toolset without nil ones, which are reported elsewhere. It returns none for other toolsets.
func fixedTools[D any](set Toolset[D]) []*Tool[D] {
	fixed, ok := set.(Fixed[D])
	if !ok {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(fixed.FixedTools()), func(t *Tool[D]) bool { return t == nil })
}
