// SPDX-License-Identifier: Apache-2.0

package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Nobody can be asked here, so a question of the client would be refused: what the rules of the agent
// have allowed, its own chat asks about zero times again.
func TestChatAsksNothingThatItsAgentHasDecided(t *testing.T) {
	const task = "replace one with two in a.txt, then run `touch done`"
	for rules, allowed := range map[string]bool{
		`[{"decision": "allow", "path": "**"}, {"decision": "allow", "command": "touch done"}]`: true,
		`[]`: false,
	} {
		for _, where := range []string{"client", "local"} {
			work := write(t, workDir(t), map[string]string{"a.txt": "one\n"})
			file := filepath.Join(t.TempDir(), "config.json")
			text := `{"terminal": "` + where + `", "files": "` + where + `", "permissions": {"rules": ` + rules + `}}`
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			stdout, stderr, code := ideagent(t, "chat", "-model", "offline", "-config", file, "-dir", work, task)
			data, err := os.ReadFile(filepath.Join(work, "a.txt"))
			require.NoError(t, err)
			_, err = os.Stat(filepath.Join(work, "done"))
			if allowed {
				require.Zero(t, code, stdout+stderr)
				require.NoError(t, err, stdout+stderr)
				require.Equal(t, "two\n", string(data), stdout+stderr)
				require.NotContains(t, stdout+stderr, "no one can be asked")
				continue
			}
			require.ErrorIs(t, err, os.ErrNotExist)
			require.Equal(t, "one\n", string(data))
			require.Equal(t, 1, strings.Count(stdout+stderr, "no one can be asked"), stdout+stderr)
		}
	}
}

// Without bubblewrap, the program restricts commands itself, and says so once.
func TestCommandsRunInTheWeakerSandboxWithoutBubblewrap(t *testing.T) {
	bin, home := t.TempDir(), t.TempDir()
	for _, name := range []string{"cat", "sh"} {
		real, err := exec.LookPath(name)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(real, filepath.Join(bin, name)))
	}
	require.NoError(t, os.Mkdir(filepath.Join(home, ".ssh"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".ssh", "id"), []byte("sesame"), 0o600))
	work := write(t, workDir(t), map[string]string{"a.txt": "plain text\n"})
	cmd := exec.CommandContext(t.Context(), binary, "chat", "-yes", "-model", "offline", "-dir", work,
		"run cat a.txt "+home+"/.ssh/id, then run cat a.txt")
	cmd.Env = append(os.Environ(), "HOME="+home, "PATH="+bin)
	cmd.WaitDelay = time.Minute
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	if strings.Contains(string(out), "nor a weaker one") {
		t.Skip("this kernel has no Landlock")
	}
	require.Equal(t, 1, strings.Count(string(out), "they run in a weaker one, and each is asked about"), string(out))
	require.Contains(t, string(out), "plain text")
	require.NotContains(t, string(out), "sesame")
}
