// SPDX-License-Identifier: Apache-2.0

package toolsettest

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/toolset"
)

// Broken returns the findings of the suite: the broken rules with their errors, and the warnings.
func Broken[D any](ctx context.Context, newToolset func() toolset.Toolset[D], deps D, cases ...Case) (broken map[string]string, warnings []string) {
	s := &suite[D]{make: newToolset, deps: deps, cases: cases}
	s.warn = func(args ...any) { warnings = append(warnings, fmt.Sprint(args...)) }
	broken = map[string]string{}
	for _, r := range s.rules() {
		if err := r.check(ctx); err != nil {
			broken[r.name] = err.Error()
		}
	}
	return broken, warnings
}
