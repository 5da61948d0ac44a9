// SPDX-License-Identifier: Apache-2.0

//go:build unix

package program

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func startChat(t *testing.T, prompt string) (*exec.Cmd, *paper) {
	t.Helper()
	out := &paper{}
	cmd := exec.CommandContext(t.Context(), binary, "chat", "-yes", "-dir", t.TempDir(), prompt)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = 5 * time.Second
	require.NoError(t, cmd.Start())
	return cmd, out
}

func (p *paper) waitFor(t *testing.T, pattern string) []string {
	t.Helper()
	var found []string
	require.Eventually(t, func() bool {
		found = regexp.MustCompile(pattern).FindStringSubmatch(p.String())
		return found != nil
	}, time.Minute, 5*time.Millisecond, "%s in:\n%s", pattern, p)
	return found
}

// processes returns the lines of ps that have the text in them.
func processes(t *testing.T, text string) (found []string) {
	t.Helper()
	out, err := exec.Command("ps", "-axo", "pid,stat,command").Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); strings.Contains(line, text) && !strings.HasPrefix(fields[1], "Z") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

func TestCtrlCCancelsTheTurn(t *testing.T) {
	cmd, out := startChat(t, "wait 60 seconds, then read nothing.txt")
	out.waitFor(t, `Waiting 1m0s \.\.`)
	begin := time.Now()
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	require.Error(t, cmd.Wait())
	require.Equal(t, 130, cmd.ProcessState.ExitCode(), out)
	require.Less(t, time.Since(begin), 50*time.Second, "it does not wait for the minute to end")
	require.Contains(t, out.String(), "Cancelled.")
	require.NotContains(t, out.String(), "nothing.txt\n")
	require.Empty(t, processes(t, binary))
}

func TestSIGTERMLeavesNothingBehind(t *testing.T) {
	sleep := fmt.Sprintf("sleep 3%07d", os.Getpid()) // as no other run of this test does
	cmd, out := startChat(t, "run "+sleep)
	out.waitFor(t, sleep)
	require.Eventually(t, func() bool { return len(processes(t, sleep)) > 1 }, time.Minute, 20*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Error(t, cmd.Wait())
	require.Empty(t, processes(t, sleep))
	require.Empty(t, processes(t, binary))
}

func TestKill9LeavesNothingBehind(t *testing.T) {
	// A child in the background, and one with a child of its own that ignores what it can ignore.
	// They are found by what they sleep: in a sandbox they have other ids.
	one, two := fmt.Sprintf("sleep 4%07d", os.Getpid()), fmt.Sprintf("sleep 5%07d", os.Getpid())
	cmd, out := startChat(t, `run "`+one+` & echo pids $! $$; trap '' TERM HUP INT; sh -c 'echo and $$; `+two+`'"`)
	out.waitFor(t, `pids (\d+) (\d+)`)
	out.waitFor(t, `and (\d+)`)
	require.NotEmpty(t, processes(t, binary))
	require.NotEmpty(t, processes(t, one))
	require.NoError(t, cmd.Process.Kill())
	killed := time.Now()
	_ = cmd.Wait()
	require.Eventually(t, func() bool {
		return len(processes(t, one))+len(processes(t, two))+len(processes(t, binary)) == 0
	}, time.Minute, 10*time.Millisecond, "left: %v", processes(t, binary))
	t.Logf("nothing was left %v after kill -9", time.Since(killed))
}
