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
	// open are the calls without a result, by the ids of the runs that made them.
	open map[string][]string
}

// besideOf finds them among the entries of a turn.
func besideOf(turn string, entries []session.Entry) *beside {
	b := &beside{open: map[string][]string{}}
	for i := range entries {
		e := &entries[i]
		if e.Kind != session.KindStep || e.Run != turn {
			continue
		}
		if r := engine.ReadRecord(e.Data); r != nil {
			b.runs = append(b.runs, r.Left...)
			adopted := func(run string) bool { return slices.Contains(r.Adopted, run) }
			b.runs = slices.DeleteFunc(b.runs, adopted)
		}
	}
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
	switch {
	case r.Op == engine.RecordModel && r.Response != nil:
		var calls []string
		for i := range r.Response.Parts {
			if p := &r.Response.Parts[i]; p.Kind == model.PartToolCall {
				calls = append(calls, p.CallID)
			}
		}
		b.open[e.Run] = calls
	case r.Op == engine.RecordTool && r.Return != nil && r.Return.Approval == nil,
		r.Op == engine.RecordCheck && !r.None:
		over := func(call string) bool { return call == r.Call }
		b.open[e.Run] = slices.DeleteFunc(b.open[e.Run], over)
	}
	return true
}

// cutOff reports whether a call of the runs may have run.
func (b *beside) cutOff() bool {
	for _, calls := range b.open {
		if len(calls) > 0 {
			return true
		}
	}
	return false
}
