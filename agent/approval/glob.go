// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"path"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/internal/protect"
)

// pattern is a pattern of paths, taken apart.
type pattern struct {
	absolute bool
	elements []string
}

// patternOf takes a pattern apart: as it is, and folded.
func patternOf(text string) (plain, anyCase pattern) {
	absolute, lower := isAbsolute(text), folded(text)
	return pattern{absolute, strings.Split(text, "/")}, pattern{absolute, strings.Split(lower, "/")}
}

// folded returns the path that all names of one file have in common, where a file system ignores
// case, some characters, or what is at the end of a name.
func folded(name string) string {
	elements := strings.Split(name, "/")
	for i, e := range elements {
		elements[i] = protect.Fold(e)
	}
	return strings.Join(elements, "/")
}

// fitsPath reports whether a path fits a pattern. fold is set if both are folded.
func fitsPath(c *call, p pattern, name string, fold bool) bool {
	return relatives(c, p, name, fold, glob)
}

// relatives applies a comparison to a pattern and a path, in whichever of the session's directories
// it lies.
func relatives(
	c *call, p pattern, name string,
	fold bool, compare func(pattern, name []string) bool,
) bool {
	if p.absolute {
		return compare(p.elements, strings.Split(name, "/"))
	}
	return slices.ContainsFunc(c.prefixes(fold), func(prefix string) bool {
		rel, ok := strings.CutPrefix(name, prefix)
		return ok && compare(p.elements, strings.Split(rel, "/"))
	})
}

// prefixes returns the session's directories, each with a slash at its end, folded with fold set.
func (c *call) prefixes(fold bool) []string {
	if c.rooted == nil {
		for _, root := range c.roots {
			c.rooted = append(c.rooted, strings.TrimSuffix(slashed(root), "/")+"/")
			c.folded = append(c.folded, folded(c.rooted[len(c.rooted)-1]))
		}
	}
	if fold {
		return c.folded
	}
	return c.rooted
}

// contains reports whether a directory may contain what a pattern is about. A path that ends with a
// slash is a directory with all below it. Any other path may be one, if the pattern names files
// below it without "**".
func contains(c *call, p pattern, name string) bool {
	dir, all := strings.CutSuffix(name, "/")
	root := slices.ContainsFunc(c.prefixes(true), func(root string) bool {
		rest, in := strings.CutPrefix(root, dir)
		return in && strings.HasPrefix(rest, "/") && (all || rest == "/")
	})
	if root && !p.absolute {
		return all
	}
	return relatives(c, p, dir, true, func(pattern, name []string) bool {
		if !all {
			if i := slices.Index(pattern, "**"); i >= 0 {
				pattern = append(slices.Clone(pattern[:i]), "*")
			}
		}
		return globbed(pattern, name, true, mayMatch)
	})
}

// expands reports whether a path, in which a shell may find a glob, may become one that fits a
// pattern.
func expands(pattern, name []string) bool {
	if !slices.ContainsFunc(name, hasGlob) {
		return glob(pattern, name)
	}
	return globbed(pattern, name, false, mayMatch)
}

// mayMatch compares an element of a pattern with one of a path, in which a shell may find a glob.
func mayMatch(p, n string) bool {
	if !hasGlob(n) {
		return matches(p, n)
	}
	if strings.HasPrefix(p, ".") && !strings.HasPrefix(n, ".") { // which no glob matches
		return false
	}
	ok, err := path.Match(n, p)
	return ok || err != nil || hasGlob(p)
}

func hasGlob(name string) bool { return name != "[" && strings.ContainsAny(name, "*?[") }

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
	var room [2][32]bool // for nearly all paths
	fits, next := room[0][:], room[1][:]
	if len(name) >= len(fits) {
		fits, next = make([]bool, len(name)+1), make([]bool, len(name)+1)
	}
	fits, next = fits[:len(name)+1], next[:len(name)+1]
	fits[0] = true
	for n, p := range pattern {
		if below && fits[len(name)] {
			return true
		}
		for i := range fits {
			next[i] = false
			switch {
			case p == "**":
				next[i] = fits[i] && (below || n < len(pattern)-1) || i > 0 && (next[i-1] || fits[i-1])
			case i > 0 && fits[i-1]:
				next[i] = match(p, name[i-1])
			}
		}
		fits, next = next, fits
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
