// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/command"
)

var update = flag.Bool("update", false, "write the table of named scopes into docs/approvals.md")

// TestScopesAreDocumented keeps the table of named scopes in docs/approvals.md. To write it:
//
//	go test ./toolset/command -run TestScopesAreDocumented -update
func TestScopesAreDocumented(t *testing.T) {
	const page, begin, end = "../../docs/approvals.md", "<!-- named scopes -->\n", "<!-- end of named scopes -->"
	byClass := map[string][]string{}
	for _, r := range command.Table() {
		name := "`" + strings.Join(r.Words, " ") + "`"
		if r.Root {
			name += "¹"
		}
		byClass[r.Class] = append(byClass[r.Class], name)
	}
	var b strings.Builder
	b.WriteString("| The command | named scopes |\n|---|---|\n")
	for _, row := range [][2]string{{"looks", "looks at files"}, {"changes", "changes the project's files in the way it is known for"}, {"runs", "runs the project's own code"}} {
		b.WriteString("| " + row[1] + " | " + strings.Join(byClass[row[0]], ", ") + " |\n")
	}
	data, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(data), begin)
	require.True(t, ok)
	table, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(before+begin+b.String()+end+after), 0o600))
		return
	}
	require.Equal(t, b.String(), table, "run with -update")
}
