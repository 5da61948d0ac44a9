// SPDX-License-Identifier: Apache-2.0

package program

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Wherever the address of a database is put, its password is not printed: editors keep what is printed.
func TestPasswordsOfAddressesAreNotPrinted(t *testing.T) {
	const address = "postgres://ann:secret@db/sessions"
	for _, c := range []struct {
		args   []string
		stderr string
	}{
		{[]string{"-store", address}, `this program has no stores of the kind "postgres": see docs/app.md`},
		{[]string{"-store", "postgres:/ann:secret@db/sessions"}, "in the form postgres://user@host/database"},
		{[]string{"chat", "-store", address, "hi"}, `no stores of the kind "postgres"`},
		{[]string{"sessions", "list", "-store", address}, `no stores of the kind "postgres"`},
		{[]string{address}, `unknown command "postgres://…"`},
		{[]string{"acp", "-model", "offline", address}, `unknown argument "postgres://…"`},
		{[]string{"-stor=" + address}, "unknown flag -stor; did you mean -store?"},
		{[]string{"-" + address}, "unknown flag …"},
		{[]string{"-idle", address}, "invalid argument"},
		{[]string{"sessions", address}, `unknown command "postgres://…"`},
		{[]string{"sessions", "list", address}, "belongs after -store"},
		{[]string{"sessions", "purge", address}, "belongs after -store"},
		{[]string{"chat", "-agent", "x", "-store", address}, "-store is for ideagent's own agent; leave it out with -agent"},
	} {
		stdout, stderr, code := ideagent(t, c.args...)
		require.Equal(t, 2, code, "%v: %s", c.args, stderr)
		require.Contains(t, stderr, c.stderr, "%v", c.args)
		require.NotContains(t, stdout+stderr, "secret", "%v", c.args)
	}
}

func TestChatKeepsSessionsWhereItIsTold(t *testing.T) {
	at, work := filepath.Join(t.TempDir(), "sessions"), workDir(t)
	_, stderr, code := ideagent(t, "chat", "-model", "offline", "-dir", work, "-store", at, "help")
	require.Equal(t, 0, code, stderr)
	stdout, stderr, code := ideagent(t, "sessions", "list", "-store", at, "-dir", work)
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stdout, "  help\n")
}

func TestChatContinuesSessions(t *testing.T) {
	at, work := filepath.Join(t.TempDir(), "sessions"), workDir(t)
	write(t, work, map[string]string{"a.txt": "one\n", "b.txt": "two\n"})
	chat := func(args ...string) (string, string, int) {
		t.Helper()
		return ideagent(t, append([]string{"chat", "-model", "offline", "-dir", work, "-store", at}, args...)...)
	}
	_, stderr, code := chat("-continue", "again")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "there is no session to continue in "+work)
	_, _, code = chat("read a.txt")
	require.Zero(t, code)
	_, _, code = chat("read b.txt")
	require.Zero(t, code)
	stdout, stderr, code := chat("-c", "again")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "two", "the last session")
	list, _, _ := ideagent(t, "sessions", "list", "-store", at)
	lines := strings.Split(strings.TrimSpace(list), "\n")
	require.Len(t, lines, 2)
	first, _, _ := strings.Cut(lines[1], " ")
	stdout, stderr, code = chat("-resume", first, "again")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "one")
	_, stderr, code = chat("-resume", "none", "again")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "none")
	_, stderr, code = chat("-resume", "x", "-continue", "again")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "use one of them")
}

func TestPromptFromTheInput(t *testing.T) {
	work := write(t, workDir(t), map[string]string{"a.txt": "one\n", "b.txt": "two\n"})
	cmd := exec.CommandContext(t.Context(), binary, "chat", "-model", "offline", "-dir", work, "-")
	cmd.Stdin = strings.NewReader("read a.txt\nread b.txt\n")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "my plan: 1. read a.txt. 2. read b.txt.", "it is one prompt")
}
