// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/toolset"
)

// Config is a configuration for calls that need approval, such as a user's. [ParseConfig] reads its
// JSON form:
//
//	{
//		"mode": "ask",
//		"rules": [
//			{"decision": "deny", "read": "**/.env", "reason": "it has secrets"},
//			{"decision": "allow", "tool": "write_file", "path": "docs/**"},
//			{"decision": "ask", "command": "git push"},
//			{"decision": "allow", "command": "go test"}
//		]
//	}
type Config struct {
	// Name names the layer, and says in reasons whose configuration it is. Empty is "configuration"
	// and "the user's configuration". It is not a part of the JSON form.
	Name string `json:"-"`
	// Mode decides about calls that no rule matches.
	Mode Mode `json:"mode,omitempty"`
	// Rules are about what calls do. Their order does not matter.
	Rules []ConfigRule `json:"rules,omitempty"`
}

// Mode decides about calls that no rule of a [Config] matches.
type Mode string

const (
	// ModeAsk leaves them to the session's memory and the person. The empty mode is the same.
	ModeAsk Mode = "ask"
	// ModeReadOnly denies them as [ReadOnly] does.
	ModeReadOnly Mode = "read-only"
	// ModeAuto allows them.
	ModeAuto Mode = "auto"
)

// ConfigRule is a rule of a [Config]. It matches a call if all that is set of Tool, Server, and one
// of Path, Read, Command and Host matches what the call does ([toolset.Approval].Effects, or its
// previews). At least one must be set. If several rules match a call, deny wins over ask, and ask
// over allow. A rule that denies or asks, and that a call might fit, asks.
type ConfigRule struct {
	// Decision is "allow", "deny" or "ask". With "ask" the user is asked every time.
	Decision toolset.Verdict `json:"decision"`
	// Tool is a tool's name, in which "*" matches any characters.
	Tool string `json:"tool,omitempty"`
	// Server is the name of an MCP server whose tool is called, in which "*" matches any
	// characters.
	Server string `json:"server,omitempty"`
	// Path matches the files that a call would change. It is a pattern: "*" and "?" match
	// characters within a name, and "**" any number of directories. A pattern without a leading
	// slash is relative to each of the session's directories. To allow a call, a pattern must match
	// all its files, with the same case. To deny it or to ask, one file is enough, and case does
	// not matter.
	Path string `json:"path,omitempty"`
	// Read is Path for the files that a call would read. Calls that need no approval do not come
	// before a layer: see [Config.Reads].
	Read string `json:"read,omitempty"`
	// Command matches the command that a call would run. A rule that allows covers the named scope
	// of that name (see package toolset/command), or exactly this command, in one of the session's
	// directories itself, with nothing added to the environment. A rule that denies or asks matches
	// any command that contains its words in their order, with or without others between them. With
	// "|" between them, pipes must join the programs. That guards against mistakes. It is not a
	// sandbox, because a program can run another one under any name. If the shell would compute a
	// part of a command, such as a variable, the user is asked.
	Command string `json:"command,omitempty"`
	// Dir is the directory in which a Command that is allowed exactly may run, as a pattern like
	// Path. Empty is the session's directories themselves. A directory below them may be a cloned
	// repository.
	Dir string `json:"dir,omitempty"`
	// Host matches a host that a call would reach: a name, or an address in any of its forms. A
	// leading "*." matches the host and all below it.
	Host string `json:"host,omitempty"`
	// Sandbox is where a command runs: [SandboxInside] or [SandboxOutside]. Inside can be allowed,
	// which covers every command in the session's sandbox; with the network, a rule must allow
	// Host "*" too. Outside can be denied or asked about.
	Sandbox string `json:"sandbox,omitempty"`
	// Reason is sent to the model with a denial.
	Reason string `json:"reason,omitempty"`
}

// Values of [ConfigRule].Sandbox. Without a sandbox, every command runs outside.
const (
	SandboxInside  = "inside"
	SandboxOutside = "outside"
)

// String describes the rule in a few words.
func (r ConfigRule) String() string {
	text := string(r.Decision)
	for _, f := range [][2]string{
		{"tool", r.Tool}, {"server", r.Server}, {"path", r.Path}, {"read", r.Read},
		{"command", r.Command}, {"dir", r.Dir}, {"host", r.Host}, {"sandbox", r.Sandbox},
	} {
		if f[1] != "" {
			text += fmt.Sprintf(" %s %q", f[0], f[1])
		}
	}
	return text
}

