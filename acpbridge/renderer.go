// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/session/projection"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/deps"
)

// renderer shows a client the changes of what a session shows, as updates of version 1 of the protocol. It is used by the run's goroutine;
// an update that the client does not take yet holds the run up, so that nothing is lost and nothing is piled up.
type renderer struct {
	ctx                  context.Context
	session              *session
	notices, compactions bool // what the client takes
	takes                clientUpdates
	log                  *slog.Logger

	calls, agents map[string]*view.Entity // by the calls' ids: calls that have not ended, and the agents inside them, for takes.subagents

	inner map[string]*innerAgent // by their entities: agents inside calls that have not ended

	compacting string // the entity of the compaction that goes on

	message, thought chunk
	cancel           context.CancelFunc // of close; nil before it
}

// chunk is an update with text, made once: the connection has written it down when the call that sends it returns.
type chunk struct {
	of   string // the entity of note's message
	note acp.SessionNotification
	body acp.ContentChunk
	text acp.TextContent
}

func newRenderer(ctx context.Context, s *session, log *slog.Logger) *renderer {
	r := &renderer{ctx: ctx, session: s, log: log, takes: s.takes}
	if r.takes.subagents {
		r.calls, r.agents = map[string]*view.Entity{}, map[string]*view.Entity{}
	}
	if takes := s.info.Capabilities.Session; takes != nil {
		r.notices, r.compactions = takes.Notices != nil, takes.Compaction != nil
	}
	r.message.init(s.id)
	r.message.note.Update.AgentMessageChunk = &r.message.body
	r.thought.init(s.id)
	r.thought.note.Update.AgentThoughtChunk = &r.thought.body
	return r
}

func (c *chunk) init(id acp.SessionID) {
	c.note.SessionID = id
	c.body.Content.Text = &c.text
}

// close gives a client that is behind a little time for what is left to tell before the turn is answered, also if the turn was cancelled.
func (r *renderer) close() {
	turn := r.ctx
	ctx, cancel := context.WithTimeout(context.WithoutCancel(turn), farewell)
	r.cancel = cancel
	if turn.Err() != nil {
		r.ctx = ctx
	}
}

// done ends what close has begun.
func (r *renderer) done() {
	if r.cancel != nil {
		r.cancel()
	}
}

// messageID returns the id that clients know a message by. It is the same whenever the message is shown.
func messageID(entity string) acp.MessageID {
	of, suffix := entity, ""
	if rest, ok := strings.CutPrefix(entity, "thought:"); ok { // what the model thinks beside a message
		of, suffix = "message:"+rest, "-thought"
	}
	sum := sha256.Sum256([]byte(of))
	return acp.MessageID(base32.StdEncoding.EncodeToString(sum[:])[:26] + suffix)
}

// show shows a change.
func (r *renderer) show(s *projection.Shown) {
	if s.Op == view.Remove { // which this version of the protocol has not
		return
	}
	switch s.Kind {
	case view.Message, view.Thought:
		if s.Role == view.User { // the client knows what it has sent
			return
		}
		r.text(s)
	case view.ToolCall:
		r.call(s)
		r.noteCall(s.Entity)
	case view.SubAgent:
		r.agent(s)
	case view.Usage:
		if u := s.Entity.Usage; u != nil {
			r.send(usageUpdate(u))
		}
	case view.Plan:
		r.sendAll(r.planned(s.Entity))
	case view.Notice:
		r.notice(s.Entity)
	case view.Compaction:
		r.compaction(s.Entity)
	}
}

// text shows what a message or thought has more.
func (r *renderer) text(s *projection.Shown) {
	c := &r.message
	if s.Kind == view.Thought {
		c = &r.thought
	}
	if c.of != s.ID {
		c.of, c.body.MessageID = s.ID, messageID(s.ID)
	}
	content := s.Content
	if s.Op == view.Upsert {
		content = s.Entity.Content
	}
	if s.Text != "" {
		r.say(c, s.Text)
	}
	for i := range content {
		if content[i].Kind == view.Text {
			r.say(c, content[i].Text)
			continue
		}
		r.send(acp.SessionUpdate{AgentMessageChunk: &acp.ContentChunk{MessageID: c.body.MessageID, Content: blockOf(&content[i])}})
	}
}

func (r *renderer) say(c *chunk, text string) {
	if text == "" {
		return
	}
	c.text.Text = text
	r.report(r.session.client.SessionUpdate(r.ctx, &c.note))
}

