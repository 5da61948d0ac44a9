// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/toolset"
)

// player plays one turn.
type player struct {
	r       *Recording
	turn    *Turn
	number  int
	options PlayOptions
	fill    bool
	cancel  context.CancelCauseFunc
	steps   []step
	inbox   agent.Inbox

	mu        sync.Mutex
	step      int          // requests so far
	answers   *step        // to the calls in hand
	content   []model.Part // that follows their results
	due       int          // how many of the calls in hand still have to return before the run ends
	returned  chan struct{}
	asked     map[PastCall]bool
	different *Difference
	stopped   string // why the run was ended where the recording ends
	checked   Checked
}

// PastCall names a call of a turn.
type PastCall = transcript.PastCall

// step is a request and what the model answered.
type step struct {
	requests []*model.Message
	response *model.Message // nil behind the last one
	// results are the results of calls in requests, and content follows them. pending is
	// the request that leaves calls pending, broken is set if the run ended before it was whole.
	results map[string]*model.Part
	content []model.Part
	pending *model.Message
	broken  bool
	// said are requests of a user in the middle of the turn.
	said [][]model.Part
}

func newPlayer(r *Recording, turn int, o PlayOptions, fill bool,
	cancel context.CancelCauseFunc) *player {
	p := &player{
		r: r, turn: &r.Turns[turn], number: turn + 1, options: o, fill: fill, cancel: cancel,
		asked: map[PastCall]bool{},
	}
	p.steps = stepsOf(r.messages(p.turn.Messages))
	first := &p.steps[0]
	if n := len(p.turn.Before); n > 0 && r.Messages[p.turn.Before[n-1]].Pending {
		for _, part := range r.Messages[p.turn.Before[n-1]].Parts { // of calls that ran before
			if !isResult(&part) && len(first.content) > 0 {
				first.content = first.content[1:]
			}
		}
	}
	p.take(first)
	return p
}

// stepsOf divides the messages of a turn. The last step has no response.
func stepsOf(messages []*model.Message) []step {
	steps := []step{{results: map[string]*model.Part{}}}
	for _, m := range messages {
		if m.HandOver != nil { // of an agent inside, whose steps are not in a session
			continue
		}
		now := &steps[len(steps)-1]
		if m.Kind == model.KindRequest {
			now.request(m, len(steps) > 1)
			continue
		}
		if m.Interrupted { // it is what was shown of a response
			continue
		}
		now.response = m
		steps = append(steps, step{results: map[string]*model.Part{}})
	}
	return steps
}

// request adds a request. later is set after the first response.
func (s *step) request(m *model.Message, later bool) {
	s.requests = append(s.requests, m)
	if m.Pending {
		s.pending = m
	}
	s.broken = s.broken || m.Interrupted
	user := true
	for i := range m.Parts {
		part := &m.Parts[i]
		if isResult(part) {
			s.results[part.CallID] = part
		}
		user = user && (part.Kind == model.PartUser || part.Kind == model.PartMedia)
	}
	switch {
	case later && user && len(m.Parts) > 0:
		s.said = append(s.said, m.Parts)
	case len(s.results) > 0:
		for i := range m.Parts {
			if !isResult(&m.Parts[i]) {
				s.content = append(s.content, m.Parts[i])
			}
		}
	}
}

func isResult(p *model.Part) bool {
	return p.CallID != "" && (p.Kind == model.PartToolReturn || p.Kind == model.PartRetry)
}

// take gives the calls in hand the results of a step.
func (p *player) take(s *step) {
	p.answers, p.content, p.due, p.returned = s, s.content, 0, make(chan struct{})
	for _, part := range s.results {
		if executed(part) {
			p.due++
		}
	}
	p.checked.Ran = append(p.checked.Ran, nil)
	p.checked.Own = append(p.checked.Own, nil)
}

// executed reports whether a result may be one of a call that ran.
func executed(p *model.Part) bool {
	return p.Outcome != model.OutcomeInterrupted && p.Outcome != model.OutcomeSkipped
}

// differs notes the first difference, and ends the run.
func (p *player) differs(d *Difference) error {
	if p.different == nil {
		d.Turn = p.number
		if d.Step == 0 {
			d.Step = p.step
		}
		p.different = d
	}
	p.cancel(p.different)
	return p.different
}

// stop ends the run where the recording ends.
func (p *player) stop(why string) error {
	if p.stopped == "" {
		p.stopped = why
	}
	p.cancel(errEnd)
	return errEnd
}

