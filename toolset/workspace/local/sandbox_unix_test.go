// SPDX-License-Identifier: Apache-2.0

//go:build unix

package local_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// sandboxed opens a workspace with a sandbox, or skips the test where that is impossible. Its root is outside of /tmp, which is hidden.
func sandboxed(t *testing.T, s local.Sandbox) (*local.Workspace, string) {
	t.Helper()
	w, err := local.Open(local.Config{Roots: []string{t.TempDir()}, Sandbox: &s})
	if errors.Is(err, local.ErrSandbox) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return w, w.Roots()[0]
}

func TestSandboxThatCannotBeHadIsAnError(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	open := func() error {
		_, err := local.Open(local.Config{Roots: []string{t.TempDir()}, Sandbox: &local.Sandbox{}})
		return err
	}
	err := open()
	require.ErrorIs(t, err, local.ErrSandbox)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	if runtime.GOOS != "linux" {
		return
	}
	require.ErrorContains(t, err, "bwrap is not installed")

	script := "#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "bwrap"), []byte(script), 0o755))
	err = open()
	require.ErrorIs(t, err, local.ErrSandbox)
	require.ErrorContains(t, err, "No permissions to create a new namespace")

	// Files alone need no sandbox.
	w, err := local.Open(local.Config{Roots: []string{t.TempDir()}, Sandbox: &local.Sandbox{}, NoCommands: true})
	require.NoError(t, err)
	require.NoError(t, w.Close())
}

func TestSandboxLetsCommandsWriteToTheRootsOnly(t *testing.T) {
	home := t.TempDir()
	put(t, filepath.Join(home, ".ssh", "id"), "key")
	put(t, filepath.Join(home, "f"), "old")
	t.Setenv("HOME", home)
	cache := t.TempDir()
	w, root := sandboxed(t, local.Sandbox{Writable: []string{cache}})
	text, exit := run(t, w, "echo in >inside && echo c >"+cache+"/c && pwd")
	require.Equal(t, workspace.Exit{}, exit, text)
	require.Equal(t, root+"\n", text)
	for name, want := range map[string]string{filepath.Join(root, "inside"): "in\n", filepath.Join(cache, "c"): "c\n"} {
		got, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	text, _ = run(t, w, "echo x >/usr/ponte-was-here; echo x >"+home+"/f; cat "+home+"/.ssh/id; echo x >/tmp/ponte-was-here; ls "+home+"/.ssh; echo end")
	require.True(t, strings.HasSuffix(text, "end\n"), text)
	for _, name := range []string{"/usr/ponte-was-here", "/tmp/ponte-was-here"} {
		require.NoFileExists(t, name)
	}
	got, err := os.ReadFile(filepath.Join(home, "f"))
	require.NoError(t, err)
	require.Equal(t, "old", string(got))
	require.NotContains(t, text, "key")
}

func TestSandboxRunsInTheCommandsDirectory(t *testing.T) {
	w, root := sandboxed(t, local.Sandbox{})
	put(t, filepath.Join(root, "sub", "f"), "text")
	p, err := w.Start(t.Context(), workspace.Command{Line: "cat f; pwd", Dir: "sub"})
	require.NoError(t, err)
	_, err = p.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "text"+filepath.Join(root, "sub")+"\n", outputOf(t, p))
}

func TestSandboxHasNoNetworkUnlessAsked(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	line := "bash -c '</dev/tcp/127.0.0.1/" + port + "'"
	w, _ := sandboxed(t, local.Sandbox{})
	_, exit := run(t, w, line)
	require.NotZero(t, exit.Code)
	w, _ = sandboxed(t, local.Sandbox{Network: true})
	text, exit := run(t, w, line)
	require.Zero(t, exit.Code, text)
}

// Without a sandbox this process would stay: its parent has gone, and its session is its own.
func TestSandboxEndsDaemons(t *testing.T) {
	w, root := sandboxed(t, local.Sandbox{})
	beat := filepath.Join(root, "beat") // is in the command line of the daemon, and of no process that another test has started
	p := start(t, w, "(setsid sh -c 'while :; do echo x >>"+beat+"; sleep 0.01; done' >/dev/null 2>&1 &); sleep 300")
	beats := func() int64 {
		info, err := os.Stat(beat)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	require.Eventually(t, func() bool { return beats() > 0 }, time.Minute, time.Millisecond)
	require.NoError(t, p.Close(t.Context()))
	// The kernel ends the daemon after the sandbox's first process, which need not be before Close returns.
	require.Eventually(t, func() bool {
		files, err := filepath.Glob("/proc/[0-9]*/cmdline")
		require.NoError(t, err)
		return !slices.ContainsFunc(files, func(f string) bool {
			line, _ := os.ReadFile(f)
			return strings.Contains(string(line), beat)
		})
	}, time.Minute, time.Millisecond)
}

func TestWritableOfASandboxMustExist(t *testing.T) {
	sandboxed(t, local.Sandbox{})
	_, err := local.Open(local.Config{Roots: []string{t.TempDir()}, Sandbox: &local.Sandbox{Writable: []string{"/no/such/dir"}}})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestConformanceInASandbox(t *testing.T) {
	if testing.Short() {
		t.Skip("the suite has run without a sandbox")
	}
	t.Parallel()
	exe, err := os.Executable()
	require.NoError(t, err)
	box := local.Sandbox{Writable: []string{filepath.Dir(exe)}} // the program of the suite is in /tmp
	sandboxed(t, box)
	workspacetest.Run(t, env(t, local.Config{Sandbox: &box}, "outside", "project"))
}

func TestSandboxWithUnixSocketsHasThem(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip(err)
	}
	line := python + ` -c 'import socket as s; a = s.socket(s.AF_UNIX); a.bind("s"); a.listen(); s.socket(s.AF_UNIX).connect("s")'`
	w, _ := sandboxed(t, local.Sandbox{})
	text, exit := run(t, w, line)
	require.NotZero(t, exit.Code)
	require.Contains(t, text, "Address family not supported")
	w, _ = sandboxed(t, local.Sandbox{Sockets: true})
	text, exit = run(t, w, line)
	require.Zero(t, exit.Code, text)
}
