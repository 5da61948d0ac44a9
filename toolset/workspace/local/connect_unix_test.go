// SPDX-License-Identifier: Apache-2.0

//go:build unix

package local_test

import (
	"bufio"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

func connected(t *testing.T, c local.Config, line string) *local.Connection {
	c.Roots, c.Grace = []string{t.TempDir()}, 50*time.Millisecond
	w, err := local.Open(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	conn, err := w.Connect(t.Context(), workspace.Command{Line: line})
	require.NoError(t, err)
	return conn
}

func TestConnect(t *testing.T) {
	t.Setenv("MY_API_KEY", "secret")
	c := connected(
		t,
		local.Config{},
		`read x; echo "got $x$MY_API_KEY"; echo oops >&2; sleep 0.05; exit 3`,
	)
	require.Empty(t, c.Ended())
	_, err := io.WriteString(c, "hello\n")
	require.NoError(t, err)
	line, err := bufio.NewReader(c).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "got hello\n", line)
	<-c.Exited()
	_, err = io.ReadAll(c)
	require.NoError(t, err)
	require.Eventually(
		t,
		func() bool { return c.Ended() == "it exited with code 3: oops" },
		time.Minute,
		time.Millisecond,
	)
	require.NoError(t, c.Close())
	require.NoError(t, c.Close())
}

// The end of the workspace ends what is connected, also a program that ignores the end of its input.
func TestCloseEndsConnections(t *testing.T) {
	c := connected(t, local.Config{}, `trap "" TERM; sleep 1000 & while :; do sleep 1; done`)
	if runtime.GOOS == "linux" {
		require.Eventually(t, func() bool { return c.Memory() > 0 }, time.Minute, time.Millisecond)
	}
	require.NoError(t, c.Close())
	require.Contains(t, c.Ended(), "it was ended by SIG")
}

func TestConnectRefuses(t *testing.T) {
	w, err := local.Open(local.Config{Roots: []string{t.TempDir()}})
	require.NoError(t, err)
	_, err = w.Connect(t.Context(), workspace.Command{Args: []string{"no-such-program-here"}})
	require.ErrorIs(t, err, workspace.ErrNoProgram)
	_, err = w.Connect(t.Context(), workspace.Command{})
	require.ErrorIs(t, err, workspace.ErrCommand)
	_, err = w.Connect(t.Context(), workspace.Command{Args: []string{"true"}, Dir: "/"})
	require.ErrorIs(t, err, workspace.ErrOutside)
	require.NoError(t, w.Close())
	_, err = w.Connect(t.Context(), workspace.Command{Args: []string{"true"}})
	require.ErrorIs(t, err, workspace.ErrClosed)
	w, err = local.Open(local.Config{Roots: []string{t.TempDir()}, NoCommands: true})
	require.NoError(t, err)
	defer w.Close()
	_, err = w.Connect(t.Context(), workspace.Command{Args: []string{"true"}})
	require.ErrorContains(t, err, "unsupported")
}

// In a sandbox a connected program can write to the roots only.
func TestConnectedProgramsAreInTheSandbox(t *testing.T) {
	box := &local.Sandbox{}
	w, err := local.Open(local.Config{Roots: []string{t.TempDir()}, Sandbox: box})
	if err != nil {
		t.Skipf("no sandbox here: %v", err)
	}
	require.NoError(t, w.Close())
	c := connected(
		t,
		local.Config{Sandbox: box},
		`read x; echo $x; touch "`+t.TempDir()+`/escaped" 2>/dev/null || echo refused; touch here && echo wrote`,
	)
	_, err = io.WriteString(c, "hello\n")
	require.NoError(t, err)
	out, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Equal(t, "hello\nrefused\nwrote", strings.TrimSpace(string(out)))
	require.NoError(t, c.Close())
}
