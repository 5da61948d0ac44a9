// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/internal/engine"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/toolset"
)

// What the model is told about calls that were not allowed when the process ended, or that had not been started.
const (
	textNotAllowed = "Not executed: the process ended before anybody had allowed the call."
	textNotStarted = "Not executed: the process ended before the call was started."
	textDenied     = "The call was not permitted."
	textUnknown    = "Interrupted before a result was produced. It is not known whether the call had any effect."
)

// leftovers is what was recorded of the calls that a turn was at when its process ended.
type leftovers struct {
	turn string
	// own are the records of the turn's run, inner those of the runs inside it.
	own   []*engine.Record
	inner []innerRecord
}

// innerRecord is a record of a run inside a call.
type innerRecord struct {
	*engine.Record
	// path are the calls around the run, the outermost first. It is nil if the run is not the first one in each of them.
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

// callsOf returns the calls around a run from its id, which has a step and a call for each of them. See engine.InsideID.
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

// left is what is known of one call.
type left struct {
	part    *model.Part
	pending model.PendingCall
	// shown is what was asked about, decision the answer, and given says that the answer came before the turn.
	asked    bool
	decision *model.Decision
	// was is pending before anybody has changed the arguments.
	was   model.PendingCall
	given bool
	// answer is the result. denied says that it is a decision, which a later one takes the place of.
	answer   *model.Part
	denied   bool
	content  []model.Part
	deferred bool
	// suspended is set if the call waits for calls inside it.
	suspended *model.SuspendedCall
	inside    []model.PendingCall
}

// settle returns the request that follows a response, with the results that were recorded. If calls were allowed and may have run, or
// others wait that did before, the request is pending. before is the pending request that the turn has begun with, or nil; answers are
// those to its calls.
func (l *leftovers) settle(response, before *model.Message, answers *agent.DeferredResults, conversation string) *model.Message {
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
	waits := before != nil && slices.ContainsFunc(open, (*left).waits) || slices.ContainsFunc(open, (*left).mayHaveRun)
	results := agent.DeferredResults{}
	for _, c := range open {
		switch {
		case c.suspended != nil && waits:
			m.SuspendedCalls, m.PendingCalls = append(m.SuspendedCalls, *c.suspended), append(m.PendingCalls, c.inside...)
			held = true
		case waits && c.waits():
			if c.mayHaveRun() {
				results.Decide(c.pending.Key(), *c.decision)
			}
			m.PendingCalls = append(m.PendingCalls, c.pending)
			held = held || !c.deferred
		case c.asked:
			m.Parts, held = append(m.Parts, c.notRun(textNotAllowed)), true
		case held && !waits:
			m.Parts = append(m.Parts, c.notRun(textNotStarted))
		case !held && waits:
			m.Parts = append(m.Parts, c.notRun(textUnknown))
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

// waits reports whether a call waits for an answer, or for one more.
func (c *left) waits() bool {
	return c.mayHaveRun() || c.suspended != nil || c.deferred || c.asked && c.given
}

// mayHaveRun reports whether a call was allowed and has no result.
func (c *left) mayHaveRun() bool {
	return c.decision != nil && c.decision.Verdict == model.VerdictAllow && !c.deferred && c.suspended == nil
}

// notRun answers a call without a result.
func (c *left) notRun(text string) model.Part {
	p := model.ToolReturn(c.part.CallID, c.part.Tool, text)
	p.Outcome, p.Decision = model.OutcomeInterrupted, c.decision
	return p
}

// of returns what is known of a call. The time of m becomes that of the last result.
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

// argsOf returns the arguments of a call as JSON.
func argsOf(p *model.Part) json.RawMessage {
	switch {
	case len(p.Args) == 0:
		return json.RawMessage("{}")
	case json.Valid(p.Args):
		return json.RawMessage(p.Args)
	}
	text, _ := json.Marshal(string(p.Args)) // the tool would get them repaired
	return text
}

// takeUp takes what the request says that the turn has begun with, and the answers to its calls.
func (c *left) takeUp(before *model.Message, answers *agent.DeferredResults) {
	id := c.part.CallID
	for i := range before.Parts {
		if p := &before.Parts[i]; isResult(p) && p.CallID == id {
			c.answer = p
			return
		}
	}
	for i := range before.SuspendedCalls {
		if s := &before.SuspendedCalls[i]; s.ID == id {
			c.suspended, c.decision = s, s.Decision
		}
	}
	for i := range before.PendingCalls {
		p := &before.PendingCalls[i]
		switch {
		case len(p.Path) > 1 && p.Path[0] == id:
			c.inside = append(c.inside, *p)
		case len(p.Path) <= 1 && p.ID == id:
			c.pending, c.was, c.given = *p, *p, true
			c.asked, c.deferred, c.decision = p.Approval != nil && !p.MayHaveRun, p.Approval == nil, p.Decision
		}
	}
	key := model.PendingCall{ID: id}.Key()
	if d, ok := answers.Decisions[key]; ok {
		c.decide(&d)
	}
	if r, ok := answers.Results[key]; ok {
		p := model.ToolReturn(id, c.part.Tool, r.Text)
		p.Outcome, p.Meta, p.Keep = r.Outcome, r.Meta, r.Keep
		c.suspended, c.answer, c.content = nil, &p, r.Content
	}
}

// decide takes a decision about the call.
func (c *left) decide(d *model.Decision) {
	if c.denied { // by an answer that whoever gave it was told of as not recorded
		c.answer, c.denied = nil, false
	}
	switch c.asked = false; d.Verdict {
	case model.VerdictDeny:
		p := model.ToolReturn(c.part.CallID, c.part.Tool, cmp.Or(d.Reason, textDenied))
		p.Outcome, p.Decision = model.OutcomeDenied, d
		if c.pending.MayHaveRun {
			p.Text, p.Outcome, p.Decision = loop.TextLost, model.OutcomeInterrupted, c.pending.Decision
		}
		c.answer, c.denied = &p, true
	case model.VerdictAllow:
		if c.decision = d; len(d.Args) > 0 {
			c.pending.Args, c.pending.Changed = d.Args, true
		}
	default: // the person is asked again
		c.asked, c.decision = true, nil
		c.pending.Args, c.pending.Changed = c.was.Args, c.was.Changed
	}
}

// take takes a record about the call.
func (c *left) take(r *engine.Record) {
	switch r.Op {
	case engine.RecordAsk:
		c.ask(r.Approval)
	case engine.RecordApprove, engine.RecordAnswer:
		if d := r.Decided(); d != nil {
			c.decide(d)
		}
	case engine.RecordCheck, engine.RecordTool:
		c.returned(r)
	}
}

// ask notes that the call is asked about. Before a call runs that was allowed, it is looked at once more.
func (c *left) ask(a *model.Approval) {
	if a == nil {
		return
	}
	if before := c.pending.Approval; c.decision != nil && before != nil && before.Basis == a.Basis {
		return
	}
	c.pending.Approval, c.asked, c.decision = a, true, nil
}

// returned takes what the tool, or a check of its arguments, has returned.
func (c *left) returned(r *engine.Record) {
	if r.Return == nil {
		return
	}
	if answer, ok := r.Answer(); ok {
		if answer.Decision = c.decision; c.pending.Changed {
			answer.Text = loop.WithChange(model.RawArgs(c.pending.Args), answer.Text)
		}
		c.suspended, c.answer, c.denied, c.content = nil, &answer, false, r.Return.Content
		return
	}
	switch ret := r.Return; {
	case ret.Approval != nil:
		c.decision = nil
		c.ask(ret.Approval)
	case ret.Pending != nil:
		c.suspend(ret.Pending)
	case ret.Deferred:
		c.deferred, c.pending.Approval, c.pending.Meta, c.pending.Decision = true, nil, ret.Meta, c.decision
	}
}

// suspend notes that the call waits for calls inside it.
func (c *left) suspend(p *toolset.PendingError) {
	c.suspended = &model.SuspendedCall{
		ID: c.part.CallID, Tool: c.part.Tool, Args: c.pending.Args, Changed: c.pending.Changed, Approved: c.decision != nil,
		Approval: c.pending.Approval, Decision: c.decision, State: p.State,
	}
	c.inside = nil
	for _, in := range p.Calls {
		if len(in.Path) == 0 {
			in.Path = []string{in.ID}
		}
		in.Path = append([]string{c.part.CallID}, in.Path...)
		c.inside = append(c.inside, in)
	}
}

// lookInside looks at the runs inside a call without a result. An agent that has asked its model there cannot go on, and must not begin anew: its
// calls would have other keys. Results of calls that a run inside has resumed answer these calls.
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
			c.answer = new(c.notRun(text))
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

// reason is why the turn that was cut off ends.
func (h *history) reason() string {
	if len(agent.PendingCalls(h.Messages)) > 0 {
		return Pending
	}
	return Interrupted
}

// dropPending removes the request with the pending calls that the turn has begun with: there is one with their results.
func (h *history) dropPending() {
	if n := h.settled; n > 0 && h.before == nil && h.Messages[n-1].Pending {
		h.before, h.beforeSeqs = h.Messages[:n:n], h.seqs[:n:n]
		h.Messages, h.seqs = slices.Delete(slices.Clone(h.Messages), n-1, n), slices.Delete(slices.Clone(h.seqs), n-1, n)
		h.settled, h.answers = n-1, agent.DeferredResults{}
	}
}

// resumed takes what is known of a turn that was cut off while it went on with pending calls. It returns the request with their results.
func (h *history) resumed(id string, l *leftovers) *model.Message {
	n := h.settled
	switch {
	case n < 1 || len(agent.PendingCalls(h.Messages[:n])) == 0:
		return nil
	case n < 2 || !h.Messages[n-2].HasToolCalls():
		return h.resumedWithoutCall(id, l)
	}
	prompted := len(h.Messages) > n
	response, before, answers := h.Messages[n-2], h.Messages[n-1], h.answers
	h.dropPending()
	m := l.settle(response, before, &answers, id)
	open := slices.ContainsFunc(m.PendingCalls, func(c model.PendingCall) bool {
		_, ok := answers.Results[c.Key()]
		return !ok
	})
	if prompted || !open { // nobody will answer
		giveUp(m, response)
	}
	if m.Pending {
		answers.Decisions = nil
		h.answers = answers
	}
	h.Messages, h.seqs = slices.Insert(h.Messages, n-1, m), slices.Insert(h.seqs, n-1, 0)
	return m
}

// giveUp answers the calls that still wait: a prompt has taken the place of answers.
func giveUp(m, response *model.Message) {
	rest := restOf(m)
	m.Parts = slices.DeleteFunc(m.Parts, func(p model.Part) bool { return !isResult(&p) })
	for i := range response.Parts {
		p := &response.Parts[i]
		if p.Kind != model.PartToolCall || slices.ContainsFunc(m.Parts, func(r model.Part) bool { return r.CallID == p.CallID }) {
			continue
		}
		c, text := left{part: p}, textNotAllowed
		if slices.ContainsFunc(m.SuspendedCalls, func(s model.SuspendedCall) bool { return s.ID == p.CallID }) {
			text = textUnknown
		}
		for _, w := range m.PendingCalls {
			if at := append(slices.Clone(w.Path), w.ID)[0]; at == p.CallID && w.MayHaveRun {
				c.decision, text = w.Decision, loop.TextLost
			}
		}
		m.Parts = append(m.Parts, c.notRun(text))
	}
	m.Parts = append(m.Parts, rest...)
	m.Pending, m.PendingCalls, m.SuspendedCalls, m.Interrupted = false, nil, nil, true
}

// unstarted takes up a turn that was to go on with pending calls, all of which have been answered: the process ended before it did, or at
// once. Those that were allowed are asked about again.
func (h *history) unstarted() {
	calls := agent.PendingCalls(h.Messages)
	allowed := 0
	for i := range calls {
		key := calls[i].Key()
		d, decided := h.answers.Decisions[key]
		if _, ok := h.answers.Results[key]; !ok && !decided {
			return // somebody has to answer first
		}
		if decided && d.Verdict == model.VerdictAllow {
			allowed++
		}
	}
	if len(calls) == 0 {
		return
	}
	if allowed == 0 { // nothing was to run
		h.answers = agent.DeferredResults{}
		return
	}
	h.Messages = agent.MarkAllowed(h.Messages, h.answers)
	for key, d := range h.answers.Decisions {
		if d.Verdict == model.VerdictAllow {
			delete(h.answers.Decisions, key)
		}
	}
}

// takeAnswers reads the answers to the calls that the history ends with. What was allowed in the session that this one was forked from may have run
// there, and holds there alone.
func (h *history) takeAnswers(id string, entries []session.Entry) {
	pending := agent.PendingCalls(h.Messages)
	var none, elsewhere agent.DeferredResults
	for i := range entries {
		var b body
		if json.Unmarshal(entries[i].Data, &b) != nil || !slices.ContainsFunc(pending, func(c agent.PendingCall) bool { return c.Key() == b.Call }) {
			continue
		}
		var d model.Decision
		r := none.Results[b.Call]
		switch {
		case json.Unmarshal(b.Decision, &d) == nil && d.Verdict == model.VerdictAllow && b.Conversation != id:
			delete(h.answers.Results, b.Call)
			delete(h.answers.Decisions, b.Call)
			elsewhere.Decide(b.Call, d)
		case json.Unmarshal(b.Decision, &d) == nil:
			delete(h.answers.Results, b.Call)
			h.answers.Decide(b.Call, d)
		case json.Unmarshal(b.Result, &r) == nil:
			delete(h.answers.Decisions, b.Call)
			h.answers.Supply(b.Call, r)
		}
	}
	h.Messages = agent.MarkAllowed(h.Messages, elsewhere)
}
