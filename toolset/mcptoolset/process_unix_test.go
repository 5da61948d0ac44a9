// SPDX-License-Identifier: Apache-2.0

//go:build unix

package mcptoolset

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// started starts a script as a server, which has a grace to end.
func started(t *testing.T, script string, grace time.Duration) (*opened, *process) {
	t.Helper()
	c := Command{Path: "sh", Args: []string{"-c", script}, Grace: grace}
	o, err := c.open(context.Background(), &defaults)
	require.NoError(t, err)
	require.True(t, o.ordered)
	return o, o.Transport.(*mcp.IOTransport).Writer.(*process)
}

// How a process has ended is told, unless it was this program that ended it.
func TestEndsOfProcessesAreTold(t *testing.T) {
	for script, want := range map[string]string{
		"exit 3":                             "the server exited with code 3",
		"echo one >&2; echo two >&2; exit 0": "the server exited with code 0: one\ntwo",
		"kill -KILL $$":                      "the server was ended by SIGKILL",
		"echo oops >&2; kill -TERM $$":       "the server was ended by SIGTERM: oops",
	} {
		o, p := started(t, script, 0)
		<-p.guarded.Exited()
		require.EqualError(t, o.why(), want, script)
		o.end()
		if p.guarded.Exit().Signal == "" {
			require.EqualError(t, o.why(), want, script)
		}
	}
	o, p := started(t, "cat >/dev/null; echo bye >&2; exit 4", time.Minute)
	o.end()
	require.EqualError(t, o.why(), "the server exited with code 4: bye", "the end of its input asks it to end")
	for name, f := range map[string]*os.File{"input": p.in, "output": p.out, "errors": p.errs} {
		require.ErrorIs(t, f.Close(), os.ErrClosed, name)
	}
	o.end()
	_, err := p.Write([]byte("x"))
	require.Error(t, err, "nobody reads it")
	o, p = started(t, "while :; do sleep 0.01; done", 10*time.Millisecond)
	p.stop()
	<-p.guarded.Exited()
	require.NoError(t, o.why(), "it was stopped, without waiting for it")
	o.end()
	o, p = started(t, "while :; do sleep 0.01; done", 10*time.Millisecond)
	o.end()
	require.Equal(t, "SIGTERM", p.guarded.Exit().Signal)
	require.NoError(t, o.why(), "it was stopped")
}

// A server that has been told to end can speak for a moment. What it wrote in time is read later,
// too, and then there is no more.
func TestLastWordsAreReadForAMoment(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer w.Close()
	_, in, err := os.Pipe()
	require.NoError(t, err)
	p := &process{in: in, out: r}
	_, err = io.WriteString(w, "last words\n")
	require.NoError(t, err)
	require.NoError(t, p.Close())
	said, err := io.ReadAll(p)
	require.NoError(t, err, "it ends though somebody holds the output open")
	require.Equal(t, "last words\n", string(said))
	require.True(t, p.late)
	_, err = io.WriteString(w, "later\n")
	require.NoError(t, err)
	n, err := p.Read(make([]byte, 10))
	require.Zero(t, n)
	require.Equal(t, io.EOF, err)
	require.NoError(t, r.Close())
}
