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

// Config is a configuration for calls that need approval, such as a user's. [ParseConfig] reads its JSON form:
//
//	{
//		"mode": "ask",
//		"rules": [
//			{"decision": "deny", "path": "**/.env", "reason": "it has secrets"},
//			{"decision": "allow", "tool": "write_file", "path": "docs/**"},
//			{"decision": "ask", "command": "git push"},
//			{"decision": "allow", "command": "go test"}
//		]
//	}
type Config struct {
	// Name names the layer, and says in reasons whose configuration it is. Empty is "configuration" and "the user's configuration". It is
	// not a part of the JSON form.
	Name string `json:"-"`
	// Mode decides about calls that no rule matches.
	Mode Mode `json:"mode,omitempty"`
	// Rules are about tools, paths and commands. Their order does not matter.
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

// ConfigRule is a rule of a [Config]. It matches a call if each of Tool, Path and Command that is set matches. At least one must be set.
// If several rules match a call, deny wins over ask, and ask over allow.
type ConfigRule struct {
	// Decision is "allow", "deny" or "ask". With "ask" the user is asked every time.
	Decision toolset.Verdict `json:"decision"`
	// Tool is a tool's name, in which "*" matches any characters.
	Tool string `json:"tool,omitempty"`
	// Path matches the files that a call would change, as its preview names them. It is a pattern: "*" and "?" stand for characters
	// within a name, and "**" for any number of directories. A pattern without a leading slash is relative to each of the session's
	// directories. To allow a call, a pattern must match all its files, with the same case. To deny it or to ask, one file is enough,
	// and case does not matter.
	Path string `json:"path,omitempty"`
	// Command matches the command that a call would run. A rule that allows covers the named scope of that name (see package
	// toolset/command), or exactly this command with nothing added to the environment. A rule that denies or asks matches any command that
	// contains its words in their order, with or without others between them. That guards against mistakes. It is not a sandbox,
	// because a program can run another one under any name. If the shell would compute a part of a command, such as a variable, the
	// user is asked.
	Command string `json:"command,omitempty"`
	// Reason is sent to the model with a denial.
	Reason string `json:"reason,omitempty"`
}

// String describes the rule in a few words.
func (r ConfigRule) String() string {
	text := string(r.Decision)
	for _, f := range [][2]string{{"tool", r.Tool}, {"path", r.Path}, {"command", r.Command}} {
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
		if r.Tool == "" && r.Path == "" && r.Command == "" {
			bad(where, "matches nothing; set tool, path or command, or use mode for all calls")
		}
		if r.Path != "" && r.Command != "" {
			bad(where, "has a path and a command, which no call has both; make two rules of it")
		}
		if r.Command != "" && len(strings.Fields(r.Command)) == 0 {
			bad(where+".command", "is blank")
		}
		if _, err := path.Match(strings.ReplaceAll(r.Path, "**", "*"), ""); err != nil || strings.ContainsAny(r.Path, `[]\`) {
			bad(where+".path", "%q is not a pattern; use names, *, ? and **, with slashes between them", r.Path)
		}
		if slices.Contains(strings.Split(r.Path, "/"), "..") {
			bad(where+".path", "%q must not have \"..\"; write the path that is meant", r.Path)
		}
		for _, name := range strings.Split(r.Path, "/") {
			if strings.Contains(name, "**") && name != "**" {
				bad(where+".path", "\"**\" in %q must stand alone between slashes", r.Path)
				break
			}
		}
	}
	return errors.Join(errs...)
}

// Layer returns the configuration as a layer. Roots are the session's directories, to which patterns of paths are relative. It returns an
// error if the configuration is invalid.
func (c *Config) Layer(roots ...string) (Layer, error) {
	if err := c.check(); err != nil {
		return Layer{}, err
	}
	own := Config{Name: c.Name, Mode: c.Mode, Rules: slices.Clone(c.Rules)}
	roots = slices.Clone(roots)
	return Layer{Name: cmp.Or(c.Name, "configuration"), Decide: func(ctx context.Context, r *toolset.ApprovalRequest) (Ruling, error) {
		return own.decide(ctx, roots, r)
	}}, nil
}

func (c *Config) decide(ctx context.Context, roots []string, r *toolset.ApprovalRequest) (Ruling, error) {
	call := describe(r, roots)
	best := Ruling{}
	for _, rule := range c.Rules {
		if rule.Decision != toolset.VerdictAllow && rule.fits(call) && strictness(rule.Decision) > strictness(best.Verdict) {
			best = Ruling{Verdict: rule.Decision, Rule: rule.String(), Reason: rule.Reason}
		}
	}
	if best.Verdict == "" && call.command != nil && computes(call.command) {
		for _, rule := range c.Rules {
			if rule.Decision != toolset.VerdictAllow && rule.Command != "" && (rule.Tool == "" || wildcard(rule.Tool, call.tool)) {
				best = Ruling{Verdict: VerdictAsk, Rule: rule.String() + ", which the command may hide"}
			}
		}
	}
	if best.Verdict == "" {
		best = c.allowed(call)
	}
	if best.Verdict != "" {
		if best.Verdict == toolset.VerdictDeny && best.Reason != "" {
			best.Reason = "Not permitted by " + cmp.Or(c.Name, "the user's configuration") + ": " + best.Reason
		}
		return best, nil
	}
	switch c.Mode {
	case ModeReadOnly:
		ruling, err := ReadOnly().Decide(ctx, r)
		ruling.Rule = "mode read-only"
		return ruling, err
	case ModeAuto:
		return Ruling{Verdict: toolset.VerdictAllow, Rule: "mode auto"}, nil
	}
	return Ruling{}, nil
}

func strictness(v toolset.Verdict) int {
	return slices.Index([]toolset.Verdict{toolset.VerdictAllow, VerdictAsk, toolset.VerdictDeny}, v)
}
