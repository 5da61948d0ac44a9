// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
)

// projection shows the client what happens in a run, as updates of version 1 of the protocol. It is used by the run's goroutine; an
// update that the client does not take yet holds the run up, so that nothing is lost and nothing is piled up.
type projection struct {
	ctx                  context.Context
	session              *session
	calls                callProjection
	inner                innerProjection
	render               func(any) (string, error)
	notices, compactions bool // what the client takes
	window               int
	log                  *slog.Logger

	message, thought chunk
	finish           model.FinishReason // of the last response
	textual          bool               // the last response called no tool, so that its text is the output
}

// chunk is an update with text, made once: the connection has written it down when the call that sends it returns.
type chunk struct {
	note acp.SessionNotification
	body acp.ContentChunk
	text acp.TextContent
}

func newProjection(t *turn, s *server) *projection {
	p := &projection{
		ctx: t.ctx, session: t.session, render: s.render, window: s.window, log: s.log,
		calls: callProjection{ctx: t.ctx, tracker: t.session.tracker, runID: t.runID},
		inner: innerProjection{ctx: t.ctx, tracker: t.session.tracker},
	}
	if takes := t.session.info.Capabilities.Session; takes != nil {
		p.notices, p.compactions = takes.Notices != nil, takes.Compaction != nil
	}
	p.message.init(t.session.id)
	p.message.note.Update.AgentMessageChunk = &p.message.body
	p.thought.init(t.session.id)
	p.thought.note.Update.AgentThoughtChunk = &p.thought.body
	return p
}

func (c *chunk) init(id acp.SessionID) {
	c.note.SessionID = id
	c.body.Content.Text = &c.text
}

// event shows an event.
func (p *projection) event(e *agent.Event) {
	switch e.Kind {
	case agent.EventRequestStart:
		p.newMessage()
	case agent.EventPartStart:
		if e.PartKind == model.PartToolCall {
			p.report(p.calls.begin(e))
		}
	case agent.EventPartDelta:
		switch e.PartKind {
		case model.PartText:
			p.say(&p.message, e.Text)
		case model.PartThinking:
			p.say(&p.thought, e.Text)
		}
	case agent.EventResponse:
		if e.Message.HandOver != nil { // it has been shown
			return
		}
		p.finish, p.textual = e.Message.Finish, !e.Message.HasToolCalls()
		p.media(e.Message)
		p.usage(e.Message.Usage)
		p.report(p.calls.settle(e))
	case agent.EventToolCall:
		p.report(p.calls.call(e))
	case agent.EventToolStart:
		p.report(p.calls.begun(e))
	case agent.EventToolResult:
		p.report(p.calls.result(e))
	case agent.EventCustom:
		nested, ok := e.Value.(agent.Nested)
		if ok && nested.HandOver {
			p.handedOver(&nested.Event)
		}
		if ok {
			p.inner.event(e.CallID, e.Tool, &nested, p.report)
			return
		}
		p.custom(e.Value)
	case agent.EventOutput:
		p.output(e.Value)
	}
}

// handedOver shows what an agent says that the run was handed over to. Its tool calls are not shown.
func (p *projection) handedOver(e *agent.Event) {
	switch e.Kind {
	case agent.EventRequestStart, agent.EventPartDelta, agent.EventCustom:
		if e.PartKind != model.PartToolCall {
			p.event(e)
		}
	case agent.EventResponse:
		if e.Message.HandOver == nil {
			p.finish, p.textual = e.Message.Finish, !e.Message.HasToolCalls()
			p.media(e.Message)
		}
	}
}

// newMessage gives what follows ids of its own: a response of the model is a message, what it thinks beside it another.
func (p *projection) newMessage() {
	id := rand.Text()
	p.message.body.MessageID = acp.MessageID(id)
	p.thought.body.MessageID = acp.MessageID(id + "-thought")
}

func (p *projection) say(c *chunk, text string) {
	if text == "" {
		return
	}
	c.text.Text = text
	p.report(p.session.client.SessionUpdate(p.ctx, &c.note))
}

// output shows an output that the client has not seen as text.
func (p *projection) output(value any) {
	if p.textual {
		return
	}
	text, err := p.render(value)
	if err != nil {
		p.report(err)
		text = "The output cannot be shown: " + oneLine(err.Error())
	}
	p.newMessage()
	p.say(&p.message, text)
}

// custom sends the updates that tools emit.
func (p *projection) custom(value any) {
	var update acp.SessionUpdate
	switch v := value.(type) {
	case acp.SessionUpdate:
		update = v
	case *acp.SessionUpdate:
		if v == nil {
			return
		}
		update = *v
	case view.Change:
		p.change(&v)
		return
	default:
		return
	}
	p.send(update)
}

// usage shows how full the context is: what the model has read and written last is what it will read next. The protocol has no way to
// say so if the size of the window is not known.
func (p *projection) usage(u model.Usage) {
	if used := u.TotalTokens(); p.window > 0 && used > 0 {
		p.send(acp.SessionUpdate{UsageUpdate: &acp.UsageUpdate{Used: uint64(used), Size: uint64(p.window)}})
	}
}

// close tells what is left to tell before the turn is answered: how open tool calls ended, and why the turn stopped. A client that is
// behind gets a little time, also if the turn was cancelled.
func (p *projection) close(end *ending) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), farewell)
	defer cancel()
	if p.ctx.Err() == nil {
		ctx = p.ctx
	}
	p.report(p.inner.close(ctx, whyUnfinished(end)))
	p.report(p.calls.close(ctx, whyUnfinished(end)))
	if end.notice == "" {
		return
	}
	p.ctx = ctx
	if p.notices {
		p.send(acp.SessionUpdate{Notice: &acp.Notice{Severity: acp.NoticeSeverityWarning, Title: end.notice}})
		return
	}
	p.newMessage()
	p.say(&p.message, end.notice)
}

func (p *projection) send(u acp.SessionUpdate) {
	p.report(p.session.client.SessionUpdate(p.ctx, &acp.SessionNotification{SessionID: p.session.id, Update: u}))
}

// report logs an update that could not be sent. That the turn or the connection has ended is no news.
func (p *projection) report(err error) {
	if err != nil && p.ctx.Err() == nil && !errors.Is(err, acp.ErrClosed) {
		p.log.Warn("acpbridge: update not sent", "session", p.session.id, "error", fmt.Sprintf("%T", err))
	}
}
