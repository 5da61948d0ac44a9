// SPDX-License-Identifier: Apache-2.0

package program

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// The thief is another process of the same user.
func TestNobodyReadsTheEnvironmentOfIdeagent(t *testing.T) {
	var as *syscall.SysProcAttr // root may read everything
	dir := t.TempDir()
	data, err := os.ReadFile(binary)
	require.NoError(t, err)
	program := filepath.Join(dir, "ideagent")
	require.NoError(t, os.WriteFile(program, data, 0o755))
	if os.Getuid() == 0 {
		as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		for at := dir; at != "/" && at != os.TempDir(); at = filepath.Dir(at) {
			require.NoError(t, os.Chmod(at, 0o755))
		}
	}
	cmd := exec.CommandContext(t.Context(), program, "-model", "offline", "-no-store")
	cmd.Dir, cmd.SysProcAttr = "/", as
	cmd.Env = append(os.Environ(), "OPENAI_API_KEY=sesame", "HOME="+dir)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = in.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}` + "\n"))
	require.NoError(t, err)
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	thief := exec.Command("cat", "/proc/"+strconv.Itoa(cmd.Process.Pid)+"/environ")
	thief.Dir, thief.SysProcAttr = "/", as
	read, err := thief.CombinedOutput()
	require.Error(t, err)
	require.NotContains(t, string(read), "sesame")
	require.NoError(t, in.Close())
	_ = cmd.Wait()
}

func TestVariablesOfCommandsAreNamedInTheConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"terminal": "local", "env": ["GH_TOKEN"]}`), 0o600))
	for _, terminal := range []bool{false, true} { // the agent runs the command, or chat does
		if terminal {
			require.NoError(t, os.WriteFile(file, []byte(`{"env": ["GH_TOKEN"]}`), 0o600))
		}
		cmd := exec.CommandContext(t.Context(), binary, "chat", "-yes", "-model", "offline", "-config", file, "-dir", t.TempDir(), `run "env | grep -e GH_TOKEN -e se[s]ame"`)
		cmd.Env = append(os.Environ(), "GH_TOKEN=passed", "SMTP_PASS=sesame", "STRIPE_KEY=sesame", "REDIS_URL=redis://:sesame@h")
		cmd.WaitDelay = time.Minute
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "GH_TOKEN=passed")
		require.False(t, strings.Contains(string(out), "sesame"), "%s", out)
	}
}

// The agent runs the command, or chat does.
func TestCommandsRunInTheSandboxOfTheConfiguration(t *testing.T) {
	if box, err := local.Open(local.Config{Roots: []string{t.TempDir()}, Sandbox: &local.Sandbox{}}); err != nil {
		t.Skip(err)
	} else {
		require.NoError(t, box.Close())
	}
	home := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(home, ".ssh"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".ssh", "id"), []byte("sesame"), 0o600))
	file := filepath.Join(t.TempDir(), "config.json")
	for text, hidden := range map[string]bool{
		`{"terminal": "local", "sandbox": true}`: true, `{"sandbox": true}`: true, `{"terminal": "local"}`: true, `{}`: true,
		`{"terminal": "local", "sandbox": false}`: false, `{"sandbox": false}`: false,
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		for _, path := range []string{os.Getenv("PATH"), t.TempDir()} { // with and without bubblewrap
			cmd := exec.CommandContext(t.Context(), binary, "chat", "-yes", "-model", "offline", "-config", file, "-dir", t.TempDir(), "run cat "+home+"/.ssh/id")
			cmd.Env = append(os.Environ(), "HOME="+home, "PATH="+path)
			cmd.WaitDelay = time.Minute
			out, err := cmd.CombinedOutput()
			if path != os.Getenv("PATH") {
				if required := strings.Contains(text, "true"); required {
					require.Error(t, err)
				}
				require.Equal(t, hidden, strings.Contains(string(out), "bwrap is not installed"), "%s: %s", text, out)
				continue
			}
			require.Equal(t, !hidden, strings.Contains(string(out), "sesame"), "%s: %s", text, out)
		}
	}
}

// The sandbox hides what the rules of the user and of the project deny to read, whoever runs the
// command.
func TestCommandsSeeNoFilesThatMustNotBeRead(t *testing.T) {
	if box, err := local.Open(local.Config{Roots: []string{t.TempDir()}, Sandbox: &local.Sandbox{}}); err != nil {
		t.Skip(err)
	} else {
		require.NoError(t, box.Close())
	}
	const rule = `{"permissions": {"rules": [{"decision": "deny", "read": "**/secret.txt"}]}}`
	for _, terminal := range []string{`{"terminal": "local"%s}`, `{%s}`} {
		for _, project := range []bool{false, true} {
			dir, file := t.TempDir(), filepath.Join(t.TempDir(), "config.json")
			require.NoError(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "sub", "secret.txt"), []byte("sesame"), 0o600))
			text, more := strings.TrimSuffix(strings.TrimPrefix(rule, "{"), "}"), ""
			if project {
				require.NoError(t, os.Mkdir(filepath.Join(dir, ".agents"), 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(dir, ".agents", "ideagent.json"), []byte(rule), 0o600))
			} else if more = text; strings.Contains(terminal, "local") {
				more = ", " + text
			}
			require.NoError(t, os.WriteFile(file, []byte(strings.Replace(terminal, "%s", more, 1)), 0o600))
			// The line names no directory, as code of the project does not.
			cmd := exec.CommandContext(t.Context(), binary, "chat", "-yes", "-model", "offline", "-config", file, "-dir", dir, "run sh run.sh")
			require.NoError(t, os.WriteFile(filepath.Join(dir, "run.sh"), []byte("cat s*/s*; echo ran"), 0o600))
			cmd.WaitDelay = time.Minute
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), "ran")
			require.NotContains(t, string(out), "sesame", "%s %v", terminal, project)
		}
	}
}
