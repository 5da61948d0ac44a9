// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"path"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/command"
)

// call is a call in the form that rules are matched against.
type call struct {
	tool, source string
	roots        []string
	writes       []string // paths with slashes, which end with one if all below is meant
	reads        []string
	hosts        []string
	programs     []model.Effect // that run, or whose effects are unknown
	other        bool           // it does more than to read and write files and to reach hosts
	command      *toolset.CommandLine
	scopes       []string // the named scopes of the command, all of which it needs
	words        *commandWords
}

func describe(r *toolset.ApprovalRequest, roots []string) *call {
	c := &call{tool: r.Tool, source: r.Approval.Source, roots: roots}
	root := ""
	if len(roots) > 0 {
		root = roots[0]
	}
	for _, e := range effectsOf(&r.Approval, root) {
		switch e.Kind {
		case model.EffectRead:
			c.reads = append(c.reads, c.placed(e.Path))
		case model.EffectWrite:
			c.writes = append(c.writes, c.placed(e.Path))
		case model.EffectHost:
			c.hosts = append(c.hosts, strings.ToLower(e.Host))
		case model.EffectRun, model.EffectUnknown:
			c.programs = append(c.programs, e)
			c.other = true
		default:
			c.other = true
		}
	}
	for i := range r.Approval.Preview {
		if p := &r.Approval.Preview[i]; p.Command != nil && c.command == nil {
			c.command, c.other = p.Command, true
		}
	}
	if c.scopes = r.Approval.Parts; len(c.scopes) == 0 && r.Approval.Scope != "" {
		c.scopes = []string{r.Approval.Scope}
	}
	return c
}

// placed is a path of an effect in the form of rules.
func (c *call) placed(name string) string {
	clean := slashed(name)
	if !isAbsolute(clean) && len(c.roots) > 0 {
		clean = path.Join(slashed(c.roots[0]), clean)
	}
	if strings.HasSuffix(name, "/") && !strings.HasSuffix(clean, "/") {
		clean += "/"
	}
	return clean
}