// check returns what is wrong with the values.
func (c *Config) check() error {
	var errs []error
	bad := func(field, format string, args ...any) {
		errs = append(errs, &ConfigError{Field: field, Problem: fmt.Sprintf(format, args...)})
	}
	switch c.Mode {
	case "", ModeAsk, ModeReadOnly, ModeAuto:
	default:
		bad("mode", "unknown mode %q; use ask, read-only or auto", c.Mode)
	}
	for i, r := range c.Rules {
		where := fmt.Sprintf("rules[%d]", i)
		switch r.Decision {
		case toolset.VerdictAllow, toolset.VerdictDeny, VerdictAsk:
		default:
			bad(where+".decision", "unknown decision %q; use allow, deny or ask", r.Decision)
		}
		subjects := 0
		for _, subject := range []string{r.Path, r.Read, r.Command, r.Host, r.Sandbox} {
			if subject != "" {
				subjects++
			}
		}
		switch {
		case r.Tool == "" && r.Server == "" && subjects == 0:
			bad(where, "matches nothing; "+
				"set tool, server, path, read, command, host or sandbox, or use mode for all calls")
		case subjects > 1:
			bad(where, "has several of path, read, command, host and sandbox, "+
				"which no call has to have all; make a rule of each")
		case r.Server != "" && subjects > 0:
			bad(where, "has a server and more than a tool of it; what servers do is not known")
		}
		r.checkCommand(where, bad)
		r.checkSandbox(where, bad)
		for _, p := range [][2]string{{"path", r.Path}, {"read", r.Read}, {"dir", r.Dir}} {
			checkPattern(p[1], where+"."+p[0], bad)
		}
		wild := r.Host != "*" && strings.Contains(strings.TrimPrefix(r.Host, "*."), "*")
		if wild || strings.ContainsAny(r.Host, "/: ") && address(r.Host) == "" {
			bad(where+".host", "%q is not a host; "+
				"use a name such as example.com, or *.example.com", r.Host)
		}
	}
	return errors.Join(errs...)
}

// checkCommand finds commands that no call has.
func (r *ConfigRule) checkCommand(where string, bad func(field, format string, args ...any)) {
	switch {
	case r.Dir != "" && (r.Command == "" || r.Decision != toolset.VerdictAllow):
		bad(where+".dir", "is for commands that are allowed; "+
			"leave it out: a rule that denies or asks holds in every directory")
	case r.Command == "":
	case len(strings.Fields(r.Command)) == 0:
		bad(where+".command", "is blank")
	case strings.HasSuffix(r.Command, ":*"):
		bad(where+".command", "%q is the form of another program; write %q",
			r.Command, strings.TrimSuffix(r.Command, ":*"))
	default:
		if c, err := r.compile(); err != nil {
			bad(where+".command", "%q never matches: %v", r.Command, err)
		} else if r.Decision != toolset.VerdictAllow && len(c.stages) == 0 {
			bad(where+".command", "%q never matches: it has no words", r.Command)
		}
	}
}

// checkSandbox refuses rules about the sandbox that mean nothing.
func (r *ConfigRule) checkSandbox(where string, bad func(field, format string, args ...any)) {
	where += ".sandbox"
	switch {
	case r.Sandbox == "":
	case r.Sandbox != SandboxInside && r.Sandbox != SandboxOutside:
		bad(where, "unknown value %q; use inside or outside", r.Sandbox)
	case r.Sandbox == SandboxOutside && r.Decision == toolset.VerdictAllow:
		bad(where, "would allow every command to do anything; allow each with command")
	case r.Sandbox == SandboxInside && r.Decision != toolset.VerdictAllow:
		bad(where, "commands in the sandbox are what is safest; deny or ask about outside")
	}
}

