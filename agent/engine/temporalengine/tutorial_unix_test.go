// SPDX-License-Identifier: Apache-2.0

//go:build unix

package temporalengine_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/engine/temporalengine"
)

// TestTutorial runs the commands of the README: a server, two workers, one of which is killed, and a client.
func TestTutorial(t *testing.T) {
	dial(t, new(temporalengine.MemoryBlobs)) // skips
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, tutorial, found := strings.Cut(string(readme), "## Tutorial")
	require.True(t, found)
	tutorial, _, _ = strings.Cut(tutorial, "\n## ")
	var script strings.Builder
	script.WriteString("set -eu\n")
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(tutorial, -1) {
		script.WriteString(block[1])
	}
	// It runs in a copy of the folder, so that it leaves nothing here, and on a port of its own.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	require.NoError(t, l.Close())
	dir := t.TempDir()
	here, err := os.Getwd()
	require.NoError(t, err)
	text := strings.ReplaceAll(script.String(), "7233", port)
	text = strings.Replace(text, "go build -o tutorial.bin ./tutorial", "go build -C '"+here+"' -o '"+dir+"/tutorial.bin' ./tutorial", 1)
	require.Contains(t, text, "go build -C")
	cmd := exec.CommandContext(t.Context(), "bash", "-c", text)
	cmd.Dir = dir
	program, err := findServer()
	require.NoError(t, err)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	log, err := os.Create(filepath.Join(dir, "log"))
	require.NoError(t, err)
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log // what the script leaves behind would keep a pipe open
	err = cmd.Run()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	out, _ := os.ReadFile(log.Name())
	require.NoError(t, err, "%s", out)
	_, want, found := strings.Cut(tutorial, "```text\n")
	require.True(t, found)
	want, _, _ = strings.Cut(want, "```")
	for line := range strings.Lines(want) {
		require.Contains(t, string(out), line)
	}
	require.Equal(t, 1, strings.Count(string(out), "book a flight to Lima, once"), "%s", out)
	require.Equal(t, 2, strings.Count(string(out), "Five cities seen"), "%s", out)
	require.Regexp(t, `worker \d+: visit Accra for ada`, string(out))
}
