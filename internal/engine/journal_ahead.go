// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/toolset"
)

// recorded sums up the records of a run: what the run counts when it is replayed, and which runs
// inside it may have records that these do not include.
type recorded struct {
	used toolset.Usage
	// lost is the part of used that no task has when it is replayed.
	lost toolset.Usage
	// answered is the latest step with a response, calls are the calls of that response. last is the
	// latest step with a record.
	answered, last int
	calls          []string
	// others are the ids of calls that no response has, done are the calls of the step last whose
	// result is recorded.
	others []string
	done   map[string]bool
	// left are the runs that outlive the calls that began them, with what the calls say of them that
	// got their results.
	left map[string]*toolset.Usage
}

// place is where runs inside a run are: in a call, in an output without a call or in the
// preparation of a step, which have no id.
type place struct {
	step int
	call string
}

// InsideID returns the id of the n-th run in a call, or in what a step does outside of calls. No
// two runs inside a run have the same: ids of calls, which are the model's, are escaped, and a
// number has a mark.
func InsideID(run string, step int, call string, n int) string {
	id := fmt.Sprintf("%s/%d/%s", run, step, model.EscapeID(call))
	if n > 1 {
		id += "/~" + strconv.Itoa(n)
	}
	return id
}

func (s *recorded) add(r *record) {
	if r.Op == opLost {
		addUsage(&s.used, *r.Used)
		addUsage(&s.lost, *r.Used)
		return
	}
	if r.Step > s.last || s.done == nil {
		s.last, s.done = r.Step, map[string]bool{}
	}
	if r.Used != nil && !r.Again {
		addUsage(&s.used, *r.Used)
	}
	switch r.Op {
	case opStart:
		s.others, s.used.ToolCalls = r.Start.Calls, r.Start.Given
	case opModel:
		s.answered, s.calls = r.Step, nil
		for _, p := range loop.Normalise(r.Response, r.Step).Parts {
			if p.Kind == model.PartToolCall {
				s.calls = append(s.calls, p.CallID)
			}
		}
	case opTool:
		s.besides(r)
		s.done[r.Call] = r.Return.Approval == nil // otherwise it may be executed again
		if ret := r.Return; s.done[r.Call] && !ret.Retry && !ret.Deferred && ret.Pending == nil && ret.Outcome == model.OutcomeSuccess {
			s.used.ToolCalls++
		}
	case opOutput:
		s.done[r.Call] = !r.Again
		if r.HandOver == nil {
			break
		}
		for _, told := range r.HandOver.Told {
			if told.HandOver != nil && told.HandOver.Stays {
				s.others = append(s.others, told.HandOver.ID)
			}
		}
	}
}

func addUsage(to *toolset.Usage, u toolset.Usage) {
	to.Requests += u.Requests
	to.ToolCalls += u.ToolCalls
	to.Usage.Add(u.Usage)
	to.Cost += u.Cost
	to.Unpriced += u.Unpriced
}

// textOutput is the id of a hand-over by a text, as in package loop.
const textOutput = "output"

