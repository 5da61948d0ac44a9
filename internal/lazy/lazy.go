// SPDX-License-Identifier: Apache-2.0

// Package lazy makes values that few runs of a program need when they are needed first. A program
// would otherwise pay for them when it starts.
package lazy

import (
	"math"
	"regexp"
	"regexp/syntax"
	"sync"
)

// Regexp returns a function that compiles an expression when it is called first. It panics if the
// expression is malformed.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// Size returns about how many instructions of 60 bytes a stranger's expression compiles to: 3 kB of
// text may become three million. One that is long or malformed counts as more than any.
func Size(expr string) int {
	if len(expr) <= 1000 {
		if re, err := syntax.Parse(expr, syntax.Perl); err == nil {
			return size(re)
		}
	}
	return math.MaxInt32
}

func size(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += size(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}
