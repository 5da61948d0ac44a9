// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"slices"
	"strings"

	"github.com/ponte-go/ponte/internal/protect"
	"github.com/ponte-go/ponte/toolset/command"
)

// note keeps a path, folded, of which a part is only known when the command runs.
func (c *call) note(name string) {
	if strings.Contains(name, command.Computed) {
		c.partial = append(c.partial, folded(name))
	}
}

// mayBecome reports whether such a path may become one that fits a pattern, or a directory of one.
// What is known of the path must fit a name in the pattern: any path may be what is quite unknown.
// It is called after named, which notes paths.
func (c *call) mayBecome(p pattern) bool {
	return slices.ContainsFunc(c.partial, func(name string) bool {
		elements := strings.Split(strings.TrimSuffix(name, "/"), "/")
		begins := slices.IndexFunc(elements, func(e string) bool {
			return strings.HasPrefix(e, command.Computed)
		})
		if begins >= 0 && becomes(p.elements, elements[begins:], false) { // whatever is before it
			return true
		}
		return relatives(c, p, strings.TrimSuffix(name, "/"), true, func(pattern, name []string) bool {
			return becomes(pattern, name, false)
		})
	})
}

// becomes compares elements. fits is set if a part of the path that is known has fitted a name.
func becomes(pattern, name []string, fits bool) bool {
	switch {
	case len(name) == 0:
		return fits
	case name[0] == command.Computed: // any number of elements
		for i := range len(pattern) + 1 {
			if becomes(pattern[i:], name[1:], fits) {
				return true
			}
		}
		return false
	case len(pattern) == 0:
		return false
	case pattern[0] == "**":
		return becomes(pattern[1:], name, fits) || becomes(pattern, name[1:], fits)
	}
	if strings.Contains(name[0], command.Computed) {
		if protect.Agreement(pattern[0], protect.Beginning(name[0])) > 0 {
			return true
		}
		agreed := protect.Agreement(pattern[0], name[0])
		return agreed >= 0 && becomes(pattern[1:], name[1:], fits || agreed > 0)
	}
	named := strings.Trim(pattern[0], "*?") != ""
	return mayMatch(pattern[0], name[0]) &&
		becomes(pattern[1:], name[1:], fits || named && name[0] != "")
}

// hostSeems reports whether a host, of which a part is only known when the command runs, may be one
// that a pattern is about.
func hostSeems(pattern, host string) bool {
	if !strings.Contains(host, command.Computed) {
		return false
	}
	pattern = strings.ToLower(strings.TrimSuffix(pattern, "."))
	below, wild := strings.CutPrefix(pattern, "*.")
	return protect.Agreement(below, host) > 1 || wild && protect.Agreement("*."+below, host) > 1
}
