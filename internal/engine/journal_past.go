// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
)

// past has the records of a journal that have not been replayed yet.
type past struct {
	records map[key]*record
	// perStep counts the records of each step that have yet to be asked for, left all of them. Of the steps before oldest
	// there are none.
	perStep      []int
	left, oldest int
	// answered is the latest step that the model has answered, or an agent that the conversation stays with.
	answered int
}

// load reads the records of a journal.
func (j *Journal) load(lines [][]byte) error {
	first, err := decodeRecord(lines[0])
	if err != nil {
		return err
	}
	if first.Op != opStart {
		return fmt.Errorf("%w: the first record is about %q", journal.ErrCorrupt, first.Op)
	}
	if err := first.Start.check(&j.start); err != nil {
		return err
	}
	j.start, j.began = *first.Start, first.At
	j.past.records = make(map[key]*record, len(lines)-1)
	j.recorded.add(first)
	for i, line := range lines[1:] {
		r, err := decodeRecord(line)
		if err == nil && r.Op != opLost {
			r.seq = i + 1
			err = j.past.add(r)
		}
		if err == nil {
			j.recorded.add(r)
		}
		if err != nil {
			return fmt.Errorf("record %d: %w", i+1, err)
		}
	}
	return nil
}

func (p *past) add(r *record) error {
	latest := p.answered + 1
	if p.answered == 0 {
		latest = 2 // the first step of a run that resumes a response has no request
	}
	if r.Op == opStart || r.Step < 0 || r.Step > latest {
		return fmt.Errorf("%w: it is about %q in step %d", journal.ErrCorrupt, r.Op, r.Step)
	}
	k := r.key()
	old := p.records[k]
	if old != nil && !old.Again {
		// Whoever looked would not have done it again.
		return fmt.Errorf("%w: it is already recorded: two processes executed the run concurrently",
			journal.ErrCorrupt)
	}
	p.records[k] = r
	if r.Op == opModel || r.Op == opOutput { // an agent that has the conversation answers without a request
		p.answered = max(p.answered, r.Step)
	}
	if old == nil {
		for len(p.perStep) <= r.Step {
			p.perStep = append(p.perStep, 0)
		}
		p.perStep[r.Step]++
		p.left++
	}
	return nil
}

// take removes and returns the record with a key. It returns nil if there is none.
func (p *past) take(k key) *record {
	r := p.records[k]
	if r == nil {
		return nil
	}
	delete(p.records, k)
	p.perStep[k.step]--
	p.left--
	return r
}

// first returns the first step with a record that has yet to be asked for; there must be one.
func (p *past) first() int {
	for p.perStep[p.oldest] == 0 {
		p.oldest++
	}
	return p.oldest
}

// begun reports whether the request of a step, or at least its history, was recorded.
func (p *past) begun(step int) bool {
	return p.records[key{op: opModel, step: step}] != nil || p.records[key{op: opHistory, step: step}] != nil
}

// follows reports an error if a task is not what follows in the journal from what has been replayed: if something that
// came before it has not been asked for, or if it has no record but what came after it does.
func (j *Journal) follows(t *engine.Task, k key, past *record) error {
	p := &j.past
	switch {
	case p.left > 0 && p.first() < k.step:
		return j.diverged("replay reached step %d, but %d records of step %d were not used", k.step, p.perStep[p.oldest], p.oldest)
	case past != nil && k.op == opModel && past.Messages != len(t.Request.Messages):
		return j.diverged("the request of step %d had %d messages and has %d", k.step, past.Messages, len(t.Request.Messages))
	case past != nil && t.Call != nil && past.Tool != t.Call.Tool:
		return j.diverged("call %q of step %d was one of %q and is one of %q", k.call, k.step, past.Tool, t.Call.Tool)
	case past != nil || k.op == opInbox:
		return nil
	}
	later := p.left
	if k.op != opModel && k.step < len(p.perStep) {
		later -= p.perStep[k.step] // the calls of a step end in any order
	}
	if later > 0 {
		return j.diverged("%s of step %d is missing, and there are %d records of what followed", k.op, k.step, later)
	}
	return nil
}

// request completes the record of a request, including its instructions.
func (j *Journal) request(r *record, req *model.Request, past *record) {
	r.Messages = len(req.Messages)
	if past != nil {
		if past.Instructions != nil {
			j.instructions = *past.Instructions
		}
		return
	}
	if req.Instructions != j.instructions {
		j.instructions = req.Instructions
		r.Instructions = &j.instructions
	}
}
