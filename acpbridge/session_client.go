// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"errors"
	"slices"
	"strings"
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

	mu        sync.Mutex
	announced bool                       // the client knows the session
	early     []*acp.SessionNotification // sent before that
	turn      context.Context            // the running turn's; nil between turns
	shows     reporter                   // takes what is told about tool calls; nil between turns
	held      []*acp.SessionNotification // how tools say that their calls have ended: see [endedCall]
	closed    bool

	announcing chan struct{} // holds a token while somebody sends early
	visits     visits
}

func newSessionClient(client acp.Client) *sessionClient {
	return &sessionClient{Client: client, announcing: make(chan struct{}, 1)}
}

// SessionUpdate implements [acp.Client].
func (c *sessionClient) SessionUpdate(ctx context.Context, n *acp.SessionNotification) error {
	c.mu.Lock()
	turn, shows := c.turn, c.shows
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
		// The connection refuses what comes behind a turn's answer if it can tell from ctx whose it is.
		ctx = &turnCtx{ctx, turn}
	}
	if shows != nil && (n.Update.ToolCall != nil || n.Update.ToolCallUpdate != nil) {
		shows.Report(callOf(&n.Update))
	}
	if c.hold(ctx, n) {
		return nil
	}
	return c.Client.SessionUpdate(ctx, n)
}

// announce lets updates out, those first that have come too early. It is called behind the answer to session/new, and by a turn, which
// may be quicker: a client that prompts knows the session. It ends when ctx does.
func (c *sessionClient) announce(ctx context.Context) {
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
func (c *sessionClient) nextEarly() *acp.SessionNotification {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.early) == 0 {
		c.announced, c.early = true, nil
		return nil
	}
	return c.early[0]
}

// enter and leave mark the running turn.
func (c *sessionClient) enter(turn context.Context, shows reporter) {
	c.announce(turn)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn, c.shows = turn, shows
}

// leave does nothing if another turn is running: see [turn.leave].
func (c *sessionClient) leave(turn context.Context) {
	c.mu.Lock()
	mine := c.turn == turn
	c.mu.Unlock()
	if !mine {
		return
	}
	c.endVisits()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn, c.shows, c.held = nil, nil, nil
}

// endedKey marks the context of a report by which a tool says that its call has ended.
type endedKey struct{}

// endedCall returns the context of a report by which a tool says that its call has ended. Its result is recorded after that. The client is
// told of the end when it has been, so that what it was told is still there if this process is killed.
func endedCall(ctx context.Context) context.Context { return context.WithValue(ctx, endedKey{}, true) }

// hold keeps the end of a call of the running turn until the result is recorded. It reports whether it did.
func (c *sessionClient) hold(ctx context.Context, n *acp.SessionNotification) bool {
	u := n.Update.ToolCallUpdate
	if u == nil || ctx.Value(endedKey{}) == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shows == nil || !strings.HasPrefix(string(u.ToolCallID), c.shows.ID()+"/") { // or of an agent inside the run
		return false
	}
	kept := *n
	c.held = append(c.held, &kept)
	return true
}

// recorded sends what was held of a call whose result is recorded. The empty id is for all calls, when the turn ends.
func (c *sessionClient) recorded(ctx context.Context, id acp.ToolCallID) error {
	c.mu.Lock()
	var ready []*acp.SessionNotification
	c.held = slices.DeleteFunc(c.held, func(n *acp.SessionNotification) bool {
		is := id == "" || n.Update.ToolCallUpdate.ToolCallID == id
		if is {
			ready = append(ready, n)
		}
		return is
	})
	turn := c.turn
	c.mu.Unlock()
	if turn != nil {
		ctx = &turnCtx{ctx, turn}
	}
	var errs []error
	for _, n := range ready {
		errs = append(errs, c.Client.SessionUpdate(ctx, n))
	}
	return errors.Join(errs...)
}

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