// generate is the model.
func (p *player) generate(ctx context.Context, req *model.Request,
	sink model.Sink) (*model.Message, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.different != nil {
		return nil, p.different
	}
	now := &p.steps[min(p.step, len(p.steps)-1)]
	p.step++
	if d := p.compareRequest(now, req); d != nil {
		return nil, p.differs(d)
	}
	if now.response == nil || p.step >= len(p.steps) {
		return nil, p.noResponse()
	}
	next := &p.steps[p.step]
	p.take(next)
	for _, parts := range next.said {
		p.inbox.Send(parts...)
	}
	resp := now.response.Clone()
	resp.RunID, resp.ConversationID, resp.Step = "", "", 0
	if sink != nil {
		if err := sinkAll(resp, sink); err != nil {
			return nil, err
		}
	}
	return resp, nil
}

// sinkAll streams a response as a whole.
func sinkAll(resp *model.Message, sink model.Sink) error {
	for i := range resp.Parts {
		part := &resp.Parts[i]
		d := model.Delta{Part: i, Kind: part.Kind, CallID: part.CallID, Tool: part.Tool}
		switch part.Kind {
		case model.PartToolCall:
			d.Text = string(part.Args)
		case model.PartText, model.PartThinking:
			d.Text = part.Text
		default:
			continue
		}
		if err := sink(d); err != nil {
			return err
		}
	}
	return nil
}

// noResponse ends a run that asks for a response that the session does not have.
func (p *player) noResponse() error {
	switch p.turn.Reason {
	case transcript.Done, transcript.Pending:
		return p.differs(&Difference{
			What:     "another request to the model",
			Recorded: "the turn had ended: " + p.turn.Reason, Now: "the agent goes on",
		})
	}
	return p.stop("the session has no further response: " + p.turn.Reason)
}

