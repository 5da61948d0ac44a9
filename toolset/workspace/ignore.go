// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// ignoreFiles are the names of files with patterns to leave out of lists and searches, in the form
// of gitignore(5). Of two in a directory the later one wins.
var ignoreFiles = []string{".gitignore", ".ignore"}

// skippedDirs hold no files of the user's own.
var skippedDirs = map[string]bool{".git": true, ".hg": true, ".svn": true, "node_modules": true}

// ignoreRules are the rules of one ignore file, or of several of one directory.
type ignoreRules struct {
	// dir is the directory of the file, relative to the root, with slashes; "" for the root.
	dir   string
	rules []ignoreRule
}

// ignoreRule is one line of an ignore file.
type ignoreRule struct {
	negated, dirOnly bool
	// anchored patterns are matched against the whole path below the directory of the file, others
	// against the name.
	anchored bool
	pattern  string
	// plain patterns have no wildcards. suffix, if not empty, is the end of the name.
	plain  bool
	suffix string
}

// parseIgnore reads an ignore file as gitignore(5) describes it.
func parseIgnore(dir string, data []byte) ignoreRules {
	set := ignoreRules{dir: dir}
	for line := range bytes.SplitSeq(bytes.TrimPrefix(data, []byte("\ufeff")), []byte{'\n'}) {
		if r, ok := parseIgnoreLine(strings.TrimSuffix(string(line), "\r")); ok {
			set.rules = append(set.rules, r)
		}
	}
	return set
}

func parseIgnoreLine(line string) (r ignoreRule, ok bool) {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if strings.HasPrefix(line, "#") {
		return r, false
	}
	if rest, negated := strings.CutPrefix(line, "!"); negated {
		line, r.negated = rest, true
	}
	if rest, dirOnly := strings.CutSuffix(line, "/"); dirOnly {
		line, r.dirOnly = rest, true
	}
	if line == "" {
		return r, false
	}
	r.anchored = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	r.pattern = gitPattern(line)
	r.plain = !strings.ContainsAny(line, `*?[\`)
	if r.plain {
		r.pattern = line
	}
	if rest, ok := strings.CutPrefix(line, "*"); ok && !strings.ContainsAny(rest, `*?[\`) && !r.anchored {
		r.suffix = rest
	}
	return r, r.plain || doublestar.ValidatePattern(r.pattern)
}

// gitPattern turns a pattern of git into one of doublestar. Braces mean nothing to git, and "**"
// that is not a whole name means "*" to both. "a/**" means everything below a, and not a itself.
func gitPattern(p string) string {
	var b strings.Builder
	class := 0 // where the characters begin of the class that is open
	for i := 0; i < len(p); i++ {
		switch ch := p[i]; {
		case ch == '\\' && i+1 < len(p):
			b.WriteByte(ch)
			i++
			b.WriteByte(p[i])
		case class > 0:
			if all := b.String()[class:]; ch == ']' && (all == "" || all == "!" || all == "^") {
				b.WriteByte('\\') // which is one of them
			} else if ch == ']' {
				class = 0
			}
			b.WriteByte(ch)
		case ch == '{' || ch == '}':
			b.WriteByte('\\')
			b.WriteByte(ch)
		default:
			if b.WriteByte(ch); ch == '[' {
				class = b.Len()
			}
		}
	}
	out := b.String()
	if strings.HasSuffix(out, "/**") {
		out += "/*"
	}
	return out
}

// match applies the rules to a path relative to the root: whether it is ignored, and whether any
// rule matches. The last rule that fits wins.
func (s *ignoreRules) match(rel string, isDir bool) (ignored, decided bool) {
	if s.dir != "" {
		rest, below := strings.CutPrefix(rel, s.dir+"/")
		if !below {
			return false, false
		}
		rel = rest
	}
	base := path.Base(rel)
	for i := len(s.rules) - 1; i >= 0; i-- {
		if r := &s.rules[i]; (isDir || !r.dirOnly) && r.matches(rel, base) {
			return !r.negated, true
		}
	}
	return false, false
}

func (r *ignoreRule) matches(rel, base string) bool {
	name := base
	if r.anchored {
		name = rel
	}
	switch {
	case r.plain:
		return name == r.pattern
	case r.suffix != "":
		return strings.HasSuffix(name, r.suffix)
	}
	ok, _ := doublestar.Match(r.pattern, name)
	return ok
}
