// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// beside collects the runs that outlive a task, and those that have ended in it.
type beside struct {
	mu      sync.Mutex
	left    []string
	adopted map[string]toolset.Usage
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

// Adopt notes that a run of [Leave] has ended, and that the task with ctx gets its result.
func Adopt(ctx context.Context, run string, used toolset.Usage) {
	if b, ok := ctx.Value(besideKey{}).(*beside); ok {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.adopted == nil {
			b.adopted = map[string]toolset.Usage{}
		}
		b.adopted[run] = used
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
	return less(used, b.recorded)
}

// less is used without what is in it, and never negative.
func less(used, in toolset.Usage) toolset.Usage {
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

// take writes what was noted into the record of the task, whose usage is done's.
func (b *beside) take(r *record, done *engine.Done) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.Left, r.Adopted = slices.Clone(b.left), maps.Clone(b.adopted)
	for _, used := range b.adopted {
		if done.Used != nil {
			*done.Used = less(*done.Used, used)
		}
	}
}

// besides adds a record's Left and Adopted. Calls run side by side, so a run may be adopted before
// it was left.
func (s *recorded) besides(r *record) {
	for _, run := range r.Left {
		s.leave(run)
	}
	for run, used := range r.Adopted {
		s.leave(run)
		addUsage(s.left[run], used)
	}
}

func (s *recorded) leave(run string) {
	if s.left[run] != nil {
		return
	}
	if s.left == nil {
		s.left = map[string]*toolset.Usage{}
	}
	s.left[run] = new(toolset.Usage)
}

// totalLeft is the usage of a run that outlives the call that began it, by its own records. A tool in
// the background has none: the calls that got its results have its usage.
func (s *recorded) totalLeft(ctx context.Context, j journal.Journal, run string) toolset.Usage {
	if own := read(ctx, j, run); own != nil {
		return own.total(ctx, j, run)
	}
	return *s.left[run]
}

// payLeft counts what runs have used that outlive their calls. A run that continues takes it over.
func (j *Journal) payLeft(ctx context.Context) {
	for run := range j.recorded.left {
		toolset.Prepay(j.meter, run, j.recorded.totalLeft(ctx, j.runs, run))
	}
}
