// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/guard"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// A command has a name, an output and an end. What is over stays as it is.
func TestLivesOfCommands(t *testing.T) {
	root := fileTree(t, "d/", "f")
	w, err := Open(Config{Roots: []string{root}, Grace: -1})
	require.NoError(t, err)
	because := errors.New("because")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(because)
	start := func(line string) *process {
		p, err := w.Start(t.Context(), workspace.Command{Line: line, Dir: "d"})
		require.NoError(t, err)
		return p.(*process)
	}
	p := start(`echo "$PWD"; exit 3`)
	require.Equal(t, "term_1", p.Ref())
	exit, err := p.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, workspace.Exit{Code: 3}, exit)
	exit, err = p.Wait(ended)
	require.NoError(t, err, "it is known")
	require.Equal(t, workspace.Exit{Code: 3}, exit)
	require.NoError(t, p.Kill(t.Context()))
	text := root + "/d\n"
	c, err := p.Output(t.Context(), 0, 0)
	require.NoError(t, err)
	require.Equal(t, workspace.Chunk{Data: []byte(text), End: int64(len(text)), Exit: &workspace.Exit{Code: 3}}, c)
	_, err = p.Output(ended, 0, 0)
	require.Equal(t, because, err)
	require.Len(t, w.processes, 1)
	require.NoError(t, p.Close(t.Context()))
	require.NoError(t, p.Close(t.Context()))
	require.Empty(t, w.processes)
	_, err = p.Output(t.Context(), 0, 0)
	require.EqualError(t, err, "local: output of term_1: closed")
	p.add([]byte("late"))
	require.Empty(t, p.output.buf)

	p = start("exec sleep 300")
	require.Equal(t, "term_2", p.Ref())
	_, err = p.Wait(ended)
	require.Equal(t, because, err)
	c, err = p.Output(t.Context(), 0, 0)
	require.NoError(t, err)
	require.Equal(t, workspace.Chunk{}, c)
	require.NoError(t, p.Kill(t.Context()))
	exit, err = p.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, workspace.Exit{Code: -1, Signal: "killed"}, exit)
	require.NoError(t, p.Close(t.Context()))

	for want, c := range map[string]workspace.Command{
		"local: %s: malformed command: it is empty":                  {},
		`workspace: start "none": file does not exist`:               {Line: "x", Dir: "none"},
		`workspace: start "f": is not a directory`:                   {Line: "x", Dir: "f"},
		`local: start: no such program: "/no/program"`:               {Args: []string{"/no/program"}},
		"local: %s: malformed command: the sandbox \"x\" is unknown": {Line: "x", Sandbox: "x"},
	} {
		_, err := w.Start(t.Context(), c)
		require.EqualError(t, err, strings.ReplaceAll(want, "%s", "start"))
		_, err = w.Connect(t.Context(), c)
		require.EqualError(t, err, strings.ReplaceAll(want, "%s", "connect"))
	}
	require.Empty(t, w.processes)
	require.Empty(t, w.connected)
	p = start("exec sleep 300")
	conn, err := w.Connect(t.Context(), workspace.Command{Args: []string{"sleep", "300"}})
	require.NoError(t, err)
	require.Len(t, w.connected, 1)
	require.NoError(t, w.Close())
	<-p.guarded.Ended()
	<-conn.Exited()
	require.Empty(t, w.processes)
	require.Empty(t, w.connected)
	other, err := Open(Config{Roots: []string{root}})
	require.NoError(t, err)
	defer other.Close()
	dir, at, err := other.openDir(t.Context(), ".")
	require.NoError(t, err)
	defer dir.Close()
	_, err = w.start(workspace.Command{Line: "true"}, dir, at)
	require.EqualError(t, err, "local: start: closed")
}

