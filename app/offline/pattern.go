// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"regexp"
	"sync"
)

// pattern returns a function that compiles an expression when it is called first. Programs that have this model and do not use it would
// otherwise pay for it when they start.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
