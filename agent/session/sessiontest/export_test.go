// SPDX-License-Identifier: Apache-2.0

package sessiontest

import (
	"context"
	"slices"
)

// Broken returns which of the rules a store breaks, of all rules if none are named.
func Broken(ctx context.Context, newTarget func() *Target, names ...string) map[string]string {
	broken := map[string]string{}
	for _, r := range rules() {
		if len(names) > 0 && !slices.Contains(names, r.name) {
			continue
		}
		target := newTarget()
		if err := r.run(ctx, target); err != nil {
			broken[r.name] = err.Error()
		}
		if target.Close != nil {
			target.Close()
		}
	}
	return broken
}

// Rules returns the names of all rules.
func Rules() []string {
	var names []string
	for _, r := range rules() {
		names = append(names, r.name)
	}
	return names
}

// Group returns the names of the rules of a group.
func Group(n int) []string {
	var names []string
	for _, r := range groups()[n] {
		names = append(names, r.name)
	}
	return names
}

// Asked shows a query.
var Asked = asked
