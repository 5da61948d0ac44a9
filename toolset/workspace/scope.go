// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"strings"

	"github.com/ponte-go/ponte/toolset"
)

// ScopeFunc says what an "always" decision about a call covers. It fills in Scope, ScopeTitle and Covers of an approval that is complete
// otherwise: its Preview has the file or the command. tool is the name by which the tool was defined.
type ScopeFunc func(w Workspace, tool string, a *toolset.Approval)

// ExactScope makes "always" cover the same file, or exactly the same command in the same directory. A rule about a directory covers the
// files below it.
func ExactScope(w Workspace, _ string, a *toolset.Approval) {
	for _, p := range a.Preview {
		switch {
		case p.Diff != nil:
			style := StyleOf(w.Roots()[0])
			a.Scope = style.Fold(p.Diff.Path)
			a.ScopeTitle = "changes to " + shortPath(w, p.Diff.Path)
			for dir := style.Parent(p.Diff.Path); ; dir = style.Parent(dir) {
				a.Covers = append(a.Covers, style.Fold(dir))
				if dir == style.Parent(dir) {
					break
				}
			}
		case p.Command != nil:
			line := commandTitle(Command{Line: p.Command.Line, Args: p.Command.Args})
			if len(p.Command.Env) > 0 {
				line = strings.Join(quoteAll(p.Command.Env), " ") + " " + line
			}
			a.Scope = "exactly: " + line + "\nin: " + p.Command.Dir
			a.ScopeTitle = "exactly this command"
			if len(line) <= 60 && !strings.ContainsAny(line, "`\n") {
				a.ScopeTitle = "exactly `" + line + "`"
			}
		}
	}
}
