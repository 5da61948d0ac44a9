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
