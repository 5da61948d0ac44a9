// SPDX-License-Identifier: Apache-2.0

package guard_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/guard"
)

func TestOrdinaryVariablesAreThoseThatAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/local.md")
	require.NoError(t, err)
	_, list, ok := strings.Cut(string(doc), "<!-- ordinary variables -->\n")
	require.True(t, ok)
	list, _, ok = strings.Cut(list, "<!-- end of ordinary variables -->")
	require.True(t, ok)
	names := guard.OrdinaryNames()
	for i, name := range names {
		names[i] = "`" + name + "`"
	}
	require.Equal(t, strings.Join(names, ", "), strings.TrimSpace(list), "put this between the marks of docs/local.md")
}

// Every name that holds a secret in some program is one that nobody has put on the list by mistake.
func TestNoOrdinaryVariableIsNamedLikeASecret(t *testing.T) {
	for _, name := range guard.OrdinaryNames() {
		for _, part := range strings.Split(strings.TrimPrefix(name, "SSH_AUTH_"), "_") { // a socket
			require.NotContains(t, []string{"KEY", "TOKEN", "SECRET", "PASS", "PASSWORD", "PAT", "AUTH", "CREDENTIALS", "PIN", "COOKIE", "DSN"}, part, name)
		}
	}
}

func TestPatternsOfVariablesFitWholeNames(t *testing.T) {
	for pattern, names := range map[string][]string{
		"A": {"A", "a"}, "A*": {"A", "AB", "a_b"}, "*B": {"B", "AB"}, "A*C": {"AC", "ABC"}, "*": {"", "X"}, "A*B*C": {"ABC", "AxBxC", "ABBC"},
	} {
		for _, name := range names {
			require.True(t, guard.Matches([]string{"other", pattern}, name), "%s %s", pattern, name)
		}
	}
	for _, c := range [][2]string{{"A", "AB"}, {"A*", "BA"}, {"*B", "BA"}, {"A*C", "A"}, {"A*BB*C", "ABC"}, {"", "A"}} {
		require.False(t, guard.Matches([]string{c[0]}, c[1]), "%s %s", c[0], c[1])
	}
	require.False(t, slices.Contains(guard.OrdinaryNames(), "*"))
}
