// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConnectionsAreReused checks that what follows a complete answer is read, so that the connection serves the next one.
func TestConnectionsAreReused(t *testing.T) {
	for name, a := range map[string]answer{
		"a stream":                   {Body: events(say("a")...)},
		"a stream that goes on":      {Body: events(say("a")...) + strings.Repeat(": more\n\n", 1000)},
		"an unstreamed answer":       {Body: whole(`{"type":"text","text":"a"}`)},
		"an error":                   {Status: 400, Body: `{"error":"` + strings.Repeat("no ", 1000) + `"}`},
		"an error with a large body": {Status: 400, Body: strings.Repeat("no ", 30_000)},
	} {
		t.Run(name, func(t *testing.T) {
			var connections atomic.Int32
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { a.WriteTo(w) }))
			s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					connections.Add(1)
				}
			}
			s.Start()
			defer s.Close()
			m := newModel(t, s.URL)
			for range 10 {
				_, _ = stream(t, m, hello())
			}
			require.EqualValues(t, 1, connections.Load())
		})
	}
}
