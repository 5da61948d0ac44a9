// SPDX-License-Identifier: Apache-2.0

package command

import "unicode"

// isVisible reports whether a character shows itself, and nothing but itself: no control and no format character, no space, no
// private or unassigned one, none of those that fonts leave blank.
func isVisible(r rune) bool {
	switch r {
	case '\u00AD', '\u034F', '\u115F', '\u1160', '\u17B4', '\u17B5', '\u2800', '\u3164', '\uFFA0', '\uFFFD':
		return false // soft hyphen, fillers, blank braille, and what stands for broken text
	}
	if unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) {
		return false
	}
	return unicode.IsGraphic(r) && !unicode.IsSpace(r)
}