// inside sees the requests of all runs. Those of runs inside are not in a session.
func (p *player) inside(ctx context.Context, run *toolset.RunContext[any], req *model.Request,
	next agent.RequestFunc) (*model.Message, error) {
	if run.RunID == p.turn.ID {
		return next(ctx, req)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	const why = "the responses of agent %q, inside, are not in a session"
	return nil, p.stop(fmt.Sprintf(why, run.Agent))
}

// real calls a tool, and notes that it ran.
func (p *player) real(ctx context.Context, c *toolset.Call, args any,
	next toolset.CallFunc) (toolset.Result, error) {
	res, err := next(ctx, args)
	if !errorIs[*toolset.ApprovalRequiredError](err) {
		p.mu.Lock()
		p.ran(c.ID)
		p.mu.Unlock()
	}
	return res, err
}

// ran notes that a call ran.
func (p *player) ran(id string) {
	last := len(p.checked.Ran) - 1
	p.checked.Ran[last] = append(p.checked.Ran[last], id)
	if p.due--; p.due == 0 {
		close(p.returned)
	}
}

// call returns the session's result of a call.
func (p *player) call(ctx context.Context, c *toolset.Call) (toolset.Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	part := p.answers.results[c.ID]
	if part == nil || !executed(part) && p.answers.broken {
		return p.unanswered(ctx, c)
	}
	if part.Outcome == model.OutcomeSkipped && p.finalAfter(c.ID) {
		last := len(p.checked.Ran) - 1
		p.checked.Ran[last] = append(p.checked.Ran[last], c.ID)
		return toolset.Result{}, toolset.Deferred(nil) // it waited when the output came
	}
	if !executed(part) {
		return toolset.Result{}, p.differs(&Difference{
			What: fmt.Sprintf("call %s of %s", c.ID, c.Tool), Step: p.step,
			Recorded: "it was not carried out: " + part.Text, Now: "it is carried out",
		})
	}
	if p.asksItself(c, part) {
		last := len(p.checked.Own) - 1
		p.checked.Own[last] = append(p.checked.Own[last], c.ID)
		return toolset.Result{}, toolset.ApprovalRequired(toolset.Approval{})
	}
	p.ran(c.ID)
	text := part.Text
	if part.Decision != nil && len(part.Decision.Args) > 0 {
		text = strings.TrimPrefix(text, loop.WithChange(model.RawArgs(part.Decision.Args), ""))
	}
	if part.Kind == model.PartRetry {
		return toolset.Result{}, &toolset.RetryError{Message: text}
	}
	res := toolset.Result{Text: text, Outcome: part.Outcome, Meta: part.Meta, Keep: part.Keep}
	res.Content, p.content = p.content, nil
	return res, nil
}

// finalAfter reports whether a later call of the same response gave the output of the run.
func (p *player) finalAfter(id string) bool {
	if p.step == 0 {
		return false
	}
	seen := false
	for _, part := range p.steps[p.step-1].response.Parts {
		if part.Kind != model.PartToolCall {
			continue
		}
		if result := p.answers.results[part.CallID]; seen && result != nil && result.Final {
			return true
		}
		seen = seen || part.CallID == id
	}
	return false
}

// asksItself reports whether the tool asked for approval while it ran. If a recording was filled,
// that is known.
func (p *player) asksItself(c *toolset.Call, part *model.Part) bool {
	if c.Approved || part.Decision == nil || part.Decision.Verdict != model.VerdictAllow {
		return false
	}
	known := p.turn.Checked
	at := len(p.checked.Own) - 1
	return p.fill || known == nil || at < len(known.Own) && slices.Contains(known.Own[at], c.ID)
}

// unanswered handles a call without a result: it was left pending, or the turn ended before.
func (p *player) unanswered(ctx context.Context, c *toolset.Call) (toolset.Result, error) {
	lost := false // the process ended during the call, and another one has asked about it
	if m := p.answers.pending; m != nil {
		for _, s := range m.SuspendedCalls {
			if s.ID == c.ID {
				var inner []model.PendingCall
				for _, w := range m.PendingCalls {
					if len(w.Path) > 1 && w.Path[0] == c.ID {
						w.Path = w.Path[1:]
						if len(w.Path) == 1 {
							w.Path = nil
						}
						inner = append(inner, w)
					}
				}
				return toolset.Result{}, toolset.Pending(s.State, inner...)
			}
		}
		for _, w := range m.PendingCalls {
			if w.ID != c.ID || len(w.Path) > 0 {
				continue
			}
			if w.Approval == nil {
				return toolset.Result{}, toolset.Deferred(w.Meta)
			}
			lost = c.Approved
		}
	}
	switch reason := p.turn.Reason; {
	case reason == transcript.Done, reason == transcript.Pending && !lost:
		return toolset.Result{}, p.differs(&Difference{
			What:     fmt.Sprintf("call %s of %s", c.ID, c.Tool),
			Recorded: "it was not carried out", Now: "it is carried out",
		})
	}
	if p.due > 0 { // what has returned in the session returns before the run ends
		returned := p.returned
		p.mu.Unlock()
		patience := time.NewTimer(time.Second) // another agent may not make those calls
		select {
		case <-returned:
		case <-ctx.Done():
		case <-patience.C:
		}
		patience.Stop()
		p.mu.Lock()
	}
	return toolset.Result{}, p.stop("the turn ended during its calls: " + p.turn.Reason)
}

// approve gives the session's answer to a question about a call.
func (p *player) approve(_ context.Context, q toolset.ApprovalRequest) (toolset.Decision, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := q.CallID()
	if len(q.Path) != 1 {
		return toolset.Decision{}, p.stop("a question of an agent inside is not in a session")
	}
	if last := len(p.checked.Own) - 1; !slices.Contains(p.checked.Own[last], id) {
		p.checked.Asked = append(p.checked.Asked, PastCall{Step: q.Step, ID: id})
	}
	for _, d := range p.turn.Decisions {
		if d.Call == id && (d.Step == q.Step || d.Step == 0) {
			p.asked[PastCall{Step: d.Step, ID: id}] = true
			return d.Decision, nil
		}
	}
	if m := p.answers.pending; m != nil {
		for _, w := range m.PendingCalls {
			if w.ID == id {
				return toolset.Defer(), nil
			}
		}
	}
	part := p.answers.results[id]
	if p.step == 0 && part != nil && part.Decision != nil { // of a turn that a kill has cut
		return *part.Decision, nil
	}
	if p.turn.Reason == transcript.Done || part != nil && executed(part) {
		return toolset.Decision{}, p.differs(&Difference{
			What:     fmt.Sprintf("call %s of %s", id, q.Tool),
			Recorded: "nobody was asked about it", Now: "the agent asks whether it may run",
		})
	}
	return toolset.Decision{}, p.stop("the turn ended during a question: " + p.turn.Reason)
}
