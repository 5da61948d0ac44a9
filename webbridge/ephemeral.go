// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"net/http"
	"sync"

	"github.com/ponte-go/ponte/agent/session"
)

// ephemeral makes a session for the user of a request, for a [Protocol] whose clients send their whole conversation
// each time: see [host.Host.Ephemeral]. It cannot be found by its id. One prompt is charged to the user at once. The
// session is removed when done has been called and its turn has ended.
func (h *Handler) ephemeral(r *http.Request) (s *openSession, done func(), err error) {
	if h.isClosing() {
		return nil, nil, errClosing
	}
	ctx := r.Context()
	user := User(ctx)
	free, err := h.charge(user)
	if err != nil {
		return nil, nil, err
	}
	free = sync.OnceFunc(free)
	n := session.New{Owner: user}
	if len(h.o.Dirs) > 0 {
		n.Dir = h.o.Dirs[0]
	}
	made, err := h.host.Ephemeral().Create(ctx, n, nil)
	if err != nil {
		free()
		return nil, nil, err
	}
	l := &live{id: made.ID(), changing: make(chan struct{}, 1), fleeting: made, uses: 1}
	h.mu.Lock()
	h.live[l.id] = l
	h.mu.Unlock()
	s = &openSession{Session: made, handler: h, live: l, user: user, paid: free}
	return s, func() {
		if s.paid != nil { // there was no turn
			s.paid()
		}
		h.leave(l)
	}, nil
}

// charge admits a prompt, unless it is paid for.
func (s *openSession) charge() (free func(), err error) {
	if free = s.paid; free != nil {
		s.paid = nil
		return free, nil
	}
	return s.handler.charge(s.user)
}
