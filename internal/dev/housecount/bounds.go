// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
)

// maxFile is the number of lines that a file may have without being listed in the bounds.
const maxFile = 400

// bounds are the most that the house may have of each figure, by its name.
type bounds map[string]int

// figures returns what is bounded: the size of the house, the long lines of each room, and the
// largest file of each room if it has more than maxFile lines.
func (h *house) figures() bounds {
	b := bounds{
		"thousand lines": (h.lines + 999) / 1000, "packages": len(h.public()), "symbols": h.symbols(),
		"twins": len(h.twins()),
	}
	for _, r := range h.rooms {
		if r.long > 0 {
			b["long "+r.name] = r.long
		}
		if r.largest.lines > maxFile {
			b["file "+r.name] = r.largest.lines
		}
	}
	return b
}

// parseBounds reads lines such as "55 packages" and "12 long agent/model".
func parseBounds(text string) (bounds, error) {
	b := bounds{}
	for line := range strings.Lines(text) {
		number, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		var most int
		if _, err := fmt.Sscan(number, &most); err != nil || name == "" {
			return nil, fmt.Errorf("bounds: %q has no number and name", line)
		}
		b[name] = most
	}
	return b, nil
}

func (b bounds) String() string {
	var lines []string
	for name, most := range b {
		lines = append(lines, fmt.Sprintf("%d %s\n", most, name))
	}
	slices.SortFunc(lines, func(a, b string) int {
		_, a, _ = strings.Cut(a, " ")
		_, b, _ = strings.Cut(b, " ")
		return strings.Compare(a, b)
	})
	return strings.Join(lines, "")
}

// exceeded describes the figures that are above their bounds. A figure without a bound may only
// be 0, except that a file may have maxFile lines.
func (b bounds) exceeded(figures bounds) []string {
	var all []string
	for name, n := range figures {
		if n > b[name] {
			all = append(all, fmt.Sprintf("%s: %d, at most %d", name, n, b[name]))
		}
	}
	slices.Sort(all)
	return all
}

// lowered returns the bounds as low as the figures allow. None is raised.
func (b bounds) lowered(figures bounds) bounds {
	low := bounds{}
	for name, most := range b {
		if n := min(most, figures[name]); n > 0 {
			low[name] = n
		}
	}
	return low
}