// A connected program is read and written, and says how it has ended with the end of its errors.
func TestLivesOfConnections(t *testing.T) {
	root := fileTree(t)
	w, err := Open(Config{Roots: []string{root}, Grace: 20 * time.Millisecond})
	require.NoError(t, err)
	defer w.Close()
	for line, want := range map[string]string{
		"exit 3": "it exited with code 3", "kill -KILL $$": "it was ended by SIGKILL", "echo ' oops ' >&2; exit 0": "it exited with code 0: oops",
		"printf '%3000s' x >&2":                       "it exited with code 0: x",
		"printf 'a%2047s' x | tr ' ' y >&2":           "it exited with code 0: a" + strings.Repeat("y", 2046) + "x",
		"printf 'ab%2047s' x | tr ' ' y >&2":          "it exited with code 0: b" + strings.Repeat("y", 2046) + "x",
		`printf '\377bad' >&2; exec 2>&-; sleep 0.01`: "it exited with code 0: bad",
	} {
		c, err := w.Connect(t.Context(), workspace.Command{Line: line})
		require.NoError(t, err)
		require.Equal(t, 20*time.Millisecond, c.grace())
		_, err = io.ReadAll(c)
		require.NoError(t, err)
		<-c.Exited()
		require.NoError(t, c.Close())
		require.NoError(t, c.Close())
		require.Equal(t, want, c.Ended(), line)
	}
	c, err := w.Connect(t.Context(), workspace.Command{Line: "cat; echo end"})
	require.NoError(t, err)
	require.Empty(t, c.Ended())
	n, err := c.Write([]byte("hello\n"))
	require.NoError(t, err)
	require.Equal(t, 6, n)
	buf := make([]byte, 100)
	n, err = c.Read(buf)
	require.NoError(t, err)
	require.Equal(t, "hello\n", string(buf[:n]))
	c.Stop()
	_, err = c.Write([]byte("late"))
	require.ErrorIs(t, err, os.ErrClosed)
	require.NoError(t, c.Close())
	require.Empty(t, w.connected)
}

// Whoever prints a workspace or its configuration sees no secrets.
func TestWorkspacesArePrintedWithoutSecrets(t *testing.T) {
	root := fileTree(t, "a/", "b/")
	c := Config{Roots: []string{root + "/a", root + "/b"}, Env: []string{"KEY=sesame"}, PassEnv: []string{"KEY"}}
	w, err := Open(c)
	require.NoError(t, err)
	defer w.Close()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d"} {
		require.Equal(t, fmt.Sprintf("local.Workspace(%s/a, %s/b)", root, root), fmt.Sprintf(verb, w), verb)
		require.NotContains(t, fmt.Sprintf(verb, c), "sesame", verb)
	}
	data, err := json.Marshal(c)
	require.NoError(t, err)
	require.NotContains(t, string(data), "sesame")
	require.Contains(t, string(data), root+"/a")
	require.Equal(t, []string{"KEY=sesame"}, w.env())
	require.Nil(t, w.config.Env)
	require.Equal(t, []string{"KEY=sesame"}, c.Env, "the caller's stays")
	require.Equal(t, []string{root + "/a", root + "/b"}, w.RealRoots())
	r, rel, ok := w.within(root + "/b/x/y")
	require.True(t, ok)
	require.Equal(t, []string{root + "/b", "x/y"}, []string{r.real, rel})
	_, _, ok = w.within(root)
	require.False(t, ok)
	g, s, err := w.guarded(workspace.Command{Args: []string{"prog", "x"}, Env: []string{"A=1"}}, mustOpen(t, root+"/a"), place{Location: workspace.Location{Path: "/shown"}, root: w.roots[0], rel: "."})
	require.NoError(t, err)
	require.Equal(t, []string{"KEY=sesame", "PWD=/shown", "A=1"}, g.Env)
	require.Equal(t, []any{"prog", []string{"x"}, time.Duration(0), "prog"}, []any{g.Path, g.Args, g.Grace, s.program})
	require.True(t, strings.HasPrefix(g.Dir, "/proc/self/fd/"), g.Dir)
	g, _, err = w.guarded(workspace.Command{Line: "x | y"}, mustOpen(t, root+"/a"), place{root: w.roots[0], rel: "."})
	require.NoError(t, err)
	require.Equal(t, guard.Command{Path: "sh", Args: []string{"-c", "x | y"}, Dir: g.Dir, Env: []string{"KEY=sesame", "PWD="}}, g)
	closed := mustOpen(t, root+"/a")
	require.NoError(t, closed.Close())
	require.Equal(t, "/real", dirOf(closed, "/real"))
}

func mustOpen(t *testing.T, dir string) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Clean(dir))
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}
