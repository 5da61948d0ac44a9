// SPDX-License-Identifier: Apache-2.0

package acphttp

import (
	"context"
	"time"
)

const (
	silence    = time.Second     // after which a connection may be replaced
	endTimeout = 5 * time.Second // for an agent to end
)

// place makes a connection. If there are too many, it ends the one that has been silent for
// longest. It returns nil if there is none.
func (h *Handler) place(ctx context.Context, hello string) *connection {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	for {
		h.mu.Lock()
		if h.closed {
			h.mu.Unlock()
			return nil
		}
		if len(h.connections) < h.config.MaxConnections {
			defer h.mu.Unlock()
			return h.connect(hello)
		}
		c := h.replaceable()
		h.mu.Unlock()
		if c == nil || !c.finish(ctx) {
			return nil
		}
	}
}

// replaceable returns a connection that is ending, or else the one that has been silent for
// longest. It returns nil if none has been for long enough. The handler's mu is held.
func (h *Handler) replaceable() (oldest *connection) {
	least := time.Now().Add(-silence)
	for _, c := range h.connections {
		if c.ctx.Err() != nil {
			return c
		}
		if since, ok := c.silentSince(); ok && !since.After(least) {
			oldest, least = c, since
		}
	}
	return oldest
}

// free ends other connections that have a session and no client that could see it, which lets this
// one load it.
func (h *Handler) free(ctx context.Context, session string, but *connection) {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	h.mu.Lock()
	var abandoned []*connection
	for _, c := range h.connections {
		if c != but && c.abandoned(session) {
			abandoned = append(abandoned, c)
		}
	}
	h.mu.Unlock()
	for _, c := range abandoned {
		c.finish(ctx)
	}
}

// finish ends a connection, and reports whether its agent has ended before ctx.
func (c *connection) finish(ctx context.Context) bool {
	c.end()
	select {
	case <-c.ended:
		return true
	case <-ctx.Done():
		return false
	}
}
