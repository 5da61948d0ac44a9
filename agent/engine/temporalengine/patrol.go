// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"context"
	"errors"
	"maps"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/ponte-go/ponte/agent/session"
)

const (
	// finding is how often workers look for sessions whose runner was not told.
	finding = 5 * time.Second
	// rounds are how often in a heartbeat workers look for turns whose worker has died.
	rounds = 4
	// soonest bounds how often that is.
	soonest = 100 * time.Millisecond
	// mostFree bounds how many workflows the server is asked about at a time. More sessions wait
	// for the heartbeat.
	mostFree = 32
)

// patrol finds sessions whose work is not being done.
//
// The store notices the death of a process in milliseconds. The server notices a missed
// heartbeat, and needs another second to try again, because its timers are that coarse. If a worker
// twice finds a session free in the store, and busy with the same attempt on the server, it
// terminates the workflow and starts another. If the first worker is alive after all, its turn
// moves: see [moving].
type patrol struct {
	runner *Runner
	// found is when the last look for sessions was.
	found time.Time
	// free are the sessions that were free in the last round, with their attempts on the server.
	free map[string]attempt
	// spared are the sessions that were taken over, until when they are left alone. Otherwise slow
	// workers could take turns from each other for ever.
	spared map[string]time.Time
}

// attempt identifies an attempt that a worker has started. The zero value means that there is none.
type attempt struct {
	run, activity string
	number        int32
	started       time.Time
}

// walk patrols until ctx ends.
func (p *patrol) walk(ctx context.Context) {
	tick := time.NewTicker(max(p.runner.config.Heartbeat/rounds, soonest))
	defer tick.Stop()
	for ctx.Err() == nil {
		if time.Since(p.found) >= finding {
			p.found = time.Now()
			p.find(ctx)
		}
		p.round(ctx)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// find starts the workflows of sessions that have work.
func (p *patrol) find(ctx context.Context) {
	for id, err := range p.runner.config.Store.(session.Watcher).Work(ctx) {
		if err != nil || p.runner.start(ctx, id) != nil {
			return // the next patrol tries again
		}
	}
}

// round takes over the turns of workers that have died.
func (p *patrol) round(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, max(p.runner.config.Heartbeat, time.Second))
	defer cancel()
	over := func(_ string, until time.Time) bool { return time.Now().After(until) }
	maps.DeleteFunc(p.spared, over)
	before := p.free
	p.free = map[string]attempt{}
	for id, err := range p.runner.config.Store.(session.Watcher).Work(ctx) {
		if err != nil || len(p.free) == mostFree {
			return
		}
		if _, ok := p.spared[id]; ok {
			continue
		}
		now, err := p.runner.attempt(ctx, id)
		if err != nil {
			return
		}
		p.free[id] = now
		if then, ok := before[id]; !ok || now == (attempt{}) || then != now {
			continue
		}
		delete(p.free, id)
		p.spared[id] = time.Now().Add(rounds * p.runner.config.Heartbeat)
		if p.runner.replace(ctx, id, now.run) != nil {
			return
		}
	}
}

// start starts the workflow of a session, if it does not run.
func (r *Runner) start(ctx context.Context, id string) error {
	_, err := r.config.Client.ExecuteWorkflow(ctx, r.options(id), r.config.Name, id)
	return err
}

// replace terminates a workflow of a session and starts a new one.
func (r *Runner) replace(ctx context.Context, id, run string) error {
	const reason = "its worker has died: another workflow continues"
	err := r.config.Client.TerminateWorkflow(ctx, r.WorkflowID(id), run, reason)
	if err != nil && !errors.As(err, new(*serviceerror.NotFound)) {
		return err
	}
	return r.start(ctx, id)
}

// attempt asks the server which attempt runs the turns of a session.
func (r *Runner) attempt(ctx context.Context, id string) (attempt, error) {
	d, err := r.config.Client.DescribeWorkflowExecution(ctx, r.WorkflowID(id), "")
	if errors.As(err, new(*serviceerror.NotFound)) {
		return attempt{}, nil
	}
	if err != nil {
		return attempt{}, err
	}
	run := d.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	for _, a := range d.GetPendingActivities() {
		if a.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED {
			started := a.GetLastStartedTime().AsTime()
			return attempt{run, a.GetActivityId(), a.GetAttempt(), started}, nil
		}
	}
	return attempt{}, nil
}