// places returns where there may be runs whose usage no record includes: in calls of the last step
// without a result, in its output, and in the preparation of the next one.
func (s *recorded) places() []place {
	var all []place
	add := func(step int, call string) {
		if p := (place{step, call}); step >= s.last && !(step == s.last && s.done[call]) && !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	if s.answered > 0 {
		for _, call := range s.calls {
			add(s.answered, call)
		}
		add(s.answered, textOutput)
		add(s.answered, "")
	}
	for step := max(s.last, s.answered+1); step <= s.last+1; step++ {
		add(step, "")
		for _, call := range s.others {
			add(step, call)
		}
	}
	return all
}

// unused returns how many consecutive runs of a place must have no records to conclude that none
// follow. Runs that a call starts concurrently may write their first records in any order.
func (p place) unused() int {
	if p.call == "" || p.call == textOutput {
		return 1
	}
	return 2
}

// ahead describes the records of an inner run.
type ahead struct {
	place
	runID string
	used  toolset.Usage
}

// aheadOf returns what the runs in some places have recorded, with the runs inside them, but for
// those in but.
func aheadOf(ctx context.Context, j journal.Journal, run string, places []place, but map[string]*toolset.Usage) []ahead {
	if j == nil {
		return nil
	}
	var all []ahead
	for _, p := range places {
		for n, none := 1, 0; none < p.unused(); n++ {
			id := InsideID(run, p.step, p.call, n)
			s := read(ctx, j, id)
			if s == nil {
				none++
				continue
			}
			none = 0
			if but[id] != nil {
				continue
			}
			all = append(all, ahead{p, id, s.total(ctx, j, id)})
		}
	}
	return all
}

// total is the usage that a run counts when it is replayed, including its inner runs.
func (s *recorded) total(ctx context.Context, j journal.Journal, run string) toolset.Usage {
	total := s.used
	for _, a := range aheadOf(ctx, j, run, s.places(), s.left) {
		addUsage(&total, a.used)
	}
	for left := range s.left {
		addUsage(&total, s.totalLeft(ctx, j, left))
	}
	return total
}

// read sums up the records of a run that is not open. It returns nil if there are none, or if they
// cannot be read: opening the run reports that error.
func read(ctx context.Context, j journal.Journal, run string) (s *recorded) {
	defer func() {
		if recover() != nil {
			s = nil
		}
	}()
	log, err := j.Open(ctx, run)
	if err != nil {
		return nil
	}
	defer log.Close()
	lines, err := log.Load(ctx)
	if err != nil || len(lines) == 0 {
		return nil
	}
	s = new(recorded)
	for _, line := range lines {
		r, err := decodeRecord(line)
		if err != nil {
			return nil
		}
		s.add(r)
	}
	return s
}

// Prepay counts ahead what the runs inside a call have recorded. The returned function settles what
// they do not use: it stays counted if the call has its result.
func Prepay(
	ctx context.Context, j journal.Journal, m *toolset.Meter, run string, step int, call string,
) (settle func(keep bool)) {
	var p prepaid
	p.pay(m, aheadOf(ctx, j, run, []place{{step, call}}, nil))
	return func(keep bool) { p.settle(keep, func(place) bool { return true }) }
}

// prepaid is usage that was counted ahead, by the places of the runs that it belongs to.
type prepaid []paid

type paid struct {
	place
	run    string
	settle func(keep bool) toolset.Usage
}

func (p *prepaid) pay(m *toolset.Meter, all []ahead) {
	for _, a := range all {
		*p = append(*p, paid{a.place, a.runID, toolset.Prepay(m, a.runID, a.used)})
	}
}

// settle settles what was counted for places that are over, and returns what no run has used.
func (p *prepaid) settle(keep bool, over func(place) bool) (left toolset.Usage) {
	*p = slices.DeleteFunc(*p, func(paid paid) bool {
		if !over(paid.place) {
			return false
		}
		addUsage(&left, paid.settle(keep))
		return true
	})
	return left
}

// takeBack takes back what was counted ahead for a place that is over.
func (j *Journal) takeBack(over place) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.prepaid.settle(false, func(p place) bool { return p == over })
}

// keepPrepaid makes what runs inside a call had recorded, and did not resume, a part of what the
// call has used: it has been asked for, and the call is over. Runs that outlive the call resume in
// their own time, and are counted then.
func (j *Journal) keepPrepaid(r *record, done *engine.Done) {
	if r.Op != opTool || done.Return.Approval != nil || done.Used == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	over := place{r.Step, r.Call}
	j.prepaid = slices.DeleteFunc(j.prepaid, func(p paid) bool {
		return p.place == over && slices.Contains(r.Left, p.run)
	})
	addUsage(done.Used, j.prepaid.settle(true, func(p place) bool { return p == over }))
}

// caughtUp ends the replay once all records have been replayed, and counts ahead the recorded usage
// of inner runs. live means that something without a record is about to be done. Otherwise the
// replay continues while calls of the step began in an earlier process, because the limits were
// checked for them then.
func (j *Journal) caughtUp(ctx context.Context, step int, live bool) {
	if j.endReplay == nil || j.past.left > 0 {
		return
	}
	if j.ahead == nil {
		j.ahead = aheadOf(ctx, j.runs, j.start.Run, j.recorded.places(), j.recorded.left)
	}
	begun := slices.ContainsFunc(j.ahead, func(a ahead) bool { return a.step == step && a.call != "" })
	if begun && !live {
		return
	}
	j.mu.Lock()
	j.prepaid.pay(j.meter, j.ahead)
	j.mu.Unlock()
	j.endReplay()
	j.endReplay, j.ahead = nil, nil
}
