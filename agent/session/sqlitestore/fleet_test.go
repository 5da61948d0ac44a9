// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"flag"
	"testing"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/internal/fleettest"
)

var (
	turns = flag.Int("turns", 0, "how many turns people take on pages and in editors whose processes are killed with kill -9")
	chats = flag.Int("chats", 40, "how many chats go on behind a round robin whose servers are killed")
)

func openFleet(dir string) (session.Store, error) {
	return sqlitestore.Open(dir, sqlitestore.Options{})
}

// TestTurnsEndWhateverIsKilled has people talk through pages and editors.
func TestTurnsEndWhateverIsKilled(t *testing.T) {
	if *turns == 0 {
		t.Skip("takes minutes: use -turns")
	}
	fleettest.Turns(t, t.TempDir(), *turns, nil)
}

// TestNoChatFailsBehindARoundRobin has chats of each kind, with an approval each.
func TestNoChatFailsBehindARoundRobin(t *testing.T) {
	fleettest.Chats(t, t.TempDir(), *chats, nil)
}
