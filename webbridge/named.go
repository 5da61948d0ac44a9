// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/agent/session"
)

// maxChatName bounds the names that clients give their chats, in bytes.
const maxChatName = 256

// Named returns the session for a name that a client has chosen, such as the chat id of useChat or the thread id of AG-UI. The id of one of
// the user's sessions means that session. Every other name means a session whose id is a hash of the user and the name, so equal names of
// different users are different sessions, and reveal nothing about each other. If the session does not exist, Named creates it, or fails
// with an error of [KindNotFound] if create is false.
func (h *Handler) Named(r *http.Request, name string, create bool) (session.Info, error) {
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

// chatID is the id of the session that a user's name means.
func chatID(user, name string) string {
	sum := sha256.New()
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(user)))
	sum.Write(length[:])
	sum.Write([]byte(user + name))
	return "chat-" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum.Sum(nil)[:20]))
}
