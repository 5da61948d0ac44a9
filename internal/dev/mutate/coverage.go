// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path"
	"strings"
)

// coverage holds the blocks of a coverage profile, by file. Files are named by import path.
type coverage map[string][]block

type block struct {
	first, last int // lines
	hit         bool
}

func readCoverage(profile string) (coverage, error) {
	data, err := os.ReadFile(profile)
	if err != nil {
		return nil, err
	}
	c := coverage{}
	for line := range strings.Lines(string(data)) {
		file, rest, ok := strings.Cut(line, ":")
		if !ok || file == "mode" {
			continue
		}
		var b block
		var column, statements, count int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.first, &column, &b.last, &column, &statements, &count); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", profile, line, err)
		}
		b.hit = count > 0
		c[file] = append(c[file], b)
	}
	return c, nil
}

// covers reports whether a line of a package was executed. Lines outside of functions belong to no
// block. They count as executed if the package is in the profile.
func (c coverage) covers(pkg, file string, line int) bool {
	known := false
	for _, b := range c[pkg+"/"+file] {
		if b.first <= line && line <= b.last {
			if b.hit {
				return true
			}
			known = true
		}
	}
	if known {
		return false
	}
	for other := range c {
		if path.Dir(other) == pkg {
			return true
		}
	}
	return false
}
