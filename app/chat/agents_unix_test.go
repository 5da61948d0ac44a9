// SPDX-License-Identifier: Apache-2.0

//go:build unix

package chat_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each agent that has a name is listed with what it is and how it is installed.
func TestAgentsAreListed(t *testing.T) {
	home := t.TempDir()
	t.Setenv("PATH", home)
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("XDG_CACHE_HOME", home)
	t.Setenv("XDG_DATA_HOME", home)
	said := converse(t, home, "desk chat -agents", "")
	said, ok := strings.CutSuffix(said, "= 0\n")
	require.True(t, ok, said)
	lines := strings.Split(strings.TrimSuffix(said, "\n"), "\n")
	require.Greater(t, len(lines), 10)
	require.Zero(t, len(lines)%2)
	names := map[string]bool{}
	for i := 0; i < len(lines); i += 2 {
		m := regexp.MustCompile(`^> ([a-z0-9, -]+): \S.* \S+$`).FindStringSubmatch(lines[i])
		require.NotNil(t, m, lines[i])
		for name := range strings.SplitSeq(m[1], ", ") {
			require.False(t, names[name], name)
			names[name] = true
		}
		require.Regexp(t, `^>     (install it with: \S+|\S+)`, lines[i+1])
		require.NotEqual(t, ">     installed", lines[i+1])
	}
	require.True(t, names["gemini"])
	require.Contains(t, converse(t, home, "desk __complete chat -agent \"\"", ""), "> gemini\t")

	missing := converse(t, home, "desk chat -agent gemini hello", "")
	require.Regexp(t, `^! desk: .*gemini.*install`, missing)
	require.True(t, strings.HasSuffix(missing, "\n= 1\n"), missing)
	require.NotContains(t, missing, "-h", "the command line is right")
	m := regexp.MustCompile(`--prefix HOME(/\S*/gemini-\S+) .* (@google/\S+)@`).FindStringSubmatch(said)
	require.NotNil(t, m)
	modules := filepath.Join(home, m[1], "node_modules")
	for name, text := range map[string]string{
		filepath.Join(m[2], "package.json"): `{"bin": {"gemini": "index.js"}}`, ".bin/gemini": "",
	} {
		at := filepath.Join(modules, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
		require.NoError(t, os.WriteFile(at, []byte(text), 0o700))
	}
	said = converse(t, home, "desk chat -agents", "")
	require.Regexp(t, `(?m)^> gemini.*\n>     installed$`, said)
	require.Equal(t, 1, strings.Count(said, ">     installed\n"))
}
