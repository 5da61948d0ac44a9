// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// beside collects the runs that outlive a task, and those that have ended in it.
type beside struct {
	mu            sync.Mutex
	left, adopted []string
	// recorded is the usage of runs in the task that keep their own records.
	recorded toolset.Usage
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
func Adopt(ctx context.Context, run string, used toolset.Usage) {
	if b, ok := ctx.Value(besideKey{}).(*beside); ok {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.adopted = append(b.adopted, run)
		addUsage(&b.recorded, used)
	}
}

// Inside notes what a run in the task with ctx has used, which its own records say. Runs of [Leave]
// are not counted by the task.
func Inside(ctx context.Context, run string, used toolset.Usage) {
	if b, ok := ctx.Value(besideKey{}).(*beside); ok {
		b.mu.Lock()
		defer b.mu.Unlock()
		if !slices.Contains(b.left, run) {
			addUsage(&b.recorded, used)
		}
	}
}

// besides returns what a task has used that no run in it has recorded.
func (b *beside) besides(used toolset.Usage) toolset.Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	in := &b.recorded
	return toolset.Usage{
		Requests:  max(used.Requests-in.Requests, 0),
		ToolCalls: max(used.ToolCalls-in.ToolCalls, 0),
		Usage: model.Usage{
			InputTokens:      max(used.InputTokens-in.InputTokens, 0),
			OutputTokens:     max(used.OutputTokens-in.OutputTokens, 0),
			CacheReadTokens:  max(used.CacheReadTokens-in.CacheReadTokens, 0),
			CacheWriteTokens: max(used.CacheWriteTokens-in.CacheWriteTokens, 0),
			ReasoningTokens:  max(used.ReasoningTokens-in.ReasoningTokens, 0),
		},
		Cost:     max(math.Round((used.Cost-in.Cost)*1e9)/1e9, 0),
		Unpriced: max(used.Unpriced-in.Unpriced, 0),
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
