// SPDX-License-Identifier: Apache-2.0

//go:build unix

package local_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// Commands read nothing of what must not be read, by whichever name or with whichever directory.
func TestSandboxHidesWhatMustNotBeRead(t *testing.T) {
	const secret = "sesame-4711"
	w, root := sandboxed(t, local.Sandbox{Unreadable: func(path string) bool {
		return filepath.Base(path) == ".env" || strings.Contains(path, "/keys/") || strings.HasSuffix(path, ".pem")
	}})
	for name, text := range map[string]string{
		".env": secret, "sub/.env": secret, "sub/a.txt": "plain", "keys/one": secret, "keys/two/three": secret, "a.txt": "plain",
		".vscode/.env": secret, "deep/er/x.pem": secret, "conf/real": secret,
	} {
		file := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	require.NoError(t, os.Symlink("../conf/real", filepath.Join(root, "deep", ".env")))
	run := func(line string) string {
		out, _ := run(t, w, line)
		return out
	}
	require.Contains(t, run("cat a.txt sub/a.txt"), "plainplain", "the rest can be read")
	for _, line := range []string{
		"cat .env sub/.env keys/one keys/two/three .vscode/.env deep/er/x.pem deep/.env", "grep -r . .", "tar cf - .", "cp -r . /tmp/x; cat /tmp/x/.env /tmp/x/keys/*",
		"find . -type f -exec cat {} +", "cat /proc/self/root$PWD/.env", "mv sub moved; cat moved/.env", "mv deep/er other; cat other/x.pem", "rm -f .env; cat .env",
		"ln .env hard; cat hard", "ln -s .env soft; cat soft", "mv .env plain; cat plain", "umount .env; cat .env", "cat <.env", "cp keys/one one; cat one", "mv keys locks; cat locks/one",
	} {
		require.NotContains(t, run(line), secret, line)
	}
	for _, line := range []string{"cat moved/.env hard soft plain one locks/one other/x.pem", "grep -r . ."} { // what earlier ones have left
		require.NotContains(t, run(line), secret, line)
	}
	for _, name := range []string{".env", "sub/.env", "keys/one", "keys/two/three", "deep/er/x.pem"} {
		data, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		require.Equal(t, secret, string(data), name)
	}
}
