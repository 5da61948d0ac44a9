// SPDX-License-Identifier: Apache-2.0

//go:build unix

package chat_test

import (
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
}
