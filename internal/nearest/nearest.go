// SPDX-License-Identifier: Apache-2.0

// Package nearest finds the name that was probably meant.
package nearest

import (
	"strings"
	"unicode/utf8"
)

// Of returns the name that is so close to name that it was probably meant, the first of several, or nothing.
func Of(name string, names func(yield func(string) bool)) string {
	if len(name) > 64 {
		return ""
	}
	best, least := "", 1+utf8.RuneCountInString(plain(name))/3
	for known := range names {
		if d := distance(plain(name), plain(known)); d < least || d == least && best == "" {
			best, least = known, d
		}
	}
	return best
}

// plain makes names alike that differ in style only: userName, user_name, User-Name.
func plain(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
}

// distance is the number of characters to insert, remove or replace, or of neighbours to swap, to turn a into b.
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	before, above, row := make([]int, len(to)+1), make([]int, len(to)+1), make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range from {
		before, above, row = above, row, before
		row[0] = i + 1
		for j, s := range to {
			cost := above[j]
			if r != s {
				cost = 1 + min(cost, above[j+1], row[j])
				if i > 0 && j > 0 && r == to[j-1] && s == from[i-1] {
					cost = min(cost, before[j-1]+1)
				}
			}
			row[j+1] = cost
		}
	}
	return row[len(to)]
}
