// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/internal/engine"
)

// beside are the runs that went on after their calls when the process of a turn ended, such as
// agents in the background.
type beside struct {
	runs []string
	// calls are those of the last response of each run, by the ids of the runs.
	calls map[string][]*left
}

// besideOf finds them among the entries of a turn.
func besideOf(turn string, entries []session.Entry) *beside {
	b := &beside{calls: map[string][]*left{}}
	adopted := map[string]bool{} // its call may have been recorded before the one that it outlives
	for i := range entries {
		e := &entries[i]
		if e.Kind != session.KindStep || e.Run != turn {
			continue
		}
		if r := engine.ReadRecord(e.Data); r != nil {
			b.runs = append(b.runs, r.Left...)
			for run := range r.Adopted {
				adopted[run] = true
			}
		}
	}
	b.runs = slices.DeleteFunc(b.runs, func(run string) bool { return adopted[run] })
	return b
}

// has reports whether an entry is of one of the runs, or of a run inside it, and notes its calls.
func (b *beside) has(e *session.Entry) bool {
	if !slices.ContainsFunc(b.runs, func(run string) bool {
		return e.Run == run || strings.HasPrefix(e.Run, run+"/")
	}) {
		return false
	}
	r := engine.ReadRecord(recordOf(e))
	if r == nil {
		return true
	}
	if r.Op == engine.RecordModel {
		if r.Response != nil {
			b.calls[e.Run] = callsIn(r.Response)
		}
		return true
	}
	for _, c := range b.calls[e.Run] {
		if c.part.CallID == r.Call {
			c.take(r)
		}
	}
	return true
}

func callsIn(response *model.Message) (calls []*left) {
	for i := range response.Parts {
		if p := &response.Parts[i]; p.Kind == model.PartToolCall {
			calls = append(calls, &left{part: p})
		}
	}
	return calls
}

// cutOff reports whether a call of the runs may have run. One that is asked about has not.
func (b *beside) cutOff() bool {
	for _, calls := range b.calls {
		for _, c := range calls {
			if c.answer == nil && !c.asked && !c.deferred && c.suspended == nil {
				return true
			}
		}
	}
	return false
}
