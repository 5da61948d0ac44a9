// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMain makes the command of this program, too, and the go command as far as it needs one.
func TestMain(m *testing.M) {
	switch {
	case filepath.Base(os.Args[0]) == "go":
		os.Exit(fakeGo(os.Args[1:]))
	case os.Getenv("RELEASE_MAIN") != "":
		_ = os.Unsetenv("RELEASE_MAIN")
		main()
		return
	}
	os.Exit(m.Run())
}

// fakeGo builds a program whose text says how.
func fakeGo(args []string) int {
	if os.Getenv("FAKE_GO") == os.Getenv("GOARCH") {
		fmt.Fprintln(os.Stderr, "no compiler")
		return 1
	}
	out := args[slices.Index(args, "-o")+1]
	text := fmt.Sprintln(os.Getenv("GOOS"), os.Getenv("GOARCH"), os.Getenv("CGO_ENABLED"), filepath.Base(out), strings.ReplaceAll(strings.Join(args, " "), filepath.Dir(out), "WORK"))
	if os.WriteFile(out, []byte(text), 0o600) != nil {
		return 2
	}
	return 0
}

const someEntry = `{"id":"x","name":"X","version":"0.0.0","description":"An agent.","repository":"https://github.com/a/b","authors":["A"],"license":"Apache-2.0",
	"distribution":{"binary":{"linux-x86_64":{"archive":"","cmd":"./prog"},"windows-aarch64":{"archive":"","cmd":"./prog.exe"},"darwin-aarch64":{"archive":"","cmd":"./prog"}}}}`

// The command builds for all platforms or one, packs what it built, and writes sums and the entry.
func TestTheCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the go command of the test is a symbolic link")
	}
	exe, err := os.Executable()
	require.NoError(t, err)
	bin, dir := t.TempDir(), t.TempDir()
	require.NoError(t, os.Symlink(exe, filepath.Join(bin, "go")))
	entry := filepath.Join(dir, "agent.json")
	require.NoError(t, os.WriteFile(entry, []byte(someEntry), 0o600))
	run := func(env string, args ...string) (string, int) {
		cmd := exec.Command(exe, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "RELEASE_MAIN=1", "PATH="+bin, "TMPDIR="+bin, "FAKE_GO="+env)
		out, _ := cmd.CombinedOutput()
		left, err := os.ReadDir(bin)
		require.NoError(t, err)
		require.Len(t, left, 1, "what was built is removed")
		return string(out), cmd.ProcessState.ExitCode()
	}
	out, code := run("", "-version", "v1.2.3", "-entry", entry)
	require.Empty(t, out)
	require.Zero(t, code)
	dist := filepath.Join(dir, "dist")
	info, err := os.Stat(dist)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755)&^umask(t), info.Mode().Perm())
	var sums strings.Builder
	for _, a := range []struct{ name, program, text string }{
		{"ideagent-1.2.3-darwin-aarch64.tar.gz", "prog", "darwin arm64 0 prog build -trimpath -ldflags=-s -w -o WORK/prog ./examples/ideagent\n"},
		{"ideagent-1.2.3-linux-x86_64.tar.gz", "prog", "linux amd64 0 prog build -trimpath -ldflags=-s -w -o WORK/prog ./examples/ideagent\n"},
		{"ideagent-1.2.3-windows-aarch64.zip", "prog.exe", "windows arm64 0 prog.exe build -trimpath -ldflags=-s -w -o WORK/prog.exe ./examples/ideagent\n"},
	} {
		got, err := os.ReadFile(filepath.Join(dist, a.name))
		require.NoError(t, err)
		file := filepath.Join(t.TempDir(), a.program)
		require.NoError(t, os.WriteFile(file, []byte(a.text), 0o600))
		want, err := pack(a.name, a.program, file)
		require.NoError(t, err)
		require.Equal(t, want, got, a.name)
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(got), a.name)
		info, err := os.Stat(filepath.Join(dist, a.name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o644)&^umask(t), info.Mode().Perm())
	}
	text, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS"))
	require.NoError(t, err)
	require.Equal(t, sums.String(), string(text))
	want, _, err := fill([]byte(someEntry), "v1.2.3")
	require.NoError(t, err)
	text, err = os.ReadFile(filepath.Join(dist, "agent.json"))
	require.NoError(t, err)
	require.Equal(t, string(want), string(text))
	for _, name := range []string{"SHA256SUMS", "agent.json"} {
		info, err := os.Stat(filepath.Join(dist, name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o644)&^umask(t), info.Mode().Perm())
	}

	out, code = run("", "-version", "v1.2.3", "-entry", entry, "-out", "one/two", "-only", "linux-x86_64")
	require.Empty(t, out)
	require.Zero(t, code)
	files, err := os.ReadDir(filepath.Join(dir, "one", "two"))
	require.NoError(t, err)
	require.Len(t, files, 3)
	for _, c := range []struct{ env, args, want string }{
		{"", "", `release: -version: "" is not a tag such as v1.2.3` + "\n"},
		{"", "-version v1.2.3", "release: open examples/ideagent/agent.json: no such file or directory\n"},
		{"amd64", "-version v1.2.3 -entry agent.json", "no compiler\nrelease: linux-x86_64: exit status 1\n"},
		{"", "-version v1.2.3 -entry agent.json -out agent.json", "release: mkdir agent.json: not a directory\n"},
	} {
		out, code = run(c.env, strings.Fields(c.args)...)
		require.Equal(t, c.want, out)
		require.Equal(t, 1, code)
	}
	out, _ = run("", "-h")
	require.Contains(t, out, `is made (default "dist")`)
	require.Contains(t, out, "build for one platform only, such as linux-x86_64")
}

// umask is what files of this process cannot have.
func umask(t *testing.T) os.FileMode {
	t.Helper()
	name := filepath.Join(t.TempDir(), "d")
	require.NoError(t, os.Mkdir(name, 0o777))
	info, err := os.Stat(name)
	require.NoError(t, err)
	return 0o777 &^ info.Mode().Perm()
}
