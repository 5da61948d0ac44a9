// SPDX-License-Identifier: Apache-2.0

//go:build unix

package mcptoolset_test

import (
	"bufio"
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

func TestCommandConformance(t *testing.T) {
	s := start(t, "serve")
	toolsettest.Conformance(t, func() toolset.Toolset[none] { return mcptoolset.Tools(s, mcptoolset.Options[none]{}) }, none{},
		toolsettest.Case{Tool: "s_echo", Args: `{"a":1}`})
}

func TestCommandGetsNoKeys(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-model")
	t.Setenv("PONTE_TEST_EXTRA", "extra")
	s := start(t, "serve", func(c *mcptoolset.Config) {
		cmd := command("serve")
		cmd.Inherit = []string{"PONTE_TEST_EXTRA"}
		c.Transport = cmd
	})
	res, err := call(t, s, nil, "r", "s_env", `{}`)
	require.NoError(t, err)
	require.NotContains(t, res.Text, "sk-model")
	require.Contains(t, res.Text, "PATH=")
	require.Contains(t, res.Text, "TOKEN=sk-secret-123")
	require.Contains(t, res.Text, "PONTE_TEST_EXTRA=extra")
}

func TestDeathDuringACallIsToldAndNotRepeated(t *testing.T) {
	t.Parallel()
	s := start(t, "serve")
	before, err := call(t, s, nil, "r", "s_pid", `{}`)
	require.NoError(t, err)
	res, err := call(t, s, nil, "r", "s_die", `{}`)
	text := failed(t, res, err)
	require.Contains(t, text, "It is not known whether the call had any effect. The call was not repeated.")
	require.Contains(t, text, "the server exited with code 7: out of luck")

	// The next call finds a new process.
	after, err := call(t, s, nil, "r", "s_pid", `{}`)
	require.NoError(t, err)
	require.NotEqual(t, before.Text, after.Text)
	require.Equal(t, mcptoolset.StateReady, s.Status().State)
}

func TestCrashAtStartIsSeenWithoutSecrets(t *testing.T) {
	var log logBuffer
	s := start(t, "crash", func(c *mcptoolset.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	require.Empty(t, list(t, s, mcptoolset.Options[none]{}), "the run goes on without the tools")
	require.ErrorContains(t, s.Status().Err, `the server exited with code 3: cannot open the database, key …\u202e`)
	require.NotContains(t, log.String(), "sk-secret-123")
	require.Contains(t, log.String(), "exited with code 3")
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		require.NotContains(t, fmt.Sprintf(verb, command("x")), "sk-secret")
	}
}

func TestStderrOfServersControlsNoTerminal(t *testing.T) {
	var out bytes.Buffer
	c := command("painted")
	c.Stderr = &out
	s := start(t, "", func(config *mcptoolset.Config) { config.Transport = c })
	require.Empty(t, list(t, s, mcptoolset.Options[none]{}))
	require.NoError(t, s.Close()) // nothing is written any more
	lines := strings.Split(out.String(), "\n")
	require.Equal(t, "⟨ESC⟩[31mred⟨ESC⟩[0m key …", lines[0])
	require.Equal(t, strings.Repeat("x", 20_000), strings.Join(lines[1:4], ""), "in parts")
	require.Equal(t, []string{"without an end⟨BEL⟩", ""}, lines[4:])
}

func TestMissingProgramIsSeen(t *testing.T) {
	s := start(t, "", func(c *mcptoolset.Config) { c.Transport = mcptoolset.Command{Path: "no-such-program-anywhere"} })
	require.Empty(t, list(t, s, mcptoolset.Options[none]{}))
	require.ErrorContains(t, s.Status().Err, "no-such-program-anywhere")
}

func TestHangingServerDelaysOneRunOnly(t *testing.T) {
	t.Parallel()
	s := start(t, "hang", func(c *mcptoolset.Config) { c.Wait, c.ConnectTimeout = 50*time.Millisecond, time.Hour })
	require.Empty(t, list(t, s, mcptoolset.Options[none]{}))
	require.Equal(t, mcptoolset.StateConnecting, s.Status().State)
	require.Empty(t, list(t, s, mcptoolset.Options[none]{}))
	in, err := mcptoolset.Tools(s, mcptoolset.Options[none]{Required: true}).Open(t.Context(), &toolset.RunContext[none]{})
	require.NoError(t, err)
	_, err = in.Tools(t.Context(), &toolset.RunContext[none]{})
	require.ErrorIs(t, err, mcptoolset.ErrUnavailable)
}

func TestSlowServerEndsWithTheConnectTimeout(t *testing.T) {
	t.Parallel()
	s := start(t, "hang", func(c *mcptoolset.Config) { c.ConnectTimeout = 50 * time.Millisecond })
	require.Empty(t, list(t, s, mcptoolset.Options[none]{}))
	require.ErrorContains(t, s.Status().Err, "no connection within 50ms")
}

func TestEndlessMessageDoesNotFillTheMemory(t *testing.T) {
	s := start(t, "flood", func(c *mcptoolset.Config) { c.Limits.Message = 4 << 20 })
	require.Empty(t, list(t, s, mcptoolset.Options[none]{}))
	require.Error(t, s.Status().Err)
}

func TestCloseLeavesNoProcess(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"serve", "stubborn"} {
		t.Run(mode, func(t *testing.T) {
			s := start(t, mode)
			res, err := call(t, s, nil, "r", "s_pid", `{}`)
			require.NoError(t, err)
			pid, err := strconv.Atoi(res.Text)
			require.NoError(t, err)
			res, err = call(t, s, nil, "r", "s_fork", `{}`)
			require.NoError(t, err)
			grandchild, err := strconv.Atoi(res.Text)
			require.NoError(t, err)
			require.NoError(t, s.Close())
			require.False(t, alive(pid))
			require.Eventually(t, func() bool { return !alive(grandchild) }, patience, tick, "killed, and buried by somebody else")
		})
	}
}

func TestDeathIsNoticedThoughAChildHoldsTheOutput(t *testing.T) {
	t.Parallel()
	s := start(t, "serve")
	_, err := call(t, s, nil, "r", "s_fork", `{}`)
	require.NoError(t, err)
	res, err := call(t, s, nil, "r", "s_die", `{}`)
	require.Contains(t, failed(t, res, err), "code 7")
}

func TestNoServerOutlivesAKilledOwner(t *testing.T) {
	t.Parallel()
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), "MCPTOOLSET_TEST_MODE=owner")
	out, err := owner.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, owner.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.Fields(line)[0])
	require.NoError(t, err, line)
	require.True(t, alive(pid))
	require.NoError(t, owner.Process.Kill())
	_ = owner.Wait()
	require.Eventually(t, func() bool { return !alive(pid) }, patience, 10*time.Millisecond)
}

func TestHostileHugeResultKeepsMemoryBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("reads a huge result")
	}
	s := start(t, "huge")
	require.Len(t, list(t, s, mcptoolset.Options[none]{}), 1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res, err := call(t, s, nil, "r", "s_get", `{}`)
	require.Contains(t, failed(t, res, err), "It is not known whether the call had any effect") // the error may come before the connection has ended
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(90<<20), "all that was ever allocated is less than the 100 MB result")
	require.Len(t, list(t, s, mcptoolset.Options[none]{}), 1)
}

func TestHostileDeepSchemaHarmsNobodyElse(t *testing.T) {
	f := newFake(nil)
	f.tool("echo", echo)
	bad, good := start(t, "deep"), serve(t, f)
	require.Empty(t, list(t, bad, mcptoolset.Options[none]{}))
	require.Error(t, bad.Status().Err)
	require.Len(t, list(t, good, mcptoolset.Options[none]{}), 1)
}
