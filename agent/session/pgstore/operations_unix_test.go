// SPDX-License-Identifier: Apache-2.0

//go:build unix

package pgstore_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/pgstore"
)

// TestStoppedProcessKeepsItsSessions stops a process that appends, takes a session of it by force, and lets it go on.
func TestStoppedProcessKeepsItsSessions(t *testing.T) {
	operated(t)
	url, schema := database(t)
	s := store(t, url, pgstore.Options{Schema: schema})
	createBusySessions(t, s)
	spec, err := json.Marshal(work{url, schema, 0})
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+string(spec), "GORACE=atexit_sleep_ms=0")
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill() }()
	acknowledged := map[string]bool{}
	lines := bufio.NewScanner(out)
	for range 100 {
		require.True(t, lines.Scan())
		acknowledged[lines.Text()] = true
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	_, err = s.Acquire(t.Context(), sessionName(0), session.Claim{})
	require.ErrorIs(t, err, session.ErrHeld)
	w, err := session.Open(t.Context(), s, sessionName(0), session.Claim{Holder: "somebody who knows", Force: true})
	require.NoError(t, err)
	first, err := w.Append(t.Context(), message("forced."))
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
	for lines.Scan() {
		acknowledged[lines.Text()] = true
	}
	require.Error(t, cmd.Wait())
	require.Contains(t, complaint.String(), "the session was taken over (by somebody who knows since ")
	hasAll(t, s, acknowledged)
	info, err := s.Get(t.Context(), sessionName(0))
	require.NoError(t, err)
	require.Equal(t, first, info.Head, "nothing follows")
	require.NoError(t, w.Close(t.Context()))
}
