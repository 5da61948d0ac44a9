// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/command"
)

func TestScopesOfCommands(t *testing.T) {
	p := project(t)
	for _, tt := range []struct{ line, scope, title string }{
		{"go test ./...", "go test", "`go test` (ordinary options, project files)"},
		{"pwd", "pwd", "`pwd` (ordinary options)"},
		{"npm run build", "npm run build", "`npm run build` (ordinary options)"},
		{"cd sub && go test .", "go test", "`go test` (ordinary options, project files)"},
		{"git push", "", "exactly `git push`"},
		{"echo a > b", "", "exactly `echo a > b`"},
		{"rm -rf 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789", "", "exactly this command"},
		{"echo `date`", "", "exactly this command"},
		{"echo \u202egp.exe", "", "exactly this command"},
	} {
		s := command.ScopeOf(command.Command{Line: tt.line, Dir: p.Roots[0]}, p)
		require.Equal(t, tt.title, s.Title, tt.line)
		require.Empty(t, s.Parts)
		if tt.scope != "" {
			require.Equal(t, tt.scope, s.Scope)
			require.Len(t, s.Covers, 1, "a rule about exactly this command applies too")
		} else {
			require.Contains(t, s.Scope, "exactly ")
			require.Empty(t, s.Covers)
		}
	}
}
