// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/internal/engine"
	"github.com/ponte-go/ponte/internal/loop"
)

// Texts for the model about calls that were not allowed when the process ended, or that had not
// been started.
const (
	textNotAllowed = "Not executed: the process ended before the call was allowed."
	textNotStarted = "Not executed: the process ended before the call was started."
	textDenied     = "The call was not permitted."
	textUnknown    = "Interrupted before a result was produced. It is not known whether the call had any effect."
)

// leftovers are the records of the calls that were in progress when the process of a turn ended.
type leftovers struct {
	turn string
	// own are the records of the turn's run, inner the records of the runs inside it.
	own   []*engine.Record
	inner []innerRecord
	// begun reports that an agent inside a call without a result has asked its model.
	begun bool
	// lost are the tools of calls that may have run and have no result, while other calls wait.
	lost []string
}

// innerRecord is a record of a run inside a call.
type innerRecord struct {
	*engine.Record
	// path are the calls around the run, the outermost first. It is nil if the run is not the first
	// one in each of them.
	path []string
	root string
}

// add notes the record of an entry.
func (l *leftovers) add(e *session.Entry) {
	r := engine.ReadRecord(recordOf(e))
	if r == nil {
		return
	}
	if e.Run == l.turn {
		l.own = append(l.own, r)
		return
	}
	in := innerRecord{Record: r}
	in.root, in.path = callsOf(strings.TrimPrefix(e.Run, l.turn+"/"))
	l.inner = append(l.inner, in)
}

// callsOf returns the calls around a run from its id, which has a step and a call for each of them.
// See engine.InsideID.
func callsOf(id string) (root string, path []string) {
	parts := strings.Split(id, "/")
	first := true
	for i := 0; i+1 < len(parts); i += 2 {
		call := strings.NewReplacer("~1", "/", "~0", "~").Replace(parts[i+1])
		if path = append(path, call); root == "" {
			root = call
		}
		if i+2 < len(parts) && isNumber(parts[i+2]) {
			first, i = false, i+1
		}
	}
	if !first {
		path = nil
	}
	return root, path
}

// isNumber reports whether a part of an id is the number of a run in a call, such as ~2.
func isNumber(part string) bool {
	return len(part) > 1 && part[0] == '~' && part[1] != '0' && (part[1] != '1' || len(part) > 2)
}

// settle returns the request that follows a response, with the results that were recorded. If calls
// were allowed and may have run, or others wait that did before, the request is pending. before is
// the pending request that the turn has begun with, or nil; answers are those to its calls.
func (l *leftovers) settle(
	response, before *model.Message, answers *agent.DeferredResults, conversation string,
) *model.Message {
	m := &model.Message{Kind: model.KindRequest, RunID: l.turn, ConversationID: conversation, Time: response.Time}
	var content []model.Part
	var held bool // by a call that waits, so that those behind it have not been started
	var open []*left
	for i := range response.Parts {
		p := &response.Parts[i]
		if p.Kind != model.PartToolCall {
			continue
		}
		c := l.of(p, before, answers, m)
		if c.answer != nil {
			m.Parts, content = append(m.Parts, *c.answer), append(content, c.content...)
			continue
		}
		open = append(open, c)
	}
	if before != nil {
		content = append(restOf(before), content...)
	}
	waits := slices.ContainsFunc(open, (*left).mayHaveRun) ||
		before != nil && slices.ContainsFunc(open, (*left).waits)
	results := agent.DeferredResults{}
	for _, c := range open {
		switch {
		case c.suspended != nil && waits:
			m.SuspendedCalls = append(m.SuspendedCalls, *c.suspended)
			m.PendingCalls = append(m.PendingCalls, c.inside...)
			held = held || !c.beside && !answered(c.inside, answers)
		case waits && c.waits():
			if c.mayHaveRun() {
				results.Decide(c.pending.Key(), *c.decision)
			}
			m.PendingCalls = append(m.PendingCalls, c.pending)
			held = held || !c.deferred
		case c.asked:
			m.Parts, held = append(m.Parts, c.notRun(textNotAllowed)), held || !c.beside
		case held && !waits && (c.deferred || c.suspended != nil): // it has begun
			m.Parts = append(m.Parts, c.notRun(textUnknown))
		case held && !waits:
			m.Parts = append(m.Parts, c.notRun(textNotStarted))
		case !held && waits:
			m.Parts = append(m.Parts, c.notRun(textUnknown))
			l.lost = append(l.lost, c.part.Tool)
		}
	}
	m.Parts = append(m.Parts, content...)
	if m.Pending = len(m.PendingCalls) > 0; !m.Pending {
		m.Interrupted = true
		return m
	}
	if answers != nil {
		for key, d := range answers.Decisions { // about calls inside
			results.Decide(key, d)
		}
	}
	marked := agent.MarkAllowed([]*model.Message{m}, results)
	return marked[0]
}

// answered reports whether all calls inside one have answers. Then it has been resumed, and so have
// the calls after it.
func answered(inside []model.PendingCall, answers *agent.DeferredResults) bool {
	return answers != nil && !slices.ContainsFunc(inside, func(c model.PendingCall) bool {
		_, decided := answers.Decisions[c.Key()]
		_, done := answers.Results[c.Key()]
		return !decided && !done
	})
}

// restOf returns what a request has beside results.
func restOf(m *model.Message) (rest []model.Part) {
	for i := range m.Parts {
		if !isResult(&m.Parts[i]) {
			rest = append(rest, m.Parts[i])
		}
	}
	return rest
}

func isResult(p *model.Part) bool {
	return p.CallID != "" && (p.Kind == model.PartToolReturn || p.Kind == model.PartRetry)
}

// of returns the recorded state of a call. The time of m becomes the time of the last result.
func (l *leftovers) of(p *model.Part, before *model.Message, answers *agent.DeferredResults, m *model.Message) *left {
	c := &left{part: p, pending: model.PendingCall{ID: p.CallID, Tool: p.Tool, Args: argsOf(p)}}
	c.was = c.pending
	if before != nil {
		c.takeUp(before, answers)
	}
	for _, r := range l.own {
		if r.Call != p.CallID || c.answer != nil && !c.denied {
			continue
		}
		if c.take(r); c.answer != nil && r.At.After(m.Time) {
			m.Time = r.At
		}
	}
	if c.answer == nil {
		l.lookInside(c, answers)
	}
	return c
}

// lookInside looks at the runs inside a call without a result. An agent that has asked its model
// there can neither continue nor start over: its calls would have other keys. Results of calls that
// a run inside has resumed answer these calls.
func (l *leftovers) lookInside(c *left, answers *agent.DeferredResults) {
	id := c.part.CallID
	for i := range l.inner {
		in := &l.inner[i]
		if in.root != id {
			continue
		}
		if in.Op == engine.RecordModel {
			text := textUnknown
			if c.mayHaveRun() {
				text = loop.TextLost
			}
			c.answer, l.begun = new(c.notRun(text)), true
			return
		}
		if answer, ok := in.Answer(); ok && in.path != nil && answers != nil {
			key := model.PendingCall{ID: in.Call, Path: append(slices.Clone(in.path), in.Call)}.Key()
			if slices.ContainsFunc(c.inside, func(p model.PendingCall) bool { return p.Key() == key }) {
				delete(answers.Decisions, key)
				r := agent.DeferredResults{}.Results[key]
				r.Text, r.Outcome, r.Meta, r.Keep, r.Content = answer.Text, answer.Outcome, answer.Meta, answer.Keep, in.Return.Content
				answers.Supply(key, r)
			}
		}
	}
}
