// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"errors"
	"sync"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// errNoTurn is the error of an update that belongs to a turn while there is none: user code that
// kept its dependencies longer than its turn. It is an acp.ErrAnswered, as the connection's own for
// what comes behind an answer.
var errNoTurn = noTurn{}

type noTurn struct{}

func (noTurn) Error() string        { return "acpbridge: no turn of the session is running" }
func (noTurn) Is(target error) bool { return target == acp.ErrAnswered }

var errSessionGone = errors.New("acpbridge: the session has been closed")

// gate is the client of a session for what the session shows. It keeps the protocol's order: no
// update goes out before the answer to session/new, and none that belongs to a turn before the turn
// or behind its answer.
type gate struct {
	acp.Client

	mu        sync.Mutex
	announced bool                       // the client knows the session
	early     []*acp.SessionNotification // sent before that
	turn      context.Context            // the running turn's; nil between turns
	closed    bool

	announcing chan struct{} // holds a token while somebody sends early
}

// SessionUpdate implements [acp.Client].
func (c *gate) SessionUpdate(ctx context.Context, n *acp.SessionNotification) error {
	c.mu.Lock()
	turn := c.turn
	switch {
	case c.closed:
		c.mu.Unlock()
		return errSessionGone
	case turn == nil && belongsToTurn(&n.Update):
		c.mu.Unlock()
		return errNoTurn
	case !c.announced:
		kept := *n
		c.early = append(c.early, &kept)
		c.mu.Unlock()
		return nil
	}
	c.mu.Unlock()
	if turn != nil && ctx != turn {
		// The connection refuses updates after a turn's answer if it can tell the turn from ctx.
		ctx = &turnCtx{ctx, turn}
	}
	return c.Client.SessionUpdate(ctx, n)
}

// aside sends an update of a prompt that is answered without a turn.
func (c *gate) aside(prompt context.Context, n *acp.SessionNotification) error {
	c.announce(prompt)
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return errSessionGone
	}
	return c.Client.SessionUpdate(prompt, n)
}

// announce lets updates out, beginning with those that came too early. It is called after the
// answer to session/new, and by a turn, which may be quicker: a client that prompts knows the
// session. It ends when ctx does.
func (c *gate) announce(ctx context.Context) {
	select {
	case c.announcing <- struct{}{}:
		defer func() { <-c.announcing }()
	case <-ctx.Done():
		return
	}
	for n := c.nextEarly(); n != nil; n = c.nextEarly() {
		if err := c.Client.SessionUpdate(ctx, n); err != nil && ctx.Err() != nil {
			return
		}
		c.mu.Lock()
		c.early = c.early[1:]
		c.mu.Unlock()
	}
}

// nextEarly returns the first update that has come too early. If there is none, none will any more.
func (c *gate) nextEarly() *acp.SessionNotification {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.early) == 0 {
		c.announced, c.early = true, nil
		return nil
	}
	return c.early[0]
}

func (c *gate) enter(turn context.Context) {
	c.announce(turn)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn = turn
}

// isIn reports whether a turn is the running one.
func (c *gate) isIn(turn context.Context) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turn == turn
}

func (c *gate) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn = nil
}

func (c *gate) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}

// turnCtx ends with the caller's ctx and belongs to a turn's.
type turnCtx struct {
	context.Context
	turn context.Context
}

func (c *turnCtx) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.turn.Value(key)
}

// belongsToTurn reports whether an update makes sense within a turn only. The others tell about the
// session and may come at any time.
func belongsToTurn(u *acp.SessionUpdate) bool {
	return u.UserMessageChunk != nil || u.AgentMessageChunk != nil || u.AgentThoughtChunk != nil ||
		u.ToolCall != nil || u.ToolCallUpdate != nil || u.Plan != nil
}
