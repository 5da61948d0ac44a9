// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/command"
)

// What "always" covers is recorded for the lines of everyday work, also where a word is left out of
// them or something follows: everything that is not named is the line itself, exactly.
func TestScopesOfManyLinesAreRecorded(t *testing.T) {
	place := command.Place{Roots: []string{"/repo", "/more"}, Inside: func(path string) bool {
		return (path == "/repo" || strings.HasPrefix(path, "/repo/") || strings.HasPrefix(path, "/more/")) && !strings.Contains(path, "out")
	}}
	seen := map[string]bool{}
	var b strings.Builder
	tell := func(c command.Command, p command.Place) {
		s := command.ScopeOf(c, p)
		shown := fmt.Sprintf("%s %q %s", c.Line, c.Args, c.Dir)
		if c.Args == nil {
			shown = c.Line
		}
		if seen[shown] {
			return
		}
		seen[shown] = true
		exact := command.ScopeOf(c, command.Place{Windows: true}).Scope
		text := fmt.Sprintf("%s | %s | %q covers %d", s.Scope, s.Title, s.Parts, len(s.Covers))
		switch {
		case s.Scope == exact && s.Title == "exactly `"+c.Line+"`" && s.Parts == nil && s.Covers == nil:
			text = "exact"
		case s.Scope == exact:
			text = fmt.Sprintf("exact | %s | %q %q", s.Title, s.Parts, s.Covers)
		default:
			require.Equal(t, []string{exact}, s.Covers)
		}
		fmt.Fprintf(&b, "%s\t%s\n", strings.ReplaceAll(shown, "\n", "⏎"), text)
	}
	for pair := range strings.Lines(strings.TrimSpace(everyday)) {
		for line := range strings.SplitSeq(strings.TrimSpace(pair), " => ") {
			variants := []string{line, line + " out/x", line + " ../x", line + " >x", line + " 2>&1 | head -3", line + " --nothing", line + " $X", "cd sub && " + line, "cd /etc && " + line, line + " && rm a", "X=1 " + line, "time " + line}
			words := strings.Split(line, " ")
			for i := range words {
				variants = append(variants, strings.Join(append(append([]string{}, words[:i]...), words[i+1:]...), " "))
			}
			for _, v := range variants {
				tell(command.Command{Line: v, Dir: "/repo"}, place)
			}
			if !strings.ContainsAny(line, "'\"|&>;$\\") {
				tell(command.Command{Args: words, Dir: "/repo"}, place)
				tell(command.Command{Args: words, Dir: "/repo/sub"}, place)
				tell(command.Command{Args: words, Dir: "/etc"}, place)
			}
		}
	}
	const name = "testdata/scopes.txt"
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	wantLines, gotLines := strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")
	for i := range min(len(wantLines), len(gotLines)) {
		require.Equal(t, wantLines[i], gotLines[i])
	}
	require.Len(t, gotLines, len(wantLines))
}
