// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"slices"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
)

// A model can ask for any number of calls at once. The server takes at most 2,000 activities and 2,000 children of a workflow at a time, and 4 MiB for all
// that a task of a workflow starts, local results included. A workflow that wants more is tried for ever, or terminated.
const (
	// maxGoing is how many tasks of a run are executed at the same time.
	maxGoing = 500
	// fewCalls is how many calls of a step have events of up to maxInline. For the others, it is littleInline.
	fewCalls     = 16
	littleInline = 2 << 10
	// maxLocal is how many calls of a step are local activities, and localInline bounds their results in the history. The others are activities.
	maxLocal    = 250
	localInline = 4 << 10
)

// crowd holds the tasks that a run executes concurrently.
type crowd struct {
	waiting []*future
	going   int
	// calls is how many tasks the step has had, locals how many of them were local.
	calls, locals int
}

// begin begins a step.
func (c *crowd) begin() { c.calls, c.locals = 0, 0 }

func (c *crowd) full() bool { return c.going >= maxGoing }

func (c *crowd) many() bool { return c.calls > fewCalls }

// local reports whether another call may be local.
func (c *crowd) local() bool {
	c.locals++
	return c.locals <= maxLocal
}

// drop forgets a task that has not been started.
func (c *crowd) drop(f *future) {
	c.waiting = slices.DeleteFunc(c.waiting, func(w *future) bool { return w == f })
}

// next starts the next task when one has ended.
func (e *runEngine) next() {
	c := &e.crowd
	c.going--
	for len(c.waiting) > 0 && !c.full() {
		f := c.waiting[0]
		c.waiting = c.waiting[1:]
		e.execute(f)
	}
}

// compact returns the input of an activity or a child as it should be part of an event.
func (e *runEngine) compact(in any) any {
	if !e.crowd.many() {
		return in
	}
	return little(e.ctx, e.histories.blobs, in)
}

// little returns a value as it should be part of an event of which there may be many.
func little(ctx workflow.Context, b Blobs, value any) converter.RawValue {
	payload, err := patient(ctx, byReferencesOver(b, littleInline)).ToPayload(value)
	if err != nil {
		panic(short(err)) // the task of the workflow fails and is tried again
	}
	return converter.NewRawValue(payload)
}

// keepHistory keeps a history that calls refer to.
func (e *runEngine) keepHistory(r *reference) {
	if _, err := patient(e.ctx, loader{converter.GetDefaultDataConverter(), e.histories}).ToPayload(r); err != nil {
		panic(short(err))
	}
}
