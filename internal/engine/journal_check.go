// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/toolset"
)

// check has an OpCheck done. Arguments are decoded anew at each replay, which has no effects.
// The error of the tool's own check is recorded. Its success follows from the execution or the
// approval request of the call, unless the call was checked before, or the check took requests.
func (j *Journal) check(ctx context.Context, worker engine.Worker, t *engine.Task, l engine.Listener, done *engine.Done) {
	j.caughtUp(ctx, t.Info.Step, false)
	task := *t
	task.Checks = slices.Clone(t.Checks)
	for i := range task.Checks {
		c := &task.Checks[i]
		c.Own = c.Own && j.ownCheck(c.Call) == nil && !j.isValid(c.Call)
	}
	worker.Do(ctx, &task, l, done)
	var used *toolset.Usage // by all of the checks
	if done.Used != nil {
		used = usedOf(done.Used)
	}
	if !done.Settle(ctx, &task) {
		done.Used = used
		return
	}
	for i := range t.Checks {
		if !t.Checks[i].Own || done.Checked != nil && done.Checked[i].Return != nil && !done.Checked[i].Own {
			continue // its arguments cannot be decoded
		}
		if done.Checked != nil && done.Checked[i].Err != nil {
			done.Used = used // unless a record has it
			return
		}
		known := j.ownCheck(t.Checks[i].Call)
		k := j.numbered(key{op: opCheck, step: j.step, call: t.Checks[i].Call.ID})
		if j.past.take(k); known != nil && known.Used != nil {
			j.meter.Add(*known.Used)
		}
		switch {
		case known != nil && known.Return != nil:
			if done.Checked == nil {
				done.Checked = make([]engine.Checked, len(t.Checks))
			}
			done.Checked[i].Return = new(known.Return.loop())
		case known == nil && task.Checks[i].Own:
			// The first record has the usage of all: if the process dies before the next one, its check
			// is made again.
			if err := j.checked(ctx, k, t.Checks[i].Call, done.Checked, i, used); err != nil {
				*done = engine.Done{Err: err}
				return
			}
			used = nil
		}
	}
}

// ownCheck returns the next record of the own check of a call, or nil.
func (j *Journal) ownCheck(call *engine.Call) *record {
	k := key{op: opCheck, step: j.step, call: call.ID}
	k.n = j.numbers[k]
	return j.past.records[k]
}

// isValid reports whether the records show that a call passed its first check.
func (j *Journal) isValid(call *engine.Call) bool {
	is := func(op string) bool { return j.past.records[key{op: op, step: j.step, call: call.ID}] != nil }
	return j.numbers[key{op: opCheck, step: j.step, call: call.ID}] == 0 && (j.Recorded(call) || is(opAsk) || is(opApprove))
}

// checked records the result of a check that has just been made.
func (j *Journal) checked(
	ctx context.Context, k key, call *engine.Call, results []engine.Checked, i int, used *toolset.Usage,
) error {
	r := record{Op: opCheck, Step: k.step, Call: k.call, Tool: call.Tool, N: k.n, At: now(), Used: used}
	if r.None = results == nil || results[i].Return == nil; r.None && k.n == 0 && used == nil {
		return nil
	}
	if !r.None {
		r.Return = returnOf(results[i].Return)
	}
	_, err := j.write(ctx, &r)
	return err
}

// preview has an OpPreview done. That a call has to be approved is recorded, because the answer can change: a person who allows a
// call may allow all that are like it. That it need not is recorded only if it was asked about before, or if that took requests.
// Otherwise it follows from its being executed.
func (j *Journal) preview(ctx context.Context, worker engine.Worker, t *engine.Task, l engine.Listener, done *engine.Done) {
	call := t.Call
	k := j.numbered(key{op: opAsk, step: j.step, call: call.ID})
	if r := j.past.take(k); r != nil {
		if r.Used != nil {
			j.meter.Add(*r.Used)
		}
		j.asked[call.ID], done.Return.Approval = r.Approval, r.Approval
		return
	}
	if j.Recorded(call) {
		done.Return.Approval = j.asked[call.ID] // nil the first time
		return
	}
	worker.Do(ctx, t, l, done)
	r := record{Op: opAsk, Step: k.step, Call: k.call, Tool: call.Tool, N: k.n, At: now()}
	if done.Used != nil {
		r.Used = usedOf(done.Used)
	}
	r.Approval = done.Return.Approval
	if r.None = r.Approval == nil; r.None && k.n == 0 && r.Used == nil || done.Err != nil {
		return
	}
	back, err := j.write(ctx, &r)
	if err != nil {
		*done = engine.Done{Err: err}
		return
	}
	j.asked[call.ID], done.Return.Approval = back.Approval, back.Approval
}

// Recorded reports whether there is a record of a call's execution, in the step that the loop is in, that has not been asked for.
func (j *Journal) Recorded(call *engine.Call) bool {
	k := key{op: opTool, step: j.step, call: call.ID}
	first := j.past.records[k]
	k.approved = true
	return first != nil || j.past.records[k] != nil
}
