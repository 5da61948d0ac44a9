// SPDX-License-Identifier: Apache-2.0

package permissiontest_test

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/toolset"
)

//go:embed testdata/later.txt
var laterLines string

// laterTable returns the lines of the table that are asked about, and those that are not.
func laterTable(t require.TestingT) (asked, quiet []string) {
	before, after, ok := strings.Cut(laterLines, "\n----\n")
	require.True(t, ok)
	lines := func(text string) (all []string) {
		for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
			if !strings.HasPrefix(line, "#") {
				all = append(all, line)
			}
		}
		return all
	}
	return lines(before), lines(after)
}

// unnamed makes commands that write what other programs obey, without naming it, or in the words of
// other commands.
func unnamed(s *suite) {
	asked, _ := laterTable(s)
	for _, loose := range []func(*world){
		func(w *world) { w.configure(rules("auto")) },
		func(w *world) { w.configure(rules("ask", `{"decision":"allow","tool":"*"}`)) },
		func(w *world) { w.policy.Remember("run_command", "", toolset.VerdictAllow) },
	} {
		w := memory(s, map[string]string{"f": "x", "sub/f": "x"})
		loose(w)
		for _, line := range asked {
			w.run(line)
			s.attack(len(w.asked) > 0, "%q", line)
			if len(w.asked) > 0 {
				s.attack(w.asked[0].Approval.Once, "%q may be allowed always", line)
			}
		}
	}
	// Names of one file on some file systems.
	w := memory(s, nil).configure(rules("auto"))
	for _, p := range approval.ProtectedPaths() {
		name := strings.ReplaceAll(p.Name, "*", "x")
		last := name[strings.LastIndexByte(name, '/')+1:]
		for _, other := range []string{strings.ToUpper(name), name + ".", "sub/./" + name, "sub/../" + name, name + "//"} {
			w.write(other, "evil")
			s.attack(len(w.asked) > 0, "write_file %q", other)
		}
		if strings.Contains(p.Name, "*") || len(last) < 3 {
			continue
		}
		for _, pattern := range []string{last[:len(last)-1] + "*", last[:len(last)-1] + "?", last[:2] + "[" + last[2:3] + "]" + last[3:]} {
			line := "cp f " + strings.TrimSuffix(name, last) + pattern
			w.run(line)
			s.attack(len(w.asked) > 0, "%q", line)
		}
	}
	for short, long := range map[string]string{
		"GIT~1/config": ".git", "GIT~4": ".git", "VSCODE~1/tasks.json": ".vscode", "HUSKY~1": ".husky", "ENVRC~1": ".envrc", "MCP~1.JSO": ".mcp.json", "BASHRC~1": ".bashrc", "GITMOD~1": ".gitmodules",
		"PRE-CO~1.YAM": ".pre-commit-config.yaml", "GITHUB~1/workflows": ".github", "CONFIG~1/git": ".config", "NPMRC~1": ".npmrc", "JENKIN~1": "Jenkinsfile", "LEFTHO~1.YAM": "lefthook.yaml", "CLAUDE~1.JSO": ".claude.json", "SSH~12": ".ssh",
	} {
		w.write(short, "evil")
		s.attack(len(w.asked) > 0 && w.asked[0].Approval.Once, "%q is %q", short, long)
	}
}

// TestOrdinaryCommandsAreNotAskedAboutForProtectedPaths is the other side of the attacks.
func TestOrdinaryCommandsAreNotAskedAboutForProtectedPaths(t *testing.T) {
	_, quiet := laterTable(t)
	w := memory(t, map[string]string{"f": "x", "sub/f": "x"}).configure(rules("auto"))
	for _, line := range quiet {
		w.run(line)
		if len(w.asked) > 0 {
			t.Errorf("%q: %v", line, w.asked[0].Approval.Preview)
		}
	}
}
