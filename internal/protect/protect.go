// SPDX-License-Identifier: Apache-2.0

// Package protect knows the paths that other programs execute or obey.
package protect

import (
	_ "embed"
	"fmt"
	"path"
	"strings"
	"sync"
	"unicode"

	"github.com/ponte-go/ponte/toolset/command"
)

// Path is a protected path: the file or directory with this name, and all below it, wherever it is.
type Path struct {
	// Name has slashes between its elements, of which the last may contain "*".
	Name string
	// Why names who executes or obeys it, in a few words.
	Why string

	elements []element
}

// element is one of the elements of a protected path, in lower case.
type element struct {
	text          string
	wild          bool
	before, after string // what is around "*"
}

func elementOf(text string) element {
	before, after, wild := strings.Cut(text, "*")
	return element{text, wild, before, after}
}

//go:embed paths.txt
var pathsText string

// Paths returns all protected paths, in the order of the list. The caller must not change them.
func Paths() []Path { return paths() }

var paths = sync.OnceValue(func() (all []Path) {
	why := ""
	for line := range strings.Lines(pathsText) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasSuffix(line, ":"):
			why = strings.TrimSuffix(line, ":")
		case why == "":
			panic(fmt.Sprintf("protect: %s has no reason", line))
		default:
			for name := range strings.FieldsSeq(line) {
				p := Path{Name: name, Why: why}
				for text := range strings.SplitSeq(strings.ToLower(name), "/") {
					p.elements = append(p.elements, elementOf(text))
				}
				all = append(all, p)
			}
		}
	}
	return all
})

// byFirst has the protected paths by their first element, except those with "*".
var byFirst = sync.OnceValue(func() map[string][]*Path {
	m := map[string][]*Path{}
	for i := range paths() {
		p := &paths()[i]
		first := p.elements[0].text
		if p.elements[0].wild {
			first = "*"
		}
		m[first] = append(m[first], p)
	}
	return m
})

// Find returns the protected path that a path is, lies in, or is a directory of. Case does not
// matter, nor do characters that a file system may ignore, because the same file has several names
// on some. Both slashes separate elements. A pattern of a shell, such as ".env*", is all names
// that it may match, unless it begins with "*" or "?": those match nearly every name, but none with
// a dot in front. A name with [command.Computed] in it is every name that it may become, if its
// known part fits.
func Find(name string) *Path {
	var room [16]string // for nearly all paths
	kept := room[:0]
	for rest := name; rest != ""; {
		end := 0
		for end < len(rest) && rest[end] != '/' && rest[end] != '\\' {
			end++
		}
		e := rest[:end]
		rest = rest[min(end+1, len(rest)):]
		if e = Fold(e); e != "" && e != "." {
			kept = append(kept, e)
		}
	}
	for i, e := range kept {
		if isPattern(e) {
			for j := range paths() {
				if p := &paths()[j]; p.fits(kept[i:]) {
					return p
				}
			}
			continue
		}
		for _, key := range []string{e, "*"} {
			for _, p := range byFirst()[key] {
				if p.fits(kept[i:]) {
					return p
				}
			}
		}
	}
	if strings.Contains(name, command.Computed) {
		return findPartly(kept)
	}
	return nil
}

// isPattern reports whether a name is a pattern of a shell with a known beginning.
func isPattern(name string) bool {
	return wildcard(name) > 0 || strings.HasPrefix(name, "[")
}

// wildcard returns where the first character of a pattern is, -1 if there is none.
func wildcard(name string) int {
	for i := range len(name) {
		if c := name[i]; c == '*' || c == '?' || c == '[' {
			return i
		}
	}
	return -1
}