// slashed is a path with slashes, without "." and "..".
func slashed(name string) string {
	if isWindows(name) {
		name = strings.ReplaceAll(name, `\`, "/")
	}
	return path.Clean(name)
}

func isWindows(name string) bool {
	return strings.HasPrefix(name, `\\`) || len(name) > 2 && name[1] == ':' && (name[2] == '\\' || name[2] == '/')
}

// fit is how well a rule matches a call.
type fit int

const (
	no fit = iota
	perhaps
	yes
)

// forbids matches a rule that denies or asks with a call.
func (r *compiled) forbids(c *call) fit {
	if !r.ofTool(c) {
		return no
	}
	fits := yes
	for _, f := range []struct {
		is  bool
		fit func(*call) fit
	}{
		{r.Path != "", func(c *call) fit { return r.forbidsPath(c, r.Path, c.writes, true) }},
		{r.Read != "", func(c *call) fit { return r.forbidsPath(c, r.Read, c.reads, true) }},
		{r.Host != "", r.forbidsHost},
		{r.Command != "", r.forbidsCommand},
	} {
		if f.is {
			fits = min(fits, f.fit(c))
		}
	}
	return fits
}

// ofTool reports whether a call is one of the tool and the server of a rule, if it names them.
func (r *compiled) ofTool(c *call) bool {
	return (r.Tool == "" || wildcard(r.Tool, c.tool)) && (r.Server == "" || c.ofServer(r.Server))
}

func (c *call) ofServer(pattern string) bool {
	name, ok := strings.CutPrefix(c.source, "mcp:")
	return ok && wildcard(pattern, name)
}

// forbidsPath compares paths, in any case. A directory may contain a file that the pattern is
// about. A command may change or read the files that its words name.
func (r *compiled) forbidsPath(c *call, pattern string, paths []string, named bool) fit {
	pattern = strings.ToLower(pattern)
	for _, p := range paths {
		p = strings.TrimSuffix(strings.ToLower(p), "/")
		if fitsPath(c, pattern, p, strings.ToLower) {
			return yes
		}
	}
	for _, p := range paths {
		if p = strings.ToLower(p); contains(c, pattern, p) {
			return perhaps
		}
	}
	if !named {
		return no
	}
	for _, e := range c.programs {
		if e.Kind != model.EffectUnknown {
			continue
		}
		for _, name := range command.Named(e) {
			name = strings.ToLower(c.placed(name))
			if relatives(c, pattern, name, strings.ToLower, expands) {
				return perhaps
			}
		}
	}
	return no
}

func (r *compiled) forbidsHost(c *call) fit {
	if slices.ContainsFunc(c.hosts, func(h string) bool { return hostFits(r.Host, h) }) {
		return yes
	}
	return no
}

// hostFits compares a host with a pattern, in which a leading "*." matches the host itself and all
// below it.
func hostFits(pattern, host string) bool {
	pattern, host = strings.ToLower(strings.TrimSuffix(pattern, ".")), strings.TrimSuffix(host, ".")
	if below, ok := strings.CutPrefix(pattern, "*."); ok {
		return host == below || strings.HasSuffix(host, "."+below)
	}
	return pattern == host || pattern == "*"
}

// allowed returns the ruling of the rules that allow. A command that consists of several may be
// allowed by several rules.
func (t *table) allowed(call *call) Ruling {
	var rules []string
	open := slices.Clone(call.scopes)
	for i := range t.rules {
		r := &t.rules[i]
		if r.Decision != toolset.VerdictAllow || !r.ofTool(call) {
			continue
		}
		if r.allows(call) {
			return Ruling{Verdict: toolset.VerdictAllow, Rule: r.String()}
		}
		if r.Command == "" || call.command == nil {
			continue
		}
		if i := slices.Index(open, strings.Join(strings.Fields(r.Command), " ")); i >= 0 {
			open = slices.Delete(open, i, i+1)
			rules = append(rules, r.String())
		}
	}
	if call.command != nil && len(call.scopes) > 0 && len(open) == 0 {
		return Ruling{Verdict: toolset.VerdictAllow, Rule: strings.Join(rules, ", ")}
	}
	return Ruling{}
}

// allows reports whether a rule alone allows all that a call does.
func (r *compiled) allows(c *call) bool {
	all := func(pattern string, paths []string) bool {
		return len(paths) > 0 && !slices.ContainsFunc(paths, func(p string) bool {
			return strings.HasSuffix(p, "/") || !fitsPath(c, pattern, p, same)
		})
	}
	switch {
	case r.Command != "":
		return c.command != nil && r.isExactly(c)
	case r.Path != "":
		return !c.other && len(c.hosts) == 0 && all(r.Path, c.writes) &&
			(len(c.reads) == 0 || all(r.Path, c.reads))
	case r.Read != "":
		return !c.other && len(c.hosts)+len(c.writes) == 0 && all(r.Read, c.reads)
	case r.Host != "":
		return !c.other && len(c.reads)+len(c.writes) == 0 && len(c.hosts) > 0 &&
			!slices.ContainsFunc(c.hosts, func(h string) bool { return !hostFits(r.Host, h) })
	}
	return true
}

// isExactly reports whether a command is exactly the rule's, in one of the session's directories
// itself or in the directory of the rule, with nothing added to its environment.
func (r *compiled) isExactly(c *call) bool {
	if len(c.command.Env) > 0 || !c.isIn(r.Dir) {
		return false
	}
	if c.command.Line != "" {
		return c.command.Line == r.Command
	}
	return show.Command(c.command.Args) == r.Command
}

// isIn reports whether a command runs where an exact rule holds. One without a directory runs in
// the session's.
func (c *call) isIn(pattern string) bool {
	dir := c.command.Dir
	if pattern != "" {
		return dir != "" && fitsPath(c, pattern, c.placed(dir), same)
	}
	return dir == "" || slices.ContainsFunc(c.roots, func(root string) bool {
		return slashed(root) == slashed(dir)
	})
}

func same(s string) string { return s }

// fitsPath reports whether a path fits a pattern. fold makes upper and lower case the same, or
// leaves them.
func fitsPath(c *call, pattern, name string, fold func(string) string) bool {
	return relatives(c, pattern, name, fold, glob)
}

// relatives applies a comparison to a pattern and a path, in whichever of the session's directories
// it lies.
func relatives(
	c *call, pattern, name string,
	fold func(string) string, compare func(pattern, name []string) bool,
) bool {
	if isAbsolute(pattern) {
		return compare(strings.Split(pattern, "/"), strings.Split(name, "/"))
	}
	return slices.ContainsFunc(c.roots, func(root string) bool {
		prefix := strings.TrimSuffix(fold(slashed(root)), "/") + "/"
		rel, ok := strings.CutPrefix(name, prefix)
		return ok && compare(strings.Split(pattern, "/"), strings.Split(rel, "/"))
	})
}

// contains reports whether a directory may contain what a pattern is about. A path that ends with a
// slash is a directory with all below it. Any other path may be one, if the pattern names files
// below it without "**".
func contains(c *call, pattern, name string) bool {
	dir, all := strings.CutSuffix(name, "/")
	root := slices.ContainsFunc(c.roots, func(root string) bool {
		return strings.ToLower(slashed(root)) == dir
	})
	if root && !isAbsolute(pattern) {
		return all
	}
	return relatives(c, pattern, dir, strings.ToLower, func(pattern, name []string) bool {
		if !all {
			if i := slices.Index(pattern, "**"); i >= 0 {
				pattern = append(slices.Clone(pattern[:i]), "*")
			}
		}
		return globbed(pattern, name, true, matches)
	})
}

// expands reports whether a path, in which a shell may find a glob, may become one that fits a
// pattern.
func expands(pattern, name []string) bool {
	if !slices.ContainsFunc(name, hasGlob) {
		return glob(pattern, name)
	}
	return globbed(pattern, name, false, func(p, n string) bool {
		if !hasGlob(n) {
			return matches(p, n)
		}
		if strings.HasPrefix(p, ".") && !strings.HasPrefix(n, ".") { // which no glob matches
			return false
		}
		ok, err := path.Match(n, p)
		return ok || err != nil || hasGlob(p)
	})
}

func hasGlob(name string) bool { return strings.ContainsAny(name, "*?[") }

// glob compares a path with a pattern, element by element. "**" at the end matches at least one
// element.
func glob(pattern, name []string) bool { return globbed(pattern, name, false, matches) }

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// globbed is glob with a way to compare elements. With below set, it reports whether something
// below the path could fit.
func globbed(pattern, name []string, below bool, match func(pattern, name string) bool) bool {
	// fits[i] is set if the pattern so far matches the first i elements.
	fits := make([]bool, len(name)+1)
	fits[0] = true
	for n, p := range pattern {
		if below && fits[len(name)] {
			return true
		}
		next := make([]bool, len(fits))
		for i := range fits {
			switch {
			case p == "**":
				next[i] = fits[i] && (below || n < len(pattern)-1) || i > 0 && (next[i-1] || fits[i-1])
			case i > 0 && fits[i-1]:
				next[i] = match(p, name[i-1])
			}
		}
		fits = next
	}
	return fits[len(name)] && !below
}

// wildcard compares a name with a pattern in which "*" matches any characters.
func wildcard(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	for _, middle := range parts[1 : len(parts)-1] {
		_, rest, found := strings.Cut(name, middle)
		if !found {
			return false
		}
		name = rest
	}
	return strings.HasSuffix(name, parts[len(parts)-1])
}
