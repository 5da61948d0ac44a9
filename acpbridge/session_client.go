// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/internal/acpview"
)

// sessionClient is the client as the code of a session sees it. What that code tells the user goes
// to what the session shows, and from there to every client. It is the [deps.Transcript] of the
// session's tracker.
type sessionClient struct {
	acp.Client
	gate   gate
	visits visits

	// foreign returns the turn that another surface began in the session, or nil.
	foreign func() *host.Turn

	mu    sync.Mutex
	turn  *host.Turn // the client's own that is running; nil between turns
	shown *acpview.Client
}

var _ deps.Transcript = (*sessionClient)(nil)

func newSessionClient(client acp.Client) *sessionClient {
	return &sessionClient{Client: client, gate: gate{Client: client, announcing: make(chan struct{}, 1)}}
}

// SessionUpdate implements [acp.Client]. Updates of a turn are shown by the session.
func (c *sessionClient) SessionUpdate(ctx context.Context, n *acp.SessionNotification) error {
	if turn, _ := c.now(); !belongsToTurn(&n.Update) && (n.Update.Notice == nil || turn == nil) {
		return c.gate.SessionUpdate(ctx, n)
	}
	if err := c.emit(new(agent.Event), &n.Update); err != nil {
		return err
	}
	return c.Show(ctx)
}

// enter and leave mark the running turn.
func (c *sessionClient) enter(ctx context.Context, turn *host.Turn, shown *acpview.Client) {
	c.gate.enter(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn, c.shown = turn, shown
}

// leave does nothing if another turn is running: see [turn.leave].
func (c *sessionClient) leave(turn context.Context) {
	if !c.gate.isIn(turn) {
		return
	}
	c.endVisits(turn)
	c.mu.Lock()
	c.turn, c.shown = nil, nil
	c.mu.Unlock()
	c.gate.leave()
}

func (c *sessionClient) now() (*host.Turn, *acpview.Client) {
	c.mu.Lock()
	turn, shown := c.turn, c.shown
	c.mu.Unlock()
	if turn == nil {
		return c.foreign(), nil
	}
	return turn, shown
}

// Call implements [deps.Transcript].
func (c *sessionClient) Call(id string) (*view.Entity, string) {
	turn, _ := c.now()
	if turn == nil {
		return nil, ""
	}
	return turn.Call(id)
}

// Report implements [deps.Transcript].
func (c *sessionClient) Report(patch *view.Entity, begin bool) error {
	turn, _ := c.now()
	if turn == nil {
		return errNoTurn
	}
	if !begin {
		if known, _ := turn.Call(patch.ID); known == nil {
			return deps.ErrUnknownToolCall
		}
	}
	if !turn.Report(patch) {
		return errNoTurn
	}
	return nil
}

// EndRun implements [deps.Transcript]. The session ends the calls of its runs itself.
func (c *sessionClient) EndRun(string) {}

// Show implements [deps.Transcript].
func (c *sessionClient) Show(ctx context.Context) error {
	turn, shown := c.now()
	switch {
	case turn == nil:
		return errNoTurn
	case shown == nil: // the client is shown that with its next turn
		return nil
	}
	return shown.Show(ctx)
}

// errNotShown is the error of an update that tools cannot send.
var errNotShown = errors.New("acpbridge: tools cannot send updates of this kind: use messages, tool calls, plans, notices and compactions")

// emit has the session show an update that code of the session sends, in an event of the run or
// without one.
func (c *sessionClient) emit(e *agent.Event, u *acp.SessionUpdate) error {
	turn, _ := c.now()
	if turn == nil {
		return errNoTurn
	}
	upsert := func(entity *view.Entity) error {
		if !turn.Emit(e, view.Change{Op: view.Upsert, ID: entity.ID, Entity: entity}) {
			return errNotShown
		}
		return nil
	}
	switch {
	case u.ToolCall != nil:
		return c.Report(acpview.CallOf(new(acpview.Update(u.ToolCall))), true)
	case u.ToolCallUpdate != nil:
		return c.Report(acpview.CallOf(u.ToolCallUpdate), false)
	case u.Plan != nil:
		return upsert(&view.Entity{ID: transcript.PlanID, Kind: view.Plan, Steps: acpview.StepsOf(u.Plan)})
	case u.Notice != nil:
		return upsert(acpview.NoticeOf(u.Notice))
	case u.AgentMessageChunk != nil:
		return said(turn, e, view.Message, u.AgentMessageChunk)
	case u.AgentThoughtChunk != nil:
		return said(turn, e, view.Thought, u.AgentThoughtChunk)
	}
	return errNotShown
}

// said shows a piece of a message of a tool: the first one begins it.
func said(turn *host.Turn, e *agent.Event, kind view.Kind, c *acp.ContentChunk) error {
	id := cmp.Or(string(c.MessageID), e.CallID, "message")
	if kind == view.Thought {
		id += "-thought"
	}
	content := acpview.ContentOf(&c.Content)
	more := view.Change{Op: view.Append, ID: id, Content: []view.Content{content}}
	if content.Kind == view.Text {
		more.Text, more.Content = content.Text, nil
	}
	if turn.Emit(e, more) {
		return nil
	}
	first := &view.Entity{ID: id, Kind: kind, Content: []view.Content{content}}
	if !turn.Emit(e, view.Change{Op: view.Upsert, ID: id, Entity: first}) {
		return errNotShown
	}
	return nil
}