// call shows a tool call. The tracker announces each once and sends changes only, whether they come from here or from the tool itself.
func (r *renderer) call(s *projection.Shown) {
	id := acp.ToolCallID(strings.TrimPrefix(s.ID, "call:"))
	tracker := r.session.tracker
	e := s.Patch
	if e == nil {
		e = s.Entity
		r.label(e)
		r.report(tracker.Start(r.ctx, acp.ToolCall{
			ToolCallID: id, Title: e.Title, Name: &e.Name, Kind: acp.ToolKind(e.Class), Status: acp.ToolCallStatus(e.Status),
			Content: toolContent(e), Locations: locationsOf(e.Locations), RawInput: e.Input,
		}))
		return
	}
	u := acp.ToolCallUpdate{
		ToolCallID: id, Kind: acp.ToolKind(e.Class), Status: acp.ToolCallStatus(e.Status), RawInput: e.Input, RawOutput: e.Output, Locations: locationsOf(e.Locations),
	}
	if e.Title != "" {
		u.Title = &e.Title
	}
	switch {
	case e.Content != nil:
		u.Content = toolContent(e)
	case s.Added != nil:
		u.Content = append(tracker.Snapshot(id).Content, toolContent(&view.Entity{Content: s.Added})...)
	}
	err := tracker.Update(r.ctx, u)
	if errors.Is(err, deps.ErrUnknownToolCall) { // announced by another process, and replayed to this client
		if u.Content != nil {
			u.Content = toolContent(s.Entity)
		}
		r.send(acp.SessionUpdate{ToolCallUpdate: &u})
		return
	}
	r.report(err)
}

// agent shows an agent inside a tool call. The protocol does not nest calls, so those of the agent stand among the others, with its name before
// their titles.
func (r *renderer) agent(s *projection.Shown) {
	defer r.showSubagent(s)
	e := s.Entity
	in := r.inner[e.ID]
	if in == nil {
		in = &innerAgent{name: e.Name, runs: []string{unescapeRun(strings.TrimPrefix(e.ID, "agent:"))}}
	}
	if !e.Status.Ended() {
		if r.inner == nil {
			r.inner = map[string]*innerAgent{}
		}
		r.inner[e.ID] = in
		return
	}
	delete(r.inner, e.ID)
	for _, run := range in.runs {
		r.report(r.session.tracker.EndRun(r.ctx, run))
	}
}

// innerAgent is an agent inside a tool call, with its runs: there are several if its calls have waited for answers.
type innerAgent struct {
	name string
	runs []string
}

// label has the name of its agent before the title of a call.
func (r *renderer) label(call *view.Entity) {
	in := r.inner[call.Parent]
	if in == nil {
		return
	}
	run, _, _ := strings.Cut(strings.TrimPrefix(call.ID, "call:"), "/")
	run = unescapeRun(run)
	if !slices.Contains(in.runs, run) {
		in.runs = append(in.runs, run)
	}
	r.session.tracker.Label(run, in.name)
}

func unescapeRun(run string) string { return strings.NewReplacer("%2F", "/", "%25", "%").Replace(run) }

// observe shows what an event means for the client alone.
func (r *renderer) observe(e *agent.Event, turn reporter) {
	if e.Kind == agent.EventToolResult {
		r.report(r.session.client.recorded(r.ctx, deps.ToolCallID(turn.ID(), e.Step, e.CallID)))
	}
	r.custom(e, turn)
}

// custom sends the updates that tools emit.
func (r *renderer) custom(e *agent.Event, turn reporter) {
	if e.Kind != agent.EventCustom {
		return
	}
	var update acp.SessionUpdate
	switch v := e.Value.(type) {
	case agent.Nested:
		if v.HandOver {
			r.custom(&v.Event, turn)
		}
		return
	case acp.SessionUpdate:
		update = v
	case *acp.SessionUpdate:
		if v == nil {
			return
		}
		update = *v
	default:
		return
	}
	if update.Plan == nil {
		r.send(update)
		return
	}
	plan := &view.Entity{ID: projection.PlanID, Kind: view.Plan, Steps: stepsOf(update.Plan)}
	if r.takes.plans {
		r.sendAll(r.planned(plan))
	} else {
		r.send(update)
	}
	turn.Report(plan)
}

// reporter takes what is shown that the run does not say.
type reporter interface {
	Report(e *view.Entity)
	// ID is the id of the turn's run. It is empty until the turn begins.
	ID() string
}

func (r *renderer) send(u acp.SessionUpdate) {
	r.report(r.session.client.SessionUpdate(r.ctx, &acp.SessionNotification{SessionID: r.session.id, Update: u}))
}

func (r *renderer) sendAll(updates []acp.SessionUpdate) {
	for _, u := range updates {
		r.send(u)
	}
}

// report logs an update that could not be sent. That the turn or the connection has ended is no news.
func (r *renderer) report(err error) {
	if err != nil && r.ctx.Err() == nil && !errors.Is(err, acp.ErrClosed) {
		r.log.Warn("acpbridge: update not sent", "session", r.session.id, "error", fmt.Sprintf("%T", err))
	}
}
