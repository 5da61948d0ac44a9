// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// commands returns the arguments that the files of the directory deploy start the program with.
func commands(t *testing.T) map[string][]string {
	t.Helper()
	docker, err := os.ReadFile("deploy/Dockerfile")
	require.NoError(t, err)
	list := regexp.MustCompile(`(?m)^CMD \[(.*)\]$`).FindSubmatch(docker)
	require.NotNil(t, list)
	unit, err := os.ReadFile("deploy/desk.service")
	require.NoError(t, err)
	line := regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/desk (.*)$`).FindSubmatch(unit)
	require.NotNil(t, line)
	return map[string][]string{
		"Dockerfile":   strings.Split(strings.NewReplacer(`"`, "", " ", "").Replace(string(list[1])), ","),
		"desk.service": strings.Fields(string(line[1])),
	}
}

// TestDeployments starts the program as each deployment does, with no environment but that of the
// deployment, and ends it with SIGTERM.
func TestDeployments(t *testing.T) {
	binary, err := built()
	require.NoError(t, err)
	for _, args := range commands(t) {
		state := t.TempDir()
		admin := ""
		for i, a := range args {
			switch {
			case a == "${STATE_DIRECTORY}" || a == "/state":
				args[i] = state
			case args[max(i-1, 0)] == "-addr":
				args[i] = freeAddress(t)
			case args[max(i-1, 0)] == "-admin":
				admin = freeAddress(t)
				args[i] = admin
			}
		}
		cmd := exec.Command(binary, args...)
		cmd.Env = []string{"XDG_STATE_HOME=" + state, "XDG_CONFIG_HOME=" + state, "HOME=" + state}
		serves(t, cmd, admin)
	}
}

// serves starts the program of a deployment with a token and a key, looks at what is for monitoring,
// and ends it with SIGTERM.
func serves(t *testing.T, cmd *exec.Cmd, admin string) {
	t.Helper()
	cmd.Env = append(cmd.Env, "DESK_TOKEN=a-token-of-32-characters-or-more", "OPENAI_API_KEY=sk-x")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "/?token=a-token-of-32-characters-or-more")
	for path, want := range map[string]string{"/healthz": "", "/readyz": "", "/metrics": "# TYPE"} {
		res, err := http.Get("http://" + admin + path)
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		_ = res.Body.Close()
		require.Equal(t, 200, res.StatusCode, path)
		require.Contains(t, string(text), want)
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	require.NoError(t, cmd.Wait())
	timer.Stop()
	http.DefaultClient.CloseIdleConnections()
}

// TestUnitIsValid has systemd read the unit, where it is installed.
func TestUnitIsValid(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("this needs systemd-analyze")
	}
	binary, err := built()
	require.NoError(t, err)
	unit, err := os.ReadFile("deploy/desk.service")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "desk.service")
	require.NoError(t, os.WriteFile(file, bytes.ReplaceAll(unit, []byte("/usr/local/bin/desk"), []byte(binary)), 0o600))
	said, err := exec.CommandContext(t.Context(), analyze, "verify", file).CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.Empty(t, string(said))
}