func checkPattern(pattern, field string, bad func(field, format string, args ...any)) {
	_, err := path.Match(strings.ReplaceAll(pattern, "**", "*"), "")
	if err != nil || strings.ContainsAny(pattern, `[]\`) {
		bad(field, "%q is not a pattern; "+
			"use names, *, ? and **, with slashes between them", pattern)
	}
	elements := strings.Split(pattern, "/")
	switch {
	case slices.Contains(elements, ".."):
		bad(field, "%q must not have \"..\"; write the path that is meant", pattern)
	case pattern == "/" || pattern == ".":
		bad(field, "%q never matches; use %q", pattern, strings.TrimPrefix(pattern, ".")+"**")
	case strings.HasPrefix(pattern, "~"):
		bad(field, "%q never matches: ~ has no meaning here; write the whole path", pattern)
	case slices.Contains(elements, "."):
		named := slices.DeleteFunc(elements, func(e string) bool { return e == "." })
		bad(field, "%q never matches; write %q", pattern, strings.Join(named, "/"))
	case strings.HasSuffix(pattern, "/"):
		bad(field, "%q never matches; use %q for all files below it", pattern, pattern+"**")
	}
	for _, name := range elements {
		if strings.Contains(name, "**") && name != "**" {
			bad(field, "\"**\" in %q must stand alone between slashes", pattern)
			break
		}
	}
}

// table is a configuration that has been checked.
type table struct {
	name  string
	mode  Mode
	rules []compiled
	roots []string
}

func (c *Config) table(roots []string) (*table, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	t := &table{name: c.Name, mode: c.Mode, roots: slices.Clone(roots)}
	for i := range c.Rules {
		r, err := c.Rules[i].compile()
		if err != nil {
			return nil, err // check has found it
		}
		t.rules = append(t.rules, r)
	}
	return t, nil
}

// Layer returns the configuration as a layer. Roots are the session's directories, to which
// patterns of paths are relative. It returns an error if the configuration is invalid.
func (c *Config) Layer(roots ...string) (Layer, error) {
	t, err := c.table(roots)
	if err != nil {
		return Layer{}, err
	}
	return Layer{Name: cmp.Or(c.Name, "configuration"), Decide: t.decide, Rules: c.listed}, nil
}

// listed returns the rules for people.
func (c *Config) listed() (all []LayerRule) {
	for i := range c.Rules {
		all = append(all, LayerRule{Text: c.Rules[i].String()})
	}
	if c.Mode != "" && c.Mode != ModeAsk {
		all = append(all, LayerRule{Text: "mode " + string(c.Mode)})
	}
	return all
}

// Reads returns what the rules about reading say of a file, by its absolute path, for tools that
// need no approval for that: see GuardReads in package workspace. The verdict is
// [toolset.VerdictDeny] with the reason of the rule, [VerdictAsk], or empty if no rule is about the
// file. Rules that are about a tool as well are left out. Reads returns an error if the
// configuration is invalid.
func (c *Config) Reads(
	roots ...string,
) (func(path string) (verdict toolset.Verdict, reason string), error) {
	t, err := c.table(roots)
	if err != nil {
		return nil, err
	}
	return func(path string) (verdict toolset.Verdict, reason string) {
		call := &call{roots: t.roots, reads: []string{slashed(path)}}
		for i := range t.rules {
			r := &t.rules[i]
			if r.Read == "" || r.Tool != "" || r.Decision == toolset.VerdictAllow {
				continue
			}
			if strictness(r.Decision) > strictness(verdict) && r.forbids(call) == yes {
				verdict, reason = r.Decision, r.Reason
			}
		}
		return verdict, reason
	}, nil
}

func (t *table) decide(ctx context.Context, r *toolset.ApprovalRequest) (Ruling, error) {
	call := describe(r, t.roots)
	ruling, doubt := t.ruling(call)
	if doubt && t.mode == ModeReadOnly && t.allowed(call).Verdict == "" {
		ruling = Ruling{} // what is denied anyway is not asked about
	}
	if ruling.Verdict != "" {
		if ruling.Verdict == toolset.VerdictDeny && ruling.Reason != "" {
			whose := cmp.Or(t.name, "the user's configuration")
			ruling.Reason = "Not permitted by " + whose + ": " + ruling.Reason
		}
		return ruling, nil
	}
	switch t.mode {
	case ModeReadOnly:
		ruling, err := ReadOnly().Decide(ctx, r)
		ruling.Rule = "mode read-only"
		return ruling, err
	case ModeAuto:
		return Ruling{Verdict: toolset.VerdictAllow, Rule: "mode auto"}, nil
	}
	return Ruling{}, nil
}

// ruling returns what the rules say: the strictest that is about the call, or that might be, or
// else those that allow it. doubt is set if it only might be.
func (t *table) ruling(call *call) (best Ruling, doubt bool) {
	for i := range t.rules {
		r := &t.rules[i]
		stricter := doubt || strictness(r.Decision) > strictness(best.Verdict)
		if r.Decision == toolset.VerdictAllow || !stricter {
			continue
		}
		switch r.forbids(call) {
		case yes:
			best, doubt = Ruling{Verdict: r.Decision, Rule: r.String(), Reason: r.Reason}, false
		case perhaps:
			if best.Verdict == "" {
				rule := r.String() + ", which the command may hide"
				best, doubt = Ruling{Verdict: VerdictAsk, Rule: rule}, true
			}
		}
	}
	if best.Verdict == "" {
		best = t.allowed(call)
	}
	return best, doubt
}

func strictness(v toolset.Verdict) int {
	return slices.Index([]toolset.Verdict{toolset.VerdictAllow, VerdictAsk, toolset.VerdictDeny}, v)
}
