// SPDX-License-Identifier: Apache-2.0

package editortest

import (
	"context"

	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// Kinds returns the names of the kinds of files, without those about permissions alone.
func Kinds() (names []string) {
	for _, k := range kinds() {
		if !k.denied {
			names = append(names, k.name)
		}
	}
	return names
}

// Truth checks the law of files with one kind, as [RunTruths] does.
func Truth(ctx context.Context, name, what string, newEnv func(*Editor) (*workspacetest.Env, error)) error {
	for _, k := range kinds() {
		if k.name == name {
			return k.run(ctx, nil, newEnv, what)
		}
	}
	panic("no kind " + name)
}

// KindsWithoutPermissions returns the names of the kinds of files that say what may not be done.
func KindsWithoutPermissions() (names []string) {
	for _, k := range kinds() {
		if k.mode != 0 || k.dir != 0 {
			names = append(names, k.name)
		}
	}
	return names
}

// TruthIn checks the law of files with one kind in an editor, as [RunTruths] does.
func TruthIn(
	ctx context.Context, e *Editor, name, what string, newEnv func(*Editor) (*workspacetest.Env, error),
) error {
	for _, k := range kinds() {
		if k.name == name {
			return k.run(ctx, e, newEnv, what)
		}
	}
	panic("no kind " + name)
}

// Short cuts a long text in its middle, as errors do.
func Short(s string) string { return short(s) }
