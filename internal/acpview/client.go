// SPDX-License-Identifier: Apache-2.0

package acpview

import (
	"context"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
)

// Client is a client of a session, with what it has been shown. It is safe for concurrent use.
type Client struct {
	sending chan struct{} // holds a token while somebody sends
	cursor  *view.Cursor
	table   table
	delta   view.Delta
}

// New returns a client of a session whose entities are in fold. known is the snapshot that the
// client has already seen, or nil.
func New(to acp.Client, session acp.SessionID, fold *view.Fold, known *view.Snapshot, o Options) *Client {
	c := &Client{sending: make(chan struct{}, 1), cursor: fold.Cursor(known)}
	c.table = table{options: o, fold: fold, client: to, session: session}
	c.table.init()
	return c
}

// Since returns a client that has seen what there was at a position of fold, see
// [view.Snapshot.Pos]. Of what has changed since, it is shown all.
func Since(to acp.Client, session acp.SessionID, fold *view.Fold, pos uint64, o Options) *Client {
	c := New(to, session, fold, nil, o)
	c.cursor = fold.CursorAt(pos)
	return c
}

// Show sends the changes that the client has not seen. If another Show is sending, it waits for it,
// or until ctx ends, and then returns the cause of ctx. After an error or a panic, the next Show
// sends the rest. It sends also if ctx is done: the client may refuse.
func (c *Client) Show(ctx context.Context) error {
	if err := c.enter(ctx); err != nil {
		return err
	}
	defer c.leave()
	for c.cursor.Take(&c.delta) {
		if err := c.show(ctx); err != nil {
			return err
		}
	}
	return nil
}

// ShowAll is like Show, and announces also the calls that [Options].Late has kept back.
func (c *Client) ShowAll(ctx context.Context) error {
	if err := c.Show(ctx); err != nil {
		return err
	}
	if err := c.enter(ctx); err != nil {
		return err
	}
	defer c.leave()
	c.table.ctx = ctx
	return c.table.others()
}

// Idle reports whether the client has seen everything and no Show is running.
func (c *Client) Idle() bool {
	select {
	case c.sending <- struct{}{}:
	default:
		return false
	}
	defer c.leave()
	return !c.cursor.Behind()
}

// Skip leaves out kinds of entities.
func (c *Client) Skip(kinds ...view.Kind) { c.cursor.Skip(kinds...) }

// Saw marks an entity as seen in its present state. It waits for a Show that is sending.
func (c *Client) Saw(id string) {
	c.sending <- struct{}{}
	defer c.leave()
	c.cursor.Saw(id)
}

func (c *Client) enter(ctx context.Context) error {
	select {
	case c.sending <- struct{}{}:
		return nil
	default:
	}
	select {
	case c.sending <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *Client) leave() { <-c.sending }

// show sends the delta in hand.
func (c *Client) show(ctx context.Context) (err error) {
	sent := false
	defer func() {
		c.table.ctx = nil
		if !sent {
			c.cursor.Again()
		}
		grows := c.delta.Kind == view.Message || c.delta.Kind == view.Thought || c.delta.Kind == view.SubAgent && c.delta.Known == nil
		if c.table.got = 0; !sent && grows { // what the client has of it stays
			c.table.got = c.table.sent
		}
	}()
	c.table.ctx, c.table.sent = ctx, 0
	if err = c.table.show(&c.delta); err == nil {
		sent = true
	}
	return err
}
