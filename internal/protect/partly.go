// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"slices"
	"strings"

	"github.com/ponte-go/ponte/toolset/command"
)

// Agreement returns how many known characters of a name are characters of a pattern, at most. The
// unknown text of the name is [command.Computed]; "*" in the pattern matches any text. A dot in
// front counts as two. It is -1 if the name cannot be what the pattern means.
func Agreement(pattern, name string) int {
	name = strings.ReplaceAll(name, command.Computed, "*")
	if pattern != "" && name != "" && pattern[0] != name[0] &&
		!strings.ContainsAny(pattern[:1], "*?") && !strings.ContainsAny(name[:1], "*?[") {
		return -1 // most names, at once
	}
	return agreement([]rune(pattern), []rune(name))
}

// enough is the agreement that a name must have with a protected one: less is by chance.
const enough = 2

// agreement compares two patterns. In the second one, "?" is any character, and a "[", with what
// follows it, anything.
func agreement(pattern, name []rune) int {
	const none = -1
	// most[j] is the agreement of the pattern so far with name[:j].
	most := make([]int, len(name)+1)
	for i := range len(pattern) + 1 {
		next := make([]int, len(name)+1)
		for j := range len(name) + 1 {
			next[j] = none
			if i == 0 && j == 0 {
				next[j] = 0
			}
			if i > 0 && pattern[i-1] == '*' {
				next[j] = max(next[j], most[j])
				if j > 0 {
					next[j] = max(next[j], next[j-1])
				}
			}
			if j > 0 && name[j-1] == '*' {
				next[j] = max(next[j], next[j-1])
				if i > 0 {
					next[j] = max(next[j], most[j])
				}
			}
			if i > 0 && j > 0 && most[j-1] > none {
				p, n := pattern[i-1], name[j-1]
				switch {
				case n == '[':
					return max(most[j-1], 1) + 1 // in doubt
				case p == n && p != '*' && i == 1 && j == 1 && p == '.':
					next[j] = max(next[j], 2)
				case p == n && p != '*' && p != '?':
					next[j] = max(next[j], most[j-1]+1)
				case p == '?' || n == '?':
					next[j] = max(next[j], most[j-1])
				}
			}
		}
		most = next
	}
	return most[len(name)]
}

func partial(name string) bool { return strings.Contains(name, command.Computed) }

// findPartly is Find for names with unknown text in them.
func findPartly(names []string) *Path {
	for i := range paths() {
		p := &paths()[i]
		for at := range names {
			if p.seems(names[at:]) {
				return p
			}
		}
	}
	return nil
}

// Beginning returns a name up to its first unknown text: what follows may have a slash in it.
func Beginning(name string) string {
	before, _, _ := strings.Cut(name, command.Computed)
	return before + command.Computed
}

// seems reports whether names may begin with the elements of the path. Of a name that is quite
// unknown it is not said that it does, unless another one fits.
func (p *Path) seems(names []string) (fits bool) {
	if !slices.ContainsFunc(names[:min(len(names), len(p.elements))], partial) {
		return false // Find compares it
	}
	for i := range p.elements {
		if i == len(names) {
			return fits && strings.HasPrefix(names[0], ".")
		}
		e, name := &p.elements[i], names[i]
		switch {
		case name == command.Computed:
		case e.matches(name), partial(name) && Agreement(e.text, name) >= enough:
			fits = fits || len(name) > 1
		case name[0] == '.' && partial(name) && Agreement(e.text, Beginning(name)) >= enough:
			return true
		default:
			return false
		}
	}
	return fits
}
