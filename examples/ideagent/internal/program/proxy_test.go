// SPDX-License-Identifier: Apache-2.0

package program

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpproxy"
)

// proxied runs the program as a proxy, with an IDE that sends lines and ends.
func proxied(t *testing.T, lines string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"proxy"}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(lines), &out, &errs
	_ = cmd.Run()
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

const initializeLine = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}` + "\n"

func TestProxyRecords(t *testing.T) {
	file := filepath.Join(t.TempDir(), "record.jsonl")
	stdout, stderr, code := proxied(t, initializeLine, "-record", file, "-read-only", "--", binary, "-model", "offline")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, `"protocolVersion":1`)
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	entries, err := acpproxy.ReadRecording(f)
	require.NoError(t, err)
	require.Len(t, entries, 2)
}

func TestProxyMistakes(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	rules := filepath.Join(t.TempDir(), "rules.json")
	require.NoError(t, os.WriteFile(rules, []byte(`{"rules":[{}]}`), 0o600))
	for want, args := range map[string][]string{
		"name an agent":            nil,
		"did you mean claude-acp?": {"claude-cod"},
		"npm install":              {"claude-code"},
		"cannot start":             {"no-such-agent-here"},
		"rules.json":               {"-rules", rules, binary},
		"unknown flag -recrod; did you mean -record?": {"-recrod"},
	} {
		_, stderr, code := proxied(t, "", args...)
		require.Contains(t, stderr, want)
		require.NotZero(t, code)
	}
}
