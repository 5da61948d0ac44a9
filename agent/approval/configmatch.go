// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"path"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
)

// call is a call in the form that rules are matched against.
type call struct {
	tool    string
	paths   []string // of the files that it would change, with slashes
	roots   []string
	command *toolset.CommandLine
	scopes  []string // the named scopes of the command, all of which it needs
}

func describe(r *toolset.ApprovalRequest, roots []string) *call {
	c := &call{tool: r.Tool, roots: roots}
	for i := range r.Approval.Preview {
		p := &r.Approval.Preview[i]
		switch {
		case p.Diff != nil:
			name := slashed(p.Diff.Path)
			if !strings.HasPrefix(name, "/") && !isWindows(name) && len(roots) > 0 {
				name = path.Join(slashed(roots[0]), name)
			}
			c.paths = append(c.paths, name)
		case p.Command != nil && c.command == nil:
			c.command = p.Command
		}
	}
	if c.scopes = r.Approval.Parts; len(c.scopes) == 0 && r.Approval.Scope != "" {
		c.scopes = []string{r.Approval.Scope}
	}
	return c
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

// fits reports whether a rule that denies or asks matches a call. In doubt it does.
func (r *ConfigRule) fits(c *call) bool {
	if r.Tool != "" && !wildcard(r.Tool, c.tool) {
		return false
	}
	if r.Path != "" && !slices.ContainsFunc(c.paths, func(p string) bool { return r.fitsPath(c, strings.ToLower(p), strings.ToLower) }) {
		return false
	}
	return r.Command == "" || c.command != nil && mentions(c.command, strings.Fields(r.Command))
}

// allowed returns the ruling of the rules that allow. A command that consists of several may be allowed by several rules.
func (c *Config) allowed(call *call) Ruling {
	var rules []string
	open := slices.Clone(call.scopes)
	for i := range c.Rules {
		r := &c.Rules[i]
		if r.Decision != toolset.VerdictAllow || r.Tool != "" && !wildcard(r.Tool, call.tool) {
			continue
		}
		switch {
		case r.Path != "":
			if len(call.paths) == 0 || call.command != nil || slices.ContainsFunc(call.paths, func(p string) bool { return !r.fitsPath(call, p, same) }) {
				continue
			}
			return Ruling{Verdict: toolset.VerdictAllow, Rule: r.String()}
		case r.Command == "":
			return Ruling{Verdict: toolset.VerdictAllow, Rule: r.String()}
		case call.command == nil:
		case isExactly(call.command, r.Command):
			return Ruling{Verdict: toolset.VerdictAllow, Rule: r.String()}
		default:
			if i := slices.Index(open, strings.Join(strings.Fields(r.Command), " ")); i >= 0 {
				open = slices.Delete(open, i, i+1)
				rules = append(rules, r.String())
			}
		}
	}
	if call.command != nil && len(call.scopes) > 0 && len(open) == 0 {
		return Ruling{Verdict: toolset.VerdictAllow, Rule: strings.Join(rules, ", ")}
	}
	return Ruling{}
}

func same(s string) string { return s }

// fitsPath reports whether a path fits the rule's pattern. fold makes upper and lower case the same, or leaves them.
func (r *ConfigRule) fitsPath(c *call, name string, fold func(string) string) bool {
	pattern := fold(r.Path)
	if strings.HasPrefix(pattern, "/") || isWindows(pattern) {
		return glob(strings.Split(pattern, "/"), strings.Split(name, "/"))
	}
	return slices.ContainsFunc(c.roots, func(root string) bool {
		rel, ok := strings.CutPrefix(name, strings.TrimSuffix(fold(slashed(root)), "/")+"/")
		return ok && glob(strings.Split(pattern, "/"), strings.Split(rel, "/"))
	})
}

// glob compares a path with a pattern, element by element. "**" at the end matches at least one
// element.
func glob(pattern, name []string) bool {
	// fits[i] is set if the pattern so far matches the first i elements.
	fits := make([]bool, len(name)+1)
	fits[0] = true
	for n, p := range pattern {
		next := make([]bool, len(fits))
		for i := range fits {
			switch {
			case p == "**":
				next[i] = fits[i] && n < len(pattern)-1 || i > 0 && (next[i-1] || fits[i-1])
			case i > 0 && fits[i-1]:
				ok, err := path.Match(p, name[i-1])
				next[i] = ok && err == nil
			}
		}
		fits = next
	}
	return fits[len(name)]
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

// isExactly reports whether a command is exactly the given one, with nothing added to its environment.
func isExactly(c *toolset.CommandLine, written string) bool {
	if len(c.Env) > 0 {
		return false
	}
	if c.Line != "" {
		return c.Line == written
	}
	return show.Command(c.Args) == written
}

// mentions reports whether the words may stand in a command, in their order. The first one may have a path before it, or an ending such
// as ".exe". Quotes and backslashes are taken away and globs are tried, so a word that a shell puts together of pieces is found; what a
// shell computes is not.
func mentions(c *toolset.CommandLine, words []string) bool {
	text := strings.ToLower(commandWords(c))
	for _, backslash := range []string{"", "/"} {
		quotes := strings.NewReplacer(`'`, "", `"`, "", `\`, backslash)
		tokens := strings.FieldsFunc(quotes.Replace(text), func(r rune) bool {
			return strings.ContainsRune(" ;&|()<>`$={},", r) || !show.Visible(r)
		})
		for i, token := range tokens {
			program := strings.TrimSuffix(token[strings.LastIndexByte(token, '/')+1:], ".exe")
			if isWord(program, words[0]) && follow(tokens[i+1:], words[1:]) {
				return true
			}
		}
	}
	return false
}

func commandWords(c *toolset.CommandLine) string {
	if c.Line != "" {
		return c.Line
	}
	return strings.Join(c.Args, " ")
}

// isWord reports whether a token, in which a shell may find a glob, may be a word.
func isWord(token, word string) bool {
	word = strings.ToLower(word)
	if token == word {
		return true
	}
	ok, err := path.Match(token, word)
	return strings.ContainsAny(token, "*?[") && (ok || err != nil)
}

// follow reports whether the tokens contain the words in order.
func follow(tokens, words []string) bool {
	for _, token := range tokens {
		if len(words) > 0 && isWord(token, words[0]) {
			words = words[1:]
		}
	}
	return len(words) == 0
}

// computes reports whether a shell would compute a part of a command, which could hide a word.
func computes(c *toolset.CommandLine) bool {
	text := commandWords(c)
	for i := range len(text) - 1 {
		if text[i] == '$' && !strings.ContainsRune(" |)\"'", rune(text[i+1])) {
			return true
		}
	}
	return strings.Contains(text, "`")
}
