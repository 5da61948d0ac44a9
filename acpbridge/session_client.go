package acpbridge

import (
	"context"
	"errors"
	"sync"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// errNoTurn is the error of an update that belongs to a turn while there is none: user code that kept its dependencies longer than
// its turn. It is an acp.ErrAnswered, as the connection's own for what comes behind an answer.
var errNoTurn = noTurn{}

type noTurn struct{}

func (noTurn) Error() string        { return "acpbridge: no turn of the session is running" }
func (noTurn) Is(target error) bool { return target == acp.ErrAnswered }

var errSessionGone = errors.New("acpbridge: the session has been closed")

// sessionClient is the client as the code of a session sees it. It keeps the protocol's order where user code cannot: no update goes
// out before the answer to session/new, and none that belongs to a turn before the turn or behind its answer.
type sessionClient struct {
	acp.Client
	id acp.SessionID

	mu     sync.Mutex
	state  sessionState
	early  []*acp.SessionNotification // sent before the session was announced
	turn   context.Context            // the running turn's; nil between turns
	closed bool
}

type sessionState uint8

const (
	sessionNew       sessionState = iota // session/new has not been answered
	sessionAnnounced                     // it has
)

// SessionUpdate implements [acp.Client].
func (c *sessionClient) SessionUpdate(ctx context.Context, n *acp.SessionNotification) error {
	c.mu.Lock()
	turn := c.turn
	switch {
	case c.closed:
		c.mu.Unlock()
		return errSessionGone
	case turn == nil && belongsToTurn(&n.Update):
		c.mu.Unlock()
		return errNoTurn
	case c.state == sessionNew:
		kept := *n
		c.early = append(c.early, &kept)
		c.mu.Unlock()
		return nil
	}
	c.mu.Unlock()
	if turn != nil {
		// The connection refuses what comes behind a turn's answer if it can tell from ctx whose it is.
		ctx = &turnCtx{ctx, turn}
	}
	return c.Client.SessionUpdate(ctx, n)
}

// announce lets updates out, those first that have come too early. It is called once the client knows the session.
func (c *sessionClient) announce(ctx context.Context) {
	for {
		c.mu.Lock()
		early := c.early
		c.early = nil
		if len(early) == 0 {
			c.state = sessionAnnounced
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		for _, n := range early {
			_ = c.Client.SessionUpdate(ctx, n) // fails only if the connection has ended
		}
	}
}

// enter and leave mark the running turn.
func (c *sessionClient) enter(turn context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn = turn
}

func (c *sessionClient) leave() { c.enter(nil) }

func (c *sessionClient) close() {
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

// belongsToTurn reports whether an update makes sense within a turn only. The others tell about the session and may come at any time.
func belongsToTurn(u *acp.SessionUpdate) bool {
	return u.UserMessageChunk != nil || u.AgentMessageChunk != nil || u.AgentThoughtChunk != nil ||
		u.ToolCall != nil || u.ToolCallUpdate != nil || u.Plan != nil
}
