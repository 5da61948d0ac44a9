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

// Rules returns the names of the rules.
func Rules() (names []string) {
	for _, r := range new(suite[struct{}]).rules() {
		names = append(names, r.name)
	}
	return names
}

// Rule checks one rule, and returns the warnings too.
func Rule[D any](ctx context.Context, name string, newToolset func() toolset.Toolset[D], deps D, cases ...Case) (warnings []string, err error) {
	s := &suite[D]{make: newToolset, deps: deps, cases: cases}
	s.warn = func(args ...any) { warnings = append(warnings, fmt.Sprint(args...)) }
	for _, r := range s.rules() {
		if r.name == name {
			err = r.check(ctx)
		}
	}
	return warnings, err
}
