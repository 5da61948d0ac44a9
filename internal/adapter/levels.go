// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"cmp"
	"maps"
	"slices"
)

// levels are the values of [model.Settings].Thinking and further levels of some providers, from
// none to much.
var levels = []string{"off", "minimal", "low", "medium", "high", "xhigh", "max"}

// Levels returns the levels of thinking that a profile has, from none to much. Others follow in the
// order of the alphabet.
func Levels[T any](profile map[string]T) []string {
	rank := func(level string) int {
		if i := slices.Index(levels, level); i >= 0 {
			return i
		}
		return len(levels)
	}
	all := slices.SortedFunc(maps.Keys(profile), func(a, b string) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(a, b)) })
	return slices.DeleteFunc(all, func(level string) bool { return level == "" })
}
