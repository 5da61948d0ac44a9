// SPDX-License-Identifier: Apache-2.0

package host

import "context"

// Ephemeral returns a host with the same configuration whose sessions are only in memory. They are
// not listed with the others, their runs have no journal, and closing a session removes it. It is
// for clients that send their whole conversation with each request: see [Session.Seed]. Ephemeral
// returns the same host each time, and [Host.Close] closes it too.
func (h *Host) Ephemeral() *Host {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ephemeral == nil {
		h.ephemeral = h.without()
		h.ephemeral.closed = h.closed
		h.ephemeral.ephemeral = h.ephemeral
	}
	return h.ephemeral
}

// closeEphemeral closes the ephemeral sessions.
func (h *Host) closeEphemeral(ctx context.Context) error {
	h.mu.Lock()
	e := h.ephemeral
	h.mu.Unlock()
	if e == nil || e == h {
		return nil
	}
	return e.Close(ctx)
}
