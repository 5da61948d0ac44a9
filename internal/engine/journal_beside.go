// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/ponte-go/ponte/toolset"
)

// beside collects the runs that outlive a task, and those that have ended in it.
type beside struct {
	mu            sync.Mutex
	left, adopted []string
}

type besideKey struct{}

// Leave notes that a run outlives the task with ctx, whose record does not count it.
func Leave(ctx context.Context, run string) {
	if b, ok := ctx.Value(besideKey{}).(*beside); ok {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.left = append(b.left, run)
	}
}

// Adopt notes that a run of [Leave] has ended, and is counted by the record of the task with ctx.
func Adopt(ctx context.Context, run string) {
	if b, ok := ctx.Value(besideKey{}).(*beside); ok {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.adopted = append(b.adopted, run)
	}
}

// take writes what was noted into the record of the task.
func (b *beside) take(r *record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.Left, r.Adopted = slices.Clone(b.left), slices.Clone(b.adopted)
}

// besides adds a record's Left and Adopted.
func (s *recorded) besides(r *record) {
	for _, run := range r.Left {
		if !slices.Contains(s.left, run) {
			s.left = append(s.left, run)
		}
	}
	adopted := func(run string) bool { return slices.Contains(r.Adopted, run) }
	s.left = slices.DeleteFunc(s.left, adopted)
}

// payLeft counts what was recorded of runs that no record counts. A run that continues takes it
// over.
func (j *Journal) payLeft(ctx context.Context) {
	for _, run := range j.recorded.left {
		if s := read(ctx, j.runs, run); s != nil {
			toolset.Prepay(j.meter, run, s.total(ctx, j.runs, run))
		}
	}
}
