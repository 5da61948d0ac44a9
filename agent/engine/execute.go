// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"time"
)

// Execute executes a task in the form of [MarshalTask] and returns its result in the form of [MarshalDone]: for the process of the
// worker. report receives what the task reports while it runs, in the form that [Deliver] reads, as a [Worker] calls its listener; an
// error of it means that the run has been stopped. The error is nil unless the task or its result have no such form. Errors of the task
// are part of its result.
func Execute(ctx context.Context, w Worker, task []byte, report func(report []byte) error) ([]byte, error) {
	t, err := UnmarshalTask(task)
	if err != nil {
		return nil, err
	}
	var d Done
	w.Do(WithPart(ctx, TaskOnly), t, Reporter(report), &d)
	d.At = TimeOf(time.Now())
	return MarshalDone(t, &d)
}
