// SPDX-License-Identifier: Apache-2.0

package program

import (
	"path/filepath"
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
