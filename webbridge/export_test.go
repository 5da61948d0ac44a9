// SPDX-License-Identifier: Apache-2.0

package webbridge

// Routes returns the routes of the API.
func (h *Handler) Routes() []string {
	var all []string
	for route := range h.routes() {
		all = append(all, route)
	}
	return all
}

// Open returns how many streams are open, and how many sessions and users are in memory.
func (h *Handler) Open() (streams, sessions, users int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.streams, len(h.live), len(h.accounts)
}
