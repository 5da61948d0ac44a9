// SPDX-License-Identifier: Apache-2.0

package languages_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/lsptoolset"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// gopls works in a sandbox: it has the standard library, the module cache and a build cache. A
// program that it runs for the project gets no secret of the environment; in the sandbox it cannot
// read a hidden file or write outside of the project, and has no network.
func TestGoplsInSandbox(t *testing.T) {
	languages(t)
	if _, err := exec.LookPath("bwrap"); err != nil {
		missing(t, fmt.Errorf("bubblewrap is missing: apt install bubblewrap: %w", err))
	}
	tools := gopls(t)
	t.Setenv("PONTE_TEST_API_KEY", "secret-of-the-environment")
	for _, sandboxed := range []bool{false, true} {
		t.Run(fmt.Sprintf("sandboxed %v", sandboxed), func(t *testing.T) { testGoplsInSandbox(t, tools, sandboxed) })
	}
}

func testGoplsInSandbox(t *testing.T, tools string, sandboxed bool) {
	cache, err := os.UserCacheDir() // a sandbox has a /tmp of its own
	require.NoError(t, err)
	home, err := os.MkdirTemp(cache, "ponte-sandbox-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(home)) })
	dir := t.TempDir()
	outside := filepath.Join(home, "written")
	hidden := filepath.Join(home, "hidden")
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Addr().String())
	require.NoError(t, err)
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o755))
	}
	write(filepath.Join(home, "open"), "what-anybody-may-read\n")
	write(filepath.Join(hidden, "key"), "secret-of-a-file\n")
	write(filepath.Join(hidden, "go.mod"), "module example.com/hidden\n\ngo 1.26\n")
	write(filepath.Join(hidden, "h.go"), "package hidden\n\n// Hidden says something.\nfunc Hidden() string { return \"\" }\n")
	write(filepath.Join(dir, "go.mod"), "module example.com/p\n\ngo 1.26\n\nrequire (\n\texample.com/hidden v0.0.0\n\t"+strings.Replace(goProject, "@", " ", 1)+
		"\n)\n\nreplace example.com/hidden => "+hidden+"\n")
	write(filepath.Join(dir, "p.go"), "package p\n\nimport (\n\t\"strings\"\n\n\t\"golang.org/x/tools/txtar\"\n)\n\n"+
		"// Files counts.\nfunc Files(a *txtar.Archive) int { return len(strings.Fields(string(txtar.Format(a)))) }\n\nvar _ int = \"\"\n")
	write(filepath.Join(dir, "q", "q.go"), "package q\n\nimport \"example.com/hidden\"\n\nvar Q = hidden.Hidden()\n")
	// What gopls runs to load packages: it tries all that it should not be able to, and leaves the work to gopls.
	write(filepath.Join(dir, "driver.sh"), fmt.Sprintf("#!/bin/bash\n{ env; cat %s/open %s/key; (exec 3<>/dev/tcp/127.0.0.1/%s) && echo online\n"+
		"touch %s && echo written; go env GOCACHE; } >%s/probe.txt 2>&1\necho '{\"NotHandled\":true}'\n", home, hidden, port, outside, dir))
	_, err = run(dir, []string{"GOFLAGS=-mod=mod", "GOSUMDB=off", "GOPROXY=off"}, "go", "list", "-deps", "./...") // writes go.sum
	require.NoError(t, err)

	known := lsptoolset.Known()
	known[0].Env = []string{"GOPACKAGESDRIVER=" + filepath.Join(dir, "driver.sh")}
	c := lsptoolset.Config{Servers: known, Run: local.Config{Env: append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"))}}
	if sandboxed {
		c.Run.Sandbox = &local.Sandbox{Hidden: append(local.Hidden(), hidden)}
	}
	servers, err := lsptoolset.New(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	w, err := local.Open(local.Config{Roots: []string{dir}, NoCommands: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	b := &bench{T: t, dir: dir, servers: servers}
	b.use(w)

	found := b.call("find_definition", `{"symbol":"p.go:10 Format"}`)
	require.Contains(t, found, "func txtar.Format(a *txtar.Archive) []byte", "of the module cache")
	require.Contains(t, b.call("find_definition", `{"symbol":"p.go:10 Fields"}`), "func strings.Fields(s string)", "of the standard library")
	problems := b.call("get_diagnostics", `{}`)
	require.Contains(t, problems, `p.go:12: error: cannot use "" (untyped string constant) as int value`)
	b.call("rename_symbol", `{"symbol":"Files","new_name":"Count"}`)
	probe, err := os.ReadFile(filepath.Join(dir, "probe.txt"))
	require.NoError(t, err, "gopls runs the driver")
	require.NotContains(t, string(probe), "secret-of-the-environment")
	require.Contains(t, string(probe), "go-build", "there is a build cache")
	require.Contains(t, string(probe), "what-anybody-may-read")
	if !sandboxed {
		require.NotContains(t, problems, "q/q.go")
		require.Contains(t, b.call("find_definition", `{"symbol":"q/q.go:5 Hidden"}`), "Hidden says something")
		for _, done := range []string{"secret-of-a-file", "online", "written"} {
			require.Contains(t, string(probe), done, "without a sandbox, it can")
		}
		return
	}
	require.Contains(t, problems, "q/q.go:3: error: ")
	for _, done := range []string{"secret-of-a-file", "online\n", "\nwritten\n"} {
		require.NotContains(t, string(probe), done)
	}
	require.NoFileExists(t, outside)
}
