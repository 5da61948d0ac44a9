// SPDX-License-Identifier: Apache-2.0

package engine

import "context"

// Part is the part of a run that a context belongs to.
type Part int

const (
	// Whole is a run whose loop executes its tasks in this process, once. It is the part of every context that nothing is said of.
	Whole Part = iota
	// LoopOnly is the loop of a run whose tasks are executed elsewhere. It may be repeated any number of times, such as when a workflow is
	// replayed, and so are its Run hooks: what they measure means nothing.
	LoopOnly
	// TaskOnly is a task of a run whose loop is elsewhere. It has no Run hook around it.
	TaskOnly
)

type partKey struct{}

// WithPart returns a context for a part of a run. Engines use it to inform hooks that measure.
func WithPart(ctx context.Context, p Part) context.Context {
	return context.WithValue(ctx, partKey{}, p)
}

// PartOf returns the part of a run that a context belongs to.
func PartOf(ctx context.Context) Part {
	p, _ := ctx.Value(partKey{}).(Part)
	return p
}
