// SPDX-License-Identifier: Apache-2.0

package hide

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Controls replaces terminal control characters and invisible characters by U+FFFD. It keeps line
// breaks, tabs and blanks. Package show writes such characters out, but its tables make small
// programs larger: this is for the errors of packages that all programs link.
func Controls(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || strconv.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, text)
}