// matches reports whether a name is this element of a protected path, or a pattern that may be.
func (e *element) matches(name string) bool {
	if e.text == name {
		return true
	}
	rest, begins := strings.CutPrefix(name, e.before)
	if e.wild && begins && strings.HasSuffix(rest, e.after) {
		return true
	}
	if name[0] != e.text[0] && name[0] != '[' {
		return false
	}
	known := wildcard(name)
	if known < 0 || known == 0 && name[0] != '[' || !strings.HasPrefix(e.text, name[:known]) {
		return false
	}
	if before, _, ok := strings.Cut(name, "[["); ok && before != "" { // as in .[[:alpha:]]nvrc
		name = before + "*"
	}
	ok, err := path.Match(strings.ReplaceAll(name, "[!", "[^"), e.text)
	return ok && err == nil // a shell takes a pattern that is none for a name
}

// fits reports whether names begin with the elements of the path, or are directories above it. Such
// directories count only if their names have a dot in front: others are too ordinary.
func (p *Path) fits(names []string) bool {
	for i := range p.elements {
		if i == len(names) {
			return strings.HasPrefix(names[0], ".")
		}
		if !p.elements[i].matches(names[i]) {
			return false
		}
	}
	return true
}

// Fold returns the name that all names of one file have in common, on file systems that ignore case
// or some characters, as on macOS and Windows, and on Linux with case folding.
func Fold(name string) string {
	plain := true
	for i := 0; i < len(name) && plain; i++ {
		c := name[i]
		plain = c < 0x80 && c != ':' && c != '~' && (c < 'A' || c > 'Z')
	}
	if !plain {
		name = folded(name)
	}
	if name == "." || name == ".." {
		return name
	}
	return strings.TrimRight(name, ". ") // which Windows drops
}

// folded is Fold without the end.
func folded(name string) string {
	// "name::$DATA" is the file on Windows. "C:" is a drive.
	if stream := strings.IndexByte(name, ':'); stream > 1 {
		name = name[:stream]
	}
	var b strings.Builder
	for _, r := range name {
		switch {
		case ligatures[r] != "":
			b.WriteString(ligatures[r])
		case ignored(r):
		default:
			b.WriteRune(lowest(r))
		}
	}
	text := b.String()
	if long := longNames()[withoutNumber(text)]; long != "" {
		return long
	}
	return text
}

// lowest returns the letter of ASCII that folds to a character, or the character in lower case.
func lowest(r rune) rune {
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if f < 0x80 {
			return unicode.ToLower(f)
		}
	}
	return unicode.ToLower(r)
}

// ligatures are the characters that fold to several letters of ASCII.
var ligatures = map[rune]string{
	'\u00df': "ss", '\u1e9e': "ss", '\ufb00': "ff", '\ufb01': "fi", '\ufb02': "fl",
	'\ufb03': "ffi", '\ufb04': "ffl", '\ufb05': "st", '\ufb06': "st",
}

// ignored reports whether a file system may ignore a character in names.
func ignored(r rune) bool {
	return unicode.In(r,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Cf, unicode.Variation_Selector)
}

// longNames has the elements of protected paths by their names in the form of MS-DOS, without the
// number, such as "bashrc~" and "mcp~.jso".
var longNames = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for i := range paths() {
		for _, element := range paths()[i].elements {
			e := element.text
			plain := strings.TrimLeft(e, ".")
			base, end := plain, ""
			if last := strings.LastIndexByte(plain, '.'); last >= 0 {
				base = strings.ReplaceAll(plain[:last], ".", "")
				end = plain[last:min(len(plain), last+4)]
			}
			short := base[:min(len(base), 6)] + "~" + end
			if !element.wild && (plain != e || len(base) > 8) && all[short] == "" {
				all[short] = e
			}
		}
	}
	return all
})

// withoutNumber returns a name in the form of MS-DOS without the number in it, "" if it has none.
func withoutNumber(name string) string {
	before, after, ok := strings.Cut(name, "~")
	rest := strings.TrimLeft(after, "0123456789")
	if !ok || rest == after || rest != "" && rest[0] != '.' {
		return ""
	}
	return before + "~" + rest
}
