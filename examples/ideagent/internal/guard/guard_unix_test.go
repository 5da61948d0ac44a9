// SPDX-License-Identifier: Apache-2.0

//go:build unix

package guard_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/examples/ideagent/internal/guard"
)

func TestMain(m *testing.M) {
	guard.Main()
	if len(os.Args) > 1 && os.Args[1] == "owner" {
		owner()
		return
	}
	os.Exit(m.Run())
}

// owner is a process that starts a program, with a child and a grandchild, and waits to be killed.
func owner() {
	p, err := guard.Start(guard.Command{Path: "sh", Args: []string{"-c", "sleep 300 & echo $! $$; trap '' TERM HUP; sh -c 'sleep 301 & echo $!; wait'"}, Stdout: os.Stdout})
	if err != nil {
		panic(err)
	}
	p.Exit()
}

func shell(t *testing.T, script string, change func(*guard.Command)) (*guard.Process, *bufio.Reader) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	c := guard.Command{Path: "sh", Args: []string{"-c", script}, Stdout: w}
	if change != nil {
		change(&c)
	}
	p, err := guard.Start(c)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	t.Cleanup(func() { p.Close(); r.Close() })
	return p, bufio.NewReader(r)
}

func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	// A zombie that nobody has buried is dead.
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(status), ") Z ")
}

func pids(t *testing.T, line string) (all []int) {
	t.Helper()
	for _, f := range strings.Fields(line) {
		pid, err := strconv.Atoi(f)
		require.NoError(t, err)
		all = append(all, pid)
	}
	return all
}

func TestExitCodesAndOutputArePassedOn(t *testing.T) {
	p, out := shell(t, "pwd; echo $GREETING; cat; exit 7", func(c *guard.Command) {
		c.Dir, c.Env = "/", append(os.Environ(), "GREETING=hi")
	})
	text, err := io.ReadAll(out)
	require.NoError(t, err)
	require.Equal(t, "/\nhi\n", string(text))
	require.Equal(t, guard.Exit{Code: 7}, p.Exit())
}

func TestASignalIsNamed(t *testing.T) {
	p, _ := shell(t, "kill -SEGV $$", nil)
	require.Equal(t, guard.Exit{Signal: "SIGSEGV"}, p.Exit())
}

func TestAProgramThatCannotBeStartedIsAnError(t *testing.T) {
	for path, want := range map[string]string{
		"no-such-program-here": "there is no such program in PATH",
		"/no/such/program":     "there is no such program",
		"/etc/passwd":          "not executable",
	} {
		_, err := guard.Start(guard.Command{Path: path})
		require.ErrorIs(t, err, guard.ErrStart)
		require.ErrorContains(t, err, want)
	}
	_, err := guard.Start(guard.Command{Path: "true", Dir: "/no/such/dir"})
	require.ErrorIs(t, err, guard.ErrStart)
	require.ErrorContains(t, err, "no such file or directory")
}

func TestKillAsksFirst(t *testing.T) {
	p, out := shell(t, "trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.05; done", nil)
	line, err := out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	p.Kill()
	require.Equal(t, guard.Exit{Code: 3}, p.Exit())
	rest, err := io.ReadAll(out)
	require.NoError(t, err)
	require.Equal(t, "bye\n", string(rest))
}

func TestKillEndsAProgramThatDoesNotListen(t *testing.T) {
	p, out := shell(t, "trap '' TERM; echo ready; while :; do sleep 0.05; done", nil)
	_, err := out.ReadString('\n')
	require.NoError(t, err)
	begin := time.Now()
	p.Kill()
	require.Equal(t, guard.Exit{Signal: "SIGKILL"}, p.Exit())
	require.Less(t, time.Since(begin), 5*time.Second)
}

func TestCloseKillsChildrenThatOutliveTheProgram(t *testing.T) {
	p, out := shell(t, "sleep 300 >/dev/null & echo $!", nil)
	line, err := out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, guard.Exit{}, p.Exit())
	child := pids(t, line)[0]
	require.True(t, alive(child), "the end of the program alone does not end its children")
	p.Close()
	require.Eventually(t, func() bool { return !alive(child) }, 2*time.Second, 5*time.Millisecond)
	p.Close()
}

func TestGraceLetsAProgramEndByItself(t *testing.T) {
	p, _ := shell(t, "sleep 0.2; exit 5", func(c *guard.Command) { c.Grace = 20 * time.Second })
	p.Close()
	require.Equal(t, guard.Exit{Code: 5}, p.Exit())
}

func TestNothingOutlivesAnOwnerThatIsKilled(t *testing.T) {
	cmd := exec.Command(os.Args[0], "owner")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	out := bufio.NewReader(stdout)
	one, err := out.ReadString('\n')
	require.NoError(t, err)
	two, err := out.ReadString('\n')
	require.NoError(t, err)
	family := pids(t, one+two)
	require.Len(t, family, 3)
	for _, pid := range family {
		require.True(t, alive(pid))
	}
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	for _, pid := range family {
		require.Eventually(t, func() bool { return !alive(pid) }, 2*time.Second, 5*time.Millisecond)
	}
}
