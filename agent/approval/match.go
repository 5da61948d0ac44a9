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
	tool, source  string
	roots         []string
	writes        []string // paths with slashes, which end with one if all below is meant
	reads         []string
	hosts         []string
	programs      []*model.Effect // that run, or whose effects are unknown
	other         bool            // it does more than to read and write files and to reach hosts
	command       *toolset.CommandLine
	sandboxed     bool     // a command runs in the sandbox
	scopes        []string // the named scopes of the command, all of which it needs
	covers, parts []string // what answers "always" are about: one of covers, or all parts
	words         *commandWords
	names         []string
	partial       []string // paths that are only known in part
	rooted        []string // roots as prefixes of paths, and the same in lower case
	folded        []string
}

func describe(r *toolset.ApprovalRequest, roots []string) *call {
	c := &call{tool: r.Tool, source: r.Approval.Source, roots: roots}
	root := ""
	if len(roots) > 0 {
		root = roots[0]
	}
	effects := requestEffects(r, root)
	for i := range effects {
		switch e := &effects[i]; e.Kind {
		case model.EffectRead:
			if e.Path == "" {
				continue // any file
			}
			c.reads = append(c.reads, c.placed(e.Path))
			c.note(c.reads[len(c.reads)-1])
		case model.EffectWrite:
			c.writes = append(c.writes, c.placed(e.Path))
			c.note(c.writes[len(c.writes)-1])
		case model.EffectHost:
			c.hosts = append(c.hosts, strings.ToLower(e.Host))
		case model.EffectSandbox:
			c.sandboxed, c.other = true, true
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
	c.scoped(&r.Approval)
	return c
}

// scoped notes the scopes of a call.
func (c *call) scoped(a *toolset.Approval) {
	if c.scopes = a.Parts; len(c.scopes) == 0 && a.Scope != "" {
		c.scopes = []string{a.Scope}
	}
	c.covers = append([]string{a.Scope}, a.Covers...)
	c.parts = a.Parts
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
	if r.answer != nil {
		if r.answers(c.covers) || r.answers(c.parts) {
			return yes
		}
		return no
	}
	fits := yes
	if r.Path != "" {
		fits = forbidsPath(c, r.foldedPath, c.writes)
	}
	if r.Read != "" {
		fits = min(fits, forbidsPath(c, r.foldedRead, c.reads))
	}
	if r.Host != "" {
		fits = min(fits, r.forbidsHost(c))
	}
	if r.Command != "" {
		fits = min(fits, r.forbidsCommand(c))
	}
	if r.Sandbox == SandboxOutside && (c.command == nil || c.sandboxed) {
		return no
	}
	return fits
}

// ofTool reports whether a call is one of the tool and the server of a rule, if it names them.
// Answers do not: [Policy.decide] has chosen those for the call's tool.
func (r *compiled) ofTool(c *call) bool {
	return (r.Tool == "" || wildcard(r.Tool, c.tool)) && (r.Server == "" || c.ofServer(r.Server))
}

func (c *call) ofServer(pattern string) bool {
	name, ok := strings.CutPrefix(c.source, "mcp:")
	return ok && wildcard(pattern, name)
}

// forbidsPath compares paths, in any case. A directory may contain a file that the pattern is
// about. A command may change or read the files that its words name.
func forbidsPath(c *call, p pattern, paths []string) fit {
	for _, name := range paths {
		if fitsPath(c, p, strings.TrimSuffix(folded(name), "/"), true) {
			return yes
		}
	}
	for _, name := range paths {
		if contains(c, p, folded(name)) {
			return perhaps
		}
	}
	for _, name := range c.named() {
		if relatives(c, p, name, true, expands) || contains(c, p, name) {
			return perhaps
		}
	}
	if c.mayBecome(p) {
		return perhaps
	}
	return no
}

// named returns the paths that words of unknown effects may name, folded.
func (c *call) named() []string {
	if c.names == nil {
		c.names = []string{}
		for _, e := range c.programs {
			if e.Kind != model.EffectUnknown {
				continue
			}
			for _, name := range command.Named(*e) {
				c.names = append(c.names, folded(c.placed(name)))
				c.note(c.names[len(c.names)-1])
			}
		}
	}
	return c.names
}

// allowed returns the ruling of the rules that allow. A command that consists of several may be
// allowed by several rules.
func (t *table) allowed(call *call) Ruling {
	var rules []string
	open, parts := slices.Clone(call.scopes), slices.Clone(call.parts)
	for i := range t.rules {
		r := &t.rules[i]
		if r.Decision != toolset.VerdictAllow || !r.ofTool(call) {
			continue
		}
		if r.allows(call) {
			return Ruling{Verdict: toolset.VerdictAllow, Rule: r.String()}
		}
		if r.answer != nil {
			parts = slices.DeleteFunc(parts, func(part string) bool { return part == r.answer.Scope })
			continue
		}
		if r.Command == "" || call.command == nil {
			continue
		}
		if i := slices.Index(open, strings.Join(strings.Fields(r.Command), " ")); i >= 0 {
			open = slices.Delete(open, i, i+1)
			rules = append(rules, r.String())
		}
	}
	if len(call.parts) > 0 && len(parts) == 0 {
		return Ruling{Verdict: toolset.VerdictAllow}
	}
	if rules, ok := t.inSandbox(call); ok {
		return Ruling{Verdict: toolset.VerdictAllow, Rule: rules}
	}
	if call.command != nil && len(call.scopes) > 0 && len(open) == 0 {
		return Ruling{Verdict: toolset.VerdictAllow, Rule: strings.Join(rules, ", ")}
	}
	return Ruling{}
}

// inSandbox reports whether rules allow a command because it runs in the sandbox: one for all
// commands in it, and, if it has the network, one for all hosts. A command that only names hosts
// does not reach them.
func (t *table) inSandbox(call *call) (rules string, ok bool) {
	if !call.sandboxed || call.command == nil {
		return "", false
	}
	network := call.command.Sandbox == model.SandboxNetwork
	for i := range t.rules {
		r := &t.rules[i]
		if r.Decision != toolset.VerdictAllow || !r.ofTool(call) {
			continue
		}
		if r.Sandbox == SandboxInside {
			rules, ok = r.String(), true
		} else if r.Host == "*" {
			network = false
		}
	}
	return rules, ok && !network
}

// allows reports whether a rule alone allows all that a call does.
func (r *compiled) allows(c *call) bool {
	all := func(p pattern, paths []string) bool {
		return len(paths) > 0 && !slices.ContainsFunc(paths, func(name string) bool {
			return strings.HasSuffix(name, "/") || !fitsPath(c, p, name, false)
		})
	}
	switch {
	case r.answer != nil:
		return r.answers(c.covers)
	case r.Command != "":
		return c.command != nil && r.isExactly(c)
	case r.Path != "":
		return !c.other && len(c.hosts) == 0 && all(r.path, c.writes) &&
			(len(c.reads) == 0 || all(r.path, c.reads))
	case r.Read != "":
		return !c.other && len(c.hosts)+len(c.writes) == 0 && all(r.readPath, c.reads)
	case r.Sandbox != "":
		return false // see allowed
	case r.Host != "":
		return !c.other && len(c.reads)+len(c.writes) == 0 && len(c.hosts) > 0 &&
			!slices.ContainsFunc(c.hosts, func(h string) bool { return !hostFits(r.Host, h) })
	}
	return true
}

// answers reports whether an answer "always" is about one of these scopes. The empty scope is about
// all.
func (r *compiled) answers(scopes []string) bool {
	return len(scopes) > 0 && (r.answer.Scope == "" || slices.Contains(scopes, r.answer.Scope))
}

// isExactly reports whether a command is exactly the rule's, in one of the session's directories
// itself or in the directory of the rule, with nothing added to its environment.
func (r *compiled) isExactly(c *call) bool {
	if len(c.command.Env) > 0 || !c.isIn(r) {
		return false
	}
	if c.command.Line != "" {
		return c.command.Line == r.Command
	}
	return show.Command(c.command.Args) == r.Command
}

// isIn reports whether a command runs where an exact rule holds. One without a directory runs in
// the session's.
func (c *call) isIn(r *compiled) bool {
	dir := c.command.Dir
	if r.Dir != "" {
		return dir != "" && fitsPath(c, r.dir, c.placed(dir), false)
	}
	return dir == "" || slices.ContainsFunc(c.roots, func(root string) bool {
		return slashed(root) == slashed(dir)
	})
}
