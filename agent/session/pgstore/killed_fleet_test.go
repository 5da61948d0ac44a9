// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/pgstore"
	"github.com/ponte-go/ponte/internal/fleettest"
	"github.com/ponte-go/ponte/internal/pgtest"
)

var (
	turns = flag.Int("turns", 0, "how many turns people take on pages and in editors whose processes and database are killed with kill -9")
	chats = flag.Int("chats", 40, "how many chats go on behind a round robin whose servers are killed")
)

// fleetTimeout is for how long processes of a fleet wait for the server. Some stalls are longer.
const fleetTimeout = 2 * time.Second

// openFleet opens the store of a fleet. Its address has the schema in front.
func openFleet(spec string) (session.Store, error) {
	schema, address, _ := strings.Cut(spec, " ")
	return pgstore.Open(context.Background(), address, pgstore.Options{Schema: schema, Timeout: fleetTimeout})
}

// TestTurnsEndWhateverIsKilled has people talk through pages and editors. Besides their processes, the database server is killed, and a proxy in front of it
// stalls.
func TestTurnsEndWhateverIsKilled(t *testing.T) {
	switch {
	case *turns == 0:
		t.Skip("takes minutes: use -turns")
	case server == nil:
		t.Skip(pgtest.ErrMissing)
	}
	mortal, err := pgtest.Start(true)
	require.NoError(t, err)
	defer func() { require.NoError(t, mortal.Close()) }()
	proxy, url := stall(t, mortal.URL())
	killed, stalled := 0, 0
	fleettest.Turns(t, "fleet "+url, *turns, func() {
		if rand.IntN(2) == 0 {
			stalled++
			end := proxy.Stall()
			time.Sleep(rand.N(3 * fleetTimeout))
			end()
			return
		}
		killed++
		if err := mortal.Kill(); err != nil {
			t.Errorf("killing the server: %v", err)
		}
		var err error
		for range 100 { // processes of the killed one may still be ending
			if err = mortal.Up(); err == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Errorf("the server does not start again: %v", err)
	})
	t.Logf("the database server was killed %d times, and stalled %d times", killed, stalled)
}

// TestNoChatFailsBehindARoundRobin has chats of each kind, with an approval each.
func TestNoChatFailsBehindARoundRobin(t *testing.T) {
	url, _ := database(t)
	fleettest.Chats(t, "chats "+url, *chats, nil)
}
