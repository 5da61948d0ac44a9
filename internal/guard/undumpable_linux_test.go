// SPDX-License-Identifier: Apache-2.0

package guard_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/guard"
)

// undumpableEnv makes the test binary a process that has a secret and waits for the end of its
// input.
const undumpableEnv = "GUARD_TEST_UNDUMPABLE"

func init() {
	mode := os.Getenv(undumpableEnv)
	if mode == "" {
		return
	}
	if mode == "private" {
		guard.Undumpable()
	}
	_, _ = os.Stdout.WriteString("ready\n")
	_, _ = os.Stdin.Read(make([]byte, 1))
	os.Exit(0)
}

func TestEnvironmentOfAnUndumpableProcessIsNotRead(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	binary := filepath.Join(t.TempDir(), "waits")
	data, err := os.ReadFile(self)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(binary, data, 0o755))
	for dir := filepath.Dir(binary); dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		require.NoError(t, os.Chmod(dir, 0o755))
	}
	var as *syscall.SysProcAttr // root may read everything
	if os.Getuid() == 0 {
		as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	for mode, readable := range map[string]bool{"open": true, "private": false} {
		waits := exec.Command(binary)
		waits.Dir, waits.SysProcAttr = "/", as
		waits.Env = []string{undumpableEnv + "=" + mode, "SECRET=sesame", "GOCOVERDIR=" + t.TempDir()}
		in, err := waits.StdinPipe()
		require.NoError(t, err)
		out, err := waits.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, waits.Start())
		_, err = bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		for _, file := range []string{"environ", "maps", "auxv"} {
			thief := exec.Command("head", "-c", "1", "/proc/"+strconv.Itoa(waits.Process.Pid)+"/"+file)
			thief.Dir, thief.SysProcAttr = "/", as
			_, err = thief.Output()
			require.Equal(t, readable, err == nil, "%s %s", mode, file)
		}
		require.NoError(t, in.Close())
		require.NoError(t, waits.Wait())
	}
}
