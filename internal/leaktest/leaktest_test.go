// SPDX-License-Identifier: Apache-2.0

package leaktest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// started is a test that starts a goroutine, as the environment says.
var started = map[string]func(){
	"none":    func() {},
	"short":   func() { go func() { time.Sleep(50 * time.Millisecond) }() },
	"endless": func() { go func() { select {} }() },
	"fails":   func() { go func() { select {} }() },
}

func TestMain(m *testing.M) {
	if os.Getenv("LEAK") != "" && os.Getenv("LEAK_MAIN") != "" {
		Main(m)
	}
	if os.Getenv("LEAK") == "" {
		os.Exit(m.Run())
	}
	os.Exit(10 + Run(m))
}

// TestLeaks is what the next test runs in processes.
func TestLeaks(t *testing.T) {
	what := os.Getenv("LEAK")
	if what == "" {
		t.Skip("it is a helper of TestGoroutinesThatAreLeft")
	}
	started[what]()
	if what == "fails" {
		t.Fail()
	}
	if !strings.HasSuffix(os.Getenv("GORACE"), "history_size=1 atexit_sleep_ms=0") {
		t.Errorf("GORACE is %q", os.Getenv("GORACE"))
	}
}

// A goroutine that is left is told with its stack, after it had time to end. Tests that have failed are enough of a failure.
func TestGoroutinesThatAreLeft(t *testing.T) {
	for what, want := range map[string]int{"none": 10, "short": 10, "fails": 11, "endless": 11} {
		if what == "endless" && testing.Short() {
			continue // which takes long
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestLeaks$")
		cmd.Env = append(os.Environ(), "LEAK="+what, "GORACE=history_size=1")
		begin := time.Now()
		out, _ := cmd.CombinedOutput()
		took := time.Since(begin)
		require.Equal(t, want, cmd.ProcessState.ExitCode(), "%s: %s", what, out)
		require.Equal(t, what == "endless", strings.Contains(string(out), "goroutines left behind:\n"), what)
		require.Equal(t, what == "endless", strings.Contains(string(out), "leaktest.init.func"), "%s: %s", what, out)
		if what == "endless" {
			require.GreaterOrEqual(t, took, 20*time.Second)
		}
	}
	for what, want := range map[string]int{"none": 0, "fails": 1} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLeaks$")
		cmd.Env = append(os.Environ(), "LEAK="+what, "LEAK_MAIN=1", "GORACE=history_size=1")
		_ = cmd.Run()
		require.Equal(t, want, cmd.ProcessState.ExitCode(), what)
	}
}
