// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"errors"
	"io/fs"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/command"
)

// ScopeFunc determines the scope of an "always" decision about a call. It fills in Scope,
// ScopeTitle, Covers and Parts of an approval that is complete otherwise: its Preview has the file
// or the command. tool is the name by which the tool was defined.
type ScopeFunc func(ctx context.Context, w Workspace, tool string, a *toolset.Approval)

// DefaultScope makes "always" cover changes to the same file, by whichever name ([Follower]), and
// of a command what package command says. A rule about a directory covers the files below it, and
// not those that links below it lead to.
func DefaultScope(ctx context.Context, w Workspace, _ string, a *toolset.Approval) {
	style := StyleOf(w.Roots()[0])
	for _, p := range a.Preview {
		switch {
		case p.Diff != nil:
			file := Follow(ctx, w, p.Diff.Path)
			a.Scope = style.Fold(file)
			a.ScopeTitle = "changes to " + printable(shortPath(w, file))
			for dir := style.Parent(file); ; dir = style.Parent(dir) {
				a.Covers = append(a.Covers, style.Fold(dir))
				if dir == style.Parent(dir) {
					break
				}
			}
		case p.Command != nil:
			place := command.Place{Roots: w.Roots(), Windows: style == Windows}
			if r, ok := w.(Resolver); ok {
				place.Inside = func(path string) bool { return r.Resolve(ctx, path) == nil }
			} else if w.Features().Read {
				place.Inside = func(path string) bool {
					_, err := w.Stat(ctx, path)
					return err == nil || errors.Is(err, fs.ErrNotExist)
				}
			}
			c := *p.Command
			if c.Dir != "" { // a link may lead elsewhere by the next time
				c.Dir = Follow(ctx, w, c.Dir)
			}
			s := command.ScopeOf(c, place)
			a.Scope, a.ScopeTitle, a.Covers, a.Parts = s.Scope, s.Title, s.Covers, s.Parts
		}
	}
}
