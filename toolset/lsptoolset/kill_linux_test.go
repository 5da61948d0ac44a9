// SPDX-License-Identifier: Apache-2.0

package lsptoolset_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/lsptoolset"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// owners are environment variables of the program that a test kills: how its server behaves, and
// what marks the server.
const ownerMode, ownerMark = "LSP_OWNER", "LSP_MARK"

// TestKilledProgramsLeaveNoServer ends a program that uses a server with kill -9, and looks for the
// server, also for one that ignores its end.
func TestKilledProgramsLeaveNoServer(t *testing.T) {
	for _, mode := range []string{"good", "ignores the end", "leaves a child"} {
		t.Run(mode, func(t *testing.T) {
			name := strings.ReplaceAll(mode, " ", "-")
			mark := fmt.Sprintf("%s=%d-%s", ownerMark, os.Getpid(), name)
			cmd := exec.Command(os.Args[0], "-test.run=^TestOwnerOfServers$", "-test.v")
			cmd.Env = append(os.Environ(), ownerMode+"="+mode, mark)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			ready := false
			for lines := bufio.NewScanner(out); !ready && lines.Scan(); {
				ready = strings.Contains(lines.Text(), "def run")
			}
			require.True(t, ready)
			require.NotEmpty(t, servers(mark))
			require.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait()
			gone := func() bool { return len(servers(mark)) == 0 }
			require.Eventually(t, gone, time.Minute, 10*time.Millisecond)
		})
	}
}

// TestOwnerOfServers is the program that is killed.
func TestOwnerOfServers(t *testing.T) {
	mode := os.Getenv(ownerMode)
	if mode == "" {
		return // it is no test
	}
	c := fakeConfig(t, mode)
	c.Servers[0].Env = append(c.Servers[0].Env, ownerMark+"="+os.Getenv(ownerMark))
	b := newBench(t, c, lsptoolset.Options{Trust: true}, project)
	fmt.Println(b.call("find_definition", `{"symbol":"run","path":"a.toy"}`).Text)
	time.Sleep(time.Minute)
}

// servers returns the processes with a mark that are servers.
func servers(mark string) (all []string) {
	found, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range found {
		env, err := os.ReadFile(file)
		fake := bytes.Contains(env, []byte("LSP_FAKE="))
		if err == nil && fake && bytes.Contains(env, []byte(mark)) {
			all = append(all, file)
		}
	}
	return all
}

// TestServersRunInASandbox has a server in the sandbox of [lsptoolset.Config.Run].
func TestServersRunInASandbox(t *testing.T) {
	box := &local.Sandbox{}
	w, err := local.Open(local.Config{Roots: []string{t.TempDir()}, Sandbox: box})
	if err != nil {
		t.Skipf("no sandbox here: %v", err)
	}
	require.NoError(t, w.Close())
	outside := filepath.Join(t.TempDir(), "escaped")
	c := fakeConfig(t, "writes to "+outside)
	program, err := os.ReadFile(c.Servers[0].Command[0])
	require.NoError(t, err)
	inside := t.TempDir() // the sandbox has a temporary directory of its own
	c.Servers[0].Command = []string{filepath.Join(inside, "fake")}
	require.NoError(t, os.WriteFile(c.Servers[0].Command[0], program, 0o755))
	box.Writable = []string{inside}
	c.Run.Sandbox = box
	b := newBench(t, c, lsptoolset.Options{Trust: true}, project)
	require.Contains(t, b.call("find_definition", `{"symbol":"run","path":"a.toy"}`).Text, "def run")
	require.NoFileExists(t, outside)
	c.Run.Sandbox = nil
	b = newBench(t, c, lsptoolset.Options{Trust: true}, project)
	require.Contains(t, b.call("find_definition", `{"symbol":"run","path":"a.toy"}`).Text, "def run")
	require.FileExists(t, outside)
}
