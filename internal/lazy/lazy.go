// SPDX-License-Identifier: Apache-2.0

// Package lazy makes values that few runs of a program need when they are needed first. A program
// would otherwise pay for them when it starts.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that compiles an expression when it is called first. It panics if the
// expression is malformed.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
