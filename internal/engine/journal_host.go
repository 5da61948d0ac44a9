// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/toolset"
)

// Frame implements [loop.Host]. What a request offers is made anew, because tools are no data; what it said beside the
// conversation is part of the history and stays as it was.
func (j *Journal) Frame(ctx context.Context, info *toolset.RunInfo) (*loop.Frame, error) {
	j.enter(info.Step)
	frame, err := j.host.Frame(ctx, info)
	if err != nil {
		return nil, err
	}
	r := j.past.records[key{op: opModel, step: info.Step}]
	if r == nil {
		return frame, nil
	}
	said := *frame
	said.Instructions = j.instructions
	if r.Instructions != nil {
		said.Instructions = *r.Instructions
	}
	return &said, nil
}

// Approval implements [loop.Host]. That a call has to be approved is recorded, because the answer can change: a person who
// allows a call may allow all that are like it. That it need not is recorded only if it was asked about before; otherwise it
// follows from its being executed.
func (j *Journal) Approval(ctx context.Context, call *engine.Call) (*toolset.Approval, error) {
	k := j.numbered(key{op: opAsk, step: j.step, call: call.ID})
	if r := j.past.take(k); r != nil {
		j.asked[call.ID] = r.Approval
		return r.Approval, nil
	}
	if j.Recorded(call) || j.past.records[key{op: opApprove, step: k.step, call: k.call}] != nil {
		return j.asked[call.ID], nil // nil the first time; version 1 recorded the first time only
	}
	approval, err := j.host.Approval(ctx, call)
	if approval == nil && k.n == 0 || err != nil {
		return nil, err
	}
	back, err := j.write(ctx, &record{Op: opAsk, Step: k.step, Call: k.call, Tool: call.Tool, N: k.n, At: now(), Approval: approval, None: approval == nil})
	if err != nil {
		return nil, err
	}
	j.asked[call.ID] = back.Approval
	return back.Approval, nil
}

// Check implements [loop.Host]. What is wrong with a call is recorded. That nothing is follows from its being executed or asked
// about, unless it was checked before.
func (j *Journal) Check(ctx context.Context, call *engine.Call) (*engine.Return, error) {
	k := j.numbered(key{op: opCheck, step: j.step, call: call.ID})
	if r := j.past.take(k); r != nil {
		if r.None {
			return nil, nil
		}
		return new(r.Return.loop()), nil
	}
	is := func(op string) bool { return j.past.records[key{op: op, step: j.step, call: call.ID}] != nil }
	if k.n == 0 && (j.Recorded(call) || is(opAsk) || is(opApprove)) {
		return nil, nil
	}
	ret, err := j.host.Check(ctx, call)
	if ret == nil && k.n == 0 || err != nil {
		return nil, err
	}
	r := record{Op: opCheck, Step: k.step, Call: k.call, Tool: call.Tool, N: k.n, At: now(), None: ret == nil}
	if ret != nil {
		r.Return = returnOf(ret)
	}
	if _, err := j.write(ctx, &r); err != nil {
		return nil, err
	}
	return ret, nil
}

// Recorded reports whether there is a record of a call's execution, in the step that the loop is in, that has not been asked for.
func (j *Journal) Recorded(call *engine.Call) bool {
	k := key{op: opTool, step: j.step, call: call.ID}
	first := j.past.records[k]
	k.approved = true
	return first != nil || j.past.records[k] != nil
}

// History implements [loop.Host]. A history that the processors have changed is recorded by reference to the one that
// they were given, so that what made it, a model perhaps, is not asked again.
func (j *Journal) History(ctx context.Context, info *toolset.RunInfo) ([]*model.Message, error) {
	k := key{op: opHistory, step: info.Step}
	if r := j.past.take(k); r != nil {
		if r.Messages != len(info.Messages) {
			return nil, j.diverged("the history before step %d had %d messages and has %d", info.Step, r.Messages, len(info.Messages))
		}
		if r.Used != nil {
			j.meter.Add(r.Used.usage())
		}
		return j.build(r.History, info.Messages)
	}
	if j.past.begun(info.Step) {
		return info.Messages, nil
	}
	own := *info
	own.Meter = info.Meter.Sub()
	processed, err := j.host.History(ctx, &own)
	if err != nil || len(processed) == 0 || slices.Contains(processed, nil) {
		return processed, err // the loop will refuse it
	}
	r := record{Op: opHistory, Step: info.Step, At: now(), Messages: len(info.Messages), Used: usedOf(own.Meter.Own())}
	var same bool
	if r.History, same = spans(info.Messages, processed); same && r.Used == nil {
		return info.Messages, nil
	}
	back, err := j.write(ctx, &r)
	if err != nil {
		return nil, err
	}
	return j.build(back.History, info.Messages)
}
