// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// opened returns what this process has open: files below a directory, and pipes.
func opened(t *testing.T, root string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, e := range entries {
		name, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name()))
		if err == nil && (strings.HasPrefix(name, root) || strings.HasPrefix(name, "pipe:")) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// Whatever is done in a workspace, and whether it fails, nothing stays open behind it.
func TestNothingIsLeftOpen(t *testing.T) {
	root := fileTree(t, "d/a", "d/e/b", "f")
	w, err := Open(Config{Roots: []string{root}, Grace: -1})
	require.NoError(t, err)
	ctx := t.Context()
	details, first := workspace.WalkOptions{Details: true}, workspace.Range{Limit: 1}
	const anyVersion = workspace.AnyVersion
	negative := workspace.Range{Line: -1}
	inFile := workspace.Command{Line: "true", Dir: "f"}
	noProgram := workspace.Command{Args: []string{"/no/program"}}
	for name, do := range map[string]func() error{
		"walk":                  func() error { return walkAll(w, ".", workspace.WalkOptions{}) },
		"walk in detail":        func() error { return walkAll(w, ".", details) },
		"walk a file":           func() error { return walkAll(w, "f", workspace.WalkOptions{}) },
		"read":                  func() error { return errorOf(w.Read(ctx, "f", first)) },
		"stat":                  func() error { return errorOf(w.Stat(ctx, "f")) },
		"write":                 func() error { return errorOf(w.Write(ctx, "f", nil, anyVersion)) },
		"write below":           func() error { return errorOf(w.Write(ctx, "d/n/m", nil, anyVersion)) },
		"remove":                func() error { return w.Remove(ctx, "d/n/m", anyVersion) },
		"bad range":             func() error { return errorOf(w.Read(ctx, "f", negative)) },
		"bad version":           func() error { return errorOf(w.Write(ctx, "f", nil, "h0")) },
		"no directory":          func() error { return errorOf(w.Start(ctx, inFile)) },
		"no program":            func() error { return errorOf(w.Start(ctx, noProgram)) },
		"no program to connect": func() error { return errorOf(w.Connect(ctx, noProgram)) },
		"start": func() error {
			p, err := w.Start(ctx, workspace.Command{Line: "echo"})
			return errors.Join(err, p.Close(ctx))
		},
		"connect": func() error {
			c, err := w.Connect(ctx, workspace.Command{Line: "echo"})
			return errors.Join(err, c.Close())
		},
	} {
		if name == "remove" {
			_, err := w.Write(ctx, "d/n/m", nil, anyVersion)
			require.NoError(t, err)
		}
		before := opened(t, root)
		err := do()
		failed := strings.HasPrefix(name, "no") || strings.HasPrefix(name, "bad")
		require.Equal(t, failed, err != nil, "%s: %v", name, err)
		require.Subset(t, before, opened(t, root), name)
		require.LessOrEqual(t, len(opened(t, root)), len(before), name)
	}
	require.NoError(t, w.Close())
	inRoot := func(name string) bool { return strings.HasPrefix(name, root) }
	require.False(t, slices.ContainsFunc(opened(t, root), inRoot))
	_, err = Open(Config{Roots: []string{root, root + "/none"}})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.False(t, slices.ContainsFunc(opened(t, root), inRoot))
}

func errorOf[T any](_ T, err error) error { return err }

func walkAll(w *Workspace, dir string, o workspace.WalkOptions) error {
	for _, err := range w.Walk(context.Background(), dir, o) {
		if err != nil {
			return err
		}
	}
	return nil
}

// A sandbox that cannot be had leaves no files behind.
func TestFailedSandboxesLeaveNothingBehind(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	s := &Sandbox{Writable: []string{"/no/such/dir"}}
	_, err := Open(Config{Roots: []string{t.TempDir()}, Sandbox: s})
	require.ErrorIs(t, err, fs.ErrNotExist)
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	require.Empty(t, left)
}

// A program that is connected is as little let out of the sandbox as a command.
func TestConnectedProgramsDoNotLeaveTheSandbox(t *testing.T) {
	w, err := Open(Config{Roots: []string{t.TempDir()}})
	require.NoError(t, err)
	defer w.Close()
	w.config.Sandbox = &Sandbox{}
	w.box = &bubble{Sandbox: w.config.Sandbox}
	defer func() { w.box = nil }()
	c := workspace.Command{Args: []string{"true"}, Sandbox: model.SandboxNone}
	conn, err := w.Connect(t.Context(), c)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.Nil(t, conn)
}

// The time limit is one for the command. What it leaves running may go on.
func TestTimeLimitEndsWithTheCommand(t *testing.T) {
	w, err := Open(Config{Roots: []string{t.TempDir()}, Grace: -1, TimeLimit: time.Hour})
	require.NoError(t, err)
	defer w.Close()
	p, err := w.Start(t.Context(), workspace.Command{Line: "sleep 300 & exit 0"})
	require.NoError(t, err)
	exit, err := p.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, workspace.Exit{}, exit)
	require.False(t, p.(*process).limit.Stop(), "it has been stopped")
	require.NoError(t, p.Close(t.Context()))
}

// Reading ends when a connection is stopped, whether the program ends or not.
func TestReadingEndsWhenAConnectionIsStopped(t *testing.T) {
	root := t.TempDir()
	w, err := Open(Config{Roots: []string{root}, Grace: time.Hour})
	require.NoError(t, err)
	defer w.Close()
	line := `trap "" TERM; echo ready; while [ ! -e end ]; do sleep 0.01; done`
	c, err := w.Connect(t.Context(), workspace.Command{Line: line})
	require.NoError(t, err)
	buf := make([]byte, 6)
	_, err = io.ReadFull(c, buf)
	require.NoError(t, err)
	require.Equal(t, "ready\n", string(buf))
	c.Stop()
	rest, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Empty(t, rest)
	require.Empty(t, c.Ended(), "it still runs")
	require.NoError(t, os.WriteFile(filepath.Join(root, "end"), nil, 0o600))
	<-c.Exited()
	require.NoError(t, c.Close())
	require.Equal(t, "it exited with code 0", c.Ended())
}

// A file whose contents cannot be read has no version.
func TestFilesThatCannotBeReadHaveNoVersion(t *testing.T) {
	root := fileTree(t, "a")
	w, err := Open(Config{Roots: []string{root}})
	require.NoError(t, err)
	defer w.Close()
	p, err := w.find(t.Context(), "a", true)
	require.NoError(t, err)
	because := errors.New("because")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(because)
	version, err := hashFile(ended, p.root.Root, p.rel, p.info)
	require.Equal(t, because, err)
	require.Empty(t, version)
	require.NoError(t, os.Remove(filepath.Join(root, "a")))
	version, err = hashFile(t.Context(), p.root.Root, p.rel, p.info)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Empty(t, version)
}
