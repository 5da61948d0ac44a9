// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"strings"
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

// A scope covers a line only if its redirections throw output away or join the two outputs.
func TestRedirectionsOfScopes(t *testing.T) {
	p := project(t)
	for _, redirect := range strings.Fields(
		">/dev/null >>/dev/null 1>/dev/null 2>/dev/null 2>>/dev/null >'/dev/null' >&1 >&2 1>&2 2>&1 2>&2",
	) {
		require.Equal(t, "go test", command.ScopeOf(at(p, "go test ./... "+redirect), p).Scope, redirect)
	}
	for _, redirect := range strings.Fields(
		"0>/dev/null 3>/dev/null 12>/dev/null >a 1>a 2>a >>a >/dev/null/x >/dev/nul? >$X 2>$X >1 2>2 " +
			">&0 >&3 >&- 2>&- 2>&3 0>&1 3>&1 <&1 2<&1 </dev/null <a >|/dev/null <>/dev/null &>/dev/null <<x <<-x",
	) {
		line := "go test ./... " + redirect
		require.Contains(t, command.ScopeOf(at(p, line), p).Scope, "exactly ", redirect)
		require.Contains(t, command.ScopeOf(at(p, line+"\ny\nx\n"), p).Scope, "exactly ", redirect)
	}
}
