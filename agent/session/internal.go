// SPDX-License-Identifier: Apache-2.0

package session

import (
	"encoding/json"
	"strings"
	"time"
)

// InternalDir is the prefix of the directories of internal sessions.
const InternalDir = "ponte:"

// Internal reports whether a session is one that a program keeps for itself, such as a ledger of
// what was spent, and not a conversation. Its directory begins with [InternalDir]. A store treats
// it like any other session. Hosts do not list internal sessions, see [Query].Conversations.
// [Prune] does not count them, and removes only those that are stale, see [StaleAfter].
func Internal(i *Info) bool { return strings.HasPrefix(i.Dir, InternalDir) }

// staleValue is the name of the value that StaleAfter sets.
const staleValue = "stale_after"

// StaleAfter returns values for an internal session, for [New] or [Change], which make the session
// stale once it has not changed for d. An internal session without such a value is never stale.
func StaleAfter(d time.Duration) map[string]json.RawMessage {
	data, err := json.Marshal(d.String())
	if err != nil {
		panic(err) // it is a string
	}
	return map[string]json.RawMessage{staleValue: data}
}

// stale reports whether an internal session can be removed.
func stale(i *Info, now time.Time) bool {
	var text string
	if !Internal(i) || json.Unmarshal(i.Values[staleValue], &text) != nil {
		return false
	}
	d, err := time.ParseDuration(text)
	return err == nil && d > 0 && now.Sub(i.Updated) > d
}
