// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
)

// TestWorkingIsToldInEveryProcess has another process take a session and give it back.
func TestWorkingIsToldInEveryProcess(t *testing.T) {
	_, store, s, _ := pair(t)
	until := func(want bool) {
		t.Helper()
		for {
			working, moved := s.Working()
			if working == want {
				return
			}
			<-moved
		}
	}
	until(false)
	w, err := session.Open(t.Context(), store, s.ID(), session.Claim{Holder: "another"})
	require.NoError(t, err)
	until(true)
	require.NoError(t, w.Close(t.Context()))
	until(false)
	turn, err := s.Admit(t.Context())
	require.NoError(t, err)
	until(true)
	turn.Cancel(host.ErrCancelled)
	turn.Run(say("x"))
	until(false)
}
