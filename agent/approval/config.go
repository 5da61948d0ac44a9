// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/toolset"
)

// Config is a user's configuration for calls that need approval. [ParseConfig] reads its JSON form:
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
	// Tool is a tool's name, in which "*" stands for any characters.
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
	// Reason is what the model is told of a denial.
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

// ParseConfig reads a configuration. Its error lists everything that is wrong: what, where, and how to fix it.
func ParseConfig(data []byte) (*Config, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, configError(syntaxPlace(data, err), "%v; the configuration is a JSON object with mode and rules", err)
	}
	var errs []error
	var c Config
	unknown(&errs, "", members, "mode", "rules")
	if raw, ok := members["mode"]; ok {
		decodeString(&errs, "mode", raw, (*string)(&c.Mode))
	}
	if raw, ok := members["rules"]; ok {
		var rules []json.RawMessage
		if err := json.Unmarshal(raw, &rules); err != nil {
			errs = append(errs, configError("rules", "want a list of rules"))
		}
		for i, raw := range rules {
			c.Rules = append(c.Rules, parseRule(&errs, fmt.Sprintf("rules[%d]", i), raw))
		}
	}
	if len(errs) == 0 {
		errs = append(errs, c.check())
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &c, nil
}

func parseRule(errs *[]error, where string, data []byte) (r ConfigRule) {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil || members == nil {
		*errs = append(*errs, configError(where, "want an object with decision and one of tool, path and command"))
		return r
	}
	unknown(errs, where+".", members, "decision", "tool", "path", "command", "reason")
	for name, field := range map[string]*string{"decision": (*string)(&r.Decision), "tool": &r.Tool, "path": &r.Path, "command": &r.Command, "reason": &r.Reason} {
		if raw, ok := members[name]; ok {
			decodeString(errs, where+"."+name, raw, field)
		}
	}
	return r
}

func unknown(errs *[]error, where string, members map[string]json.RawMessage, known ...string) {
	names := make([]string, 0, len(members))
	for name := range members {
		if !slices.Contains(known, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		*errs = append(*errs, configError(where+name, "unknown; use %s", strings.Join(known, ", ")))
	}
}

func decodeString(errs *[]error, where string, data []byte, to *string) {
	if json.Unmarshal(data, to) != nil || string(data) == "null" {
		*errs = append(*errs, configError(where, "want a string"))
	}
}

func configError(where, format string, args ...any) error {
	if where != "" {
		where += ": "
	}
	return fmt.Errorf("approval: configuration: %s"+format, append([]any{where}, args...)...)
}

// syntaxPlace returns the line and column of a syntax error.
func syntaxPlace(data []byte, err error) string {
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return ""
	}
	before := data[:min(int(syntax.Offset), len(data))]
	return fmt.Sprintf("line %d, column %d", bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n')-1)
}

// check returns what is wrong with the values.
func (c *Config) check() error {
	var errs []error
	switch c.Mode {
	case "", ModeAsk, ModeReadOnly, ModeAuto:
	default:
		errs = append(errs, configError("mode", "unknown mode %q; use ask, read-only or auto", c.Mode))
	}
	for i, r := range c.Rules {
		where := fmt.Sprintf("rules[%d]", i)
		switch r.Decision {
		case toolset.VerdictAllow, toolset.VerdictDeny, VerdictAsk:
		default:
			errs = append(errs, configError(where+".decision", "unknown decision %q; use allow, deny or ask", r.Decision))
		}
		if r.Tool == "" && r.Path == "" && r.Command == "" {
			errs = append(errs, configError(where, "matches nothing; set tool, path or command, or use mode for all calls"))
		}
		if r.Path != "" && r.Command != "" {
			errs = append(errs, configError(where, "has a path and a command, which no call has both; make two rules of it"))
		}
		if r.Command != "" && len(strings.Fields(r.Command)) == 0 {
			errs = append(errs, configError(where+".command", "is blank"))
		}
		if _, err := path.Match(strings.ReplaceAll(r.Path, "**", "*"), ""); err != nil || strings.ContainsAny(r.Path, `[]\`) {
			errs = append(errs, configError(where+".path", "%q is not a pattern; use names, *, ? and **, with slashes between them", r.Path))
		}
		if slices.Contains(strings.Split(r.Path, "/"), "..") {
			errs = append(errs, configError(where+".path", "%q must not have \"..\"; write the path that is meant", r.Path))
		}
		for _, name := range strings.Split(r.Path, "/") {
			if strings.Contains(name, "**") && name != "**" {
				errs = append(errs, configError(where+".path", "\"**\" in %q must stand alone between slashes", r.Path))
				break
			}
		}
	}
	return errors.Join(errs...)
}

// Layer returns the layer "configuration". Roots are the session's directories, to which patterns of paths are relative. It returns an
// error if the configuration is invalid.
func (c *Config) Layer(roots ...string) (Layer, error) {
	if err := c.check(); err != nil {
		return Layer{}, err
	}
	own := Config{Mode: c.Mode, Rules: slices.Clone(c.Rules)}
	roots = slices.Clone(roots)
	return Layer{Name: "configuration", Decide: func(ctx context.Context, r *toolset.ApprovalRequest) (Ruling, error) {
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
			best.Reason = "Not permitted by the user's configuration: " + best.Reason
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
