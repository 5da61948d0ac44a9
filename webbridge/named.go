// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
)

// maxChatName bounds the names that clients give their chats, in bytes.
const maxChatName = 256

// named returns the session for a name that a client has chosen, such as the chat id of useChat or
// the thread id of AG-UI. The id of one of the user's sessions means that session. Every other name
// means a session whose id is a hash of the user and the name, so equal names of different users
// are different sessions, and reveal nothing about each other. If the session does not exist, it is
// created, or if create is false, the error is of the kind [KindNotFound].
func (h *Handler) named(r *http.Request, name string, create bool) (session.Info, error) {
	if name == "" || len(name) > maxChatName || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return session.Info{}, refuse(KindInvalid, "the id of the chat has %d bytes: use 1 to %d, without control characters", len(name), maxChatName)
	}
	user := User(r.Context())
	var id string
	for _, id = range []string{name, chatID(user, name)} {
		switch info, err := h.host.Store().Get(r.Context(), id); {
		case err == nil && h.sees(user, info):
			return info, nil
		case err != nil && !errors.Is(err, session.ErrNotFound) && !errors.Is(err, session.ErrInvalid):
			return info, err
		}
	}
	if !create {
		return session.Info{}, unknown(name)
	}
	if h.isClosing() {
		return session.Info{}, errClosing
	}
	info, err := h.make(r, session.New{ID: id})
	if errors.Is(err, session.ErrExists) { // another request was quicker
		if info, err := h.host.Store().Get(r.Context(), id); err == nil && h.sees(user, info) {
			return info, nil
		}
		return session.Info{}, unknown(name)
	}
	return info, err
}

// useNamed opens the session for a name that a client has chosen: see Handler.named and Handler.use.
func (h *Handler) useNamed(r *http.Request, name string, create bool) (*openSession, func(), error) {
	info, err := h.named(r, name, create)
	if err != nil {
		return nil, nil, err
	}
	return h.use(r.Context(), info.ID)
}

// stopNamed serves the requests that cancel the turn of a session.
func (h *Handler) stopNamed(w http.ResponseWriter, r *http.Request) error {
	if _, err := h.body(w, r, h.o.Limits.Prompt); err != nil {
		return err
	}
	s, done, err := h.useNamed(r, r.PathValue("id"), false)
	if err != nil {
		return err
	}
	defer done()
	s.Cancel()
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// reply begins a turn and waits until it has begun. prompt is the entity of its prompt. If leave is true, the turn is
// cancelled when the client is gone.
func (s *openSession) reply(ctx context.Context, t turn, leave bool) (g *going, prompt string, err error) {
	began := make(chan string, 1)
	t.Defer, t.Began = true, func(id string) { began <- id }
	if leave { // the server may hear of it later than the client's next message
		t.Busy = host.BusyQueue
	}
	if g, err = s.Begin(context.WithoutCancel(ctx), t); err != nil {
		return nil, "", err
	}
	select {
	case prompt = <-began:
	case <-ctx.Done():
		if leave {
			g.Cancel()
		}
		return nil, "", context.Cause(ctx)
	case <-g.Done():
		if o := g.Outcome(); len(began) == 0 && o.Err != nil {
			return nil, "", o.Err
		} else if len(began) == 0 {
			return nil, "", refuse(KindInvalid, "the message began no turn")
		}
		prompt = <-began
	}
	return g, transcript.PromptID(prompt), nil
}

// chatID is the id of the session that a user's name means.
func chatID(user, name string) string {
	sum := sha256.New()
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(user)))
	sum.Write(length[:])
	sum.Write([]byte(user + name))
	return "chat-" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum.Sum(nil)[:20]))
}
