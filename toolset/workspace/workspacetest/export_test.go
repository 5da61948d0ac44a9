// SPDX-License-Identifier: Apache-2.0

package workspacetest

import "context"

// Broken returns what is wrong with a workspace, by rule.
func Broken(ctx context.Context, newEnv func() (*Env, error)) map[string]string {
	broken := map[string]string{}
	for _, r := range append(rules(), toolRules(nil)...) {
		if err := r.run(ctx, newEnv); err != nil {
			broken[r.name] = err.Error()
		}
	}
	return broken
}

// Rule checks one rule.
func Rule(ctx context.Context, name string, newEnv func() (*Env, error)) error {
	for _, r := range append(rules(), toolRules(nil)...) {
		if r.name == name {
			return r.run(ctx, newEnv)
		}
	}
	panic("no rule " + name)
}

// Rules returns the names of all rules.
func Rules() []string {
	var names []string
	for _, r := range append(rules(), toolRules(nil)...) {
		names = append(names, r.name)
	}
	return names
}
