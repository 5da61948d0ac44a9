// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/show"
)

// Command is a command that would run. Line is for a POSIX shell, or for cmd.exe on Windows. Dir is
// absolute.
type Command = model.CommandLine

// Place is where named scopes hold.
type Place struct {
	// Roots are the session's directories, absolute and clean. The first is the working directory.
	Roots []string
	// Inside reports whether a path, which is absolute and clean, lies in one of Roots when symbolic links are followed. Nil
	// follows the links of this machine.
	Inside func(path string) bool
	// Windows is set if commands run on Windows, where every scope is exact.
	Windows bool
}

// Scope describes the commands that "always" covers. Its fields are those of [toolset.Approval]
// with the same names.
type Scope struct {
	// Scope identifies the rule. Commands with equal scopes are covered by the same rule.
	Scope string
	// Title names the scope to people, as in "Always allow …".
	Title string
	// Parts has the scopes of the commands that a line consists of, if there is more than one and all are named.
	Parts []string
	// Covers has the exact scope, if Scope is a named one.
	Covers []string
}

// ScopeOf returns the scope of a command. It never fails: what it does not understand has an exact scope.
func ScopeOf(c Command, p Place) Scope {
	exact := exactScope(&c)
	names, onFiles := namedScopes(&c, &p)
	switch len(names) {
	case 0:
		return Scope{Scope: exact, Title: exactTitle(&c, &p)}
	case 1:
		return Scope{Scope: names[0], Title: titleOf(names, onFiles), Covers: []string{exact}}
	}
	return Scope{Scope: exact, Title: titleOf(names, onFiles), Parts: names}
}

// exactScope identifies the command. Quoting makes it unambiguous.
func exactScope(c *Command) string {
	var b strings.Builder
	b.WriteString("exactly ")
	if c.Line != "" {
		fmt.Fprintf(&b, "sh %q", c.Line)
	} else {
		fmt.Fprintf(&b, "%q", c.Args)
	}
	fmt.Fprintf(&b, " in %q", c.Dir)
	if len(c.Env) > 0 {
		fmt.Fprintf(&b, " with %q", c.Env)
	}
	if c.Sandbox != "" {
		fmt.Fprintf(&b, " sandbox %q", c.Sandbox)
	}
	return b.String()
}

// maxTitle bounds the length of a command that is part of an option's title, in bytes.
const maxTitle = 60

// exactTitle shows the command if it is short and shows itself as it is.
func exactTitle(c *Command, p *Place) string {
	shown := c.Line
	if shown == "" {
		shown = Quote(c.Args)
	}
	for _, v := range slices.Backward(c.Env) {
		name, value, _ := strings.Cut(v, "=")
		shown = name + "=" + show.Word(value) + " " + shown
	}
	if len(shown) > maxTitle || strings.Contains(shown, "`") || !show.Plain(shown) {
		return "exactly this command" + outsideTitle(c)
	}
	title := "exactly `" + shown + "`"
	if len(p.Roots) > 0 && c.Dir != p.Roots[0] {
		dir := c.Dir
		if rel, err := filepath.Rel(p.Roots[0], c.Dir); err == nil && filepath.IsLocal(rel) {
			dir = rel
		}
		if len(dir) > maxTitle || !show.Plain(dir) {
			return "exactly this command" + outsideTitle(c)
		}
		title += " in " + dir
	}
	return title + outsideTitle(c)
}

// outsideTitle names what a command has beyond the sandbox.
func outsideTitle(c *Command) string {
	switch c.Sandbox {
	case "":
		return ""
	case model.SandboxNetwork:
		return " with the network"
	}
	return " outside of the sandbox"
}

// titleOf describes the commands that named scopes cover.
func titleOf(names []string, onFiles bool) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = "`" + n + "`"
	}
	list := quoted[0]
	if n := len(quoted); n > 1 {
		list = strings.Join(quoted[:n-1], ", ") + " and " + quoted[n-1]
	}
	if onFiles {
		return list + " (ordinary options, project files)"
	}
	return list + " (ordinary options)"
}

// namedScopes returns the named scopes of all commands that c runs, sorted; nil if one of them has
// none. onFiles is set if one of them may be about files.
func namedScopes(c *Command, p *Place) (names []string, onFiles bool) {
	if p.Windows || len(c.Env) > 0 || c.Sandbox != "" || !filepath.IsAbs(c.Dir) || (c.Line == "") == (len(c.Args) == 0) {
		return nil, false
	}
	steps, ok := steps(c)
	if !ok {
		return nil, false
	}
	dir := filepath.Clean(c.Dir)
	for _, s := range steps {
		if s.args[0] == "cd" && s.alone {
			if dir, ok = changeDir(dir, s.args); !ok || !p.inside(dir) {
				return nil, false
			}
			continue
		}
		m := matcher{place: p, dir: dir}
		if !p.inside(dir) {
			return nil, false
		}
		name, rule := m.match(s.args)
		if rule == nil || s.piped && rule.class != looks {
			return nil, false
		}
		names = append(names, name)
		onFiles = onFiles || slices.Contains([]string{"path", "package", "sed"}, rule.Operands)
	}
	slices.Sort(names)
	return slices.Compact(names), onFiles
}

// changeDir returns where cd leads to. It understands a path without ".." only, because that means another directory where a
// symbolic link is on the way.
func changeDir(dir string, args []string) (string, bool) {
	if len(args) != 2 || !safePath(args[1]) {
		return "", false
	}
	return absolute(dir, args[1]), true
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// inside reports whether an absolute path lies in the place.
func (p *Place) inside(path string) bool {
	if p.Inside != nil {
		return p.Inside(path)
	}
	real, ok := resolve(path)
	return ok && slices.ContainsFunc(p.Roots, func(root string) bool {
		root, ok := resolve(root)
		if !ok {
			return false
		}
		rel, err := filepath.Rel(root, real)
		return err == nil && filepath.IsLocal(rel)
	})
}

// resolve follows the symbolic links in the existing part of a path.
func resolve(path string) (string, bool) {
	real, err := filepath.EvalSymlinks(path)
	switch {
	case err == nil:
		return real, true
	case !os.IsNotExist(err):
		return "", false
	}
	if _, err := os.Lstat(path); err == nil { // a link to nothing
		return "", false
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path, true
	}
	if real, ok := resolve(parent); ok {
		return filepath.Join(real, filepath.Base(path)), true
	}
	return "", false
}

// isRoot reports whether a directory is one of the session's own.
func (p *Place) isRoot(dir string) bool { return slices.Contains(p.Roots, dir) }

// Quote writes arguments as a line for a POSIX shell, for people to read.
func Quote(args []string) string { return show.Command(args) }
