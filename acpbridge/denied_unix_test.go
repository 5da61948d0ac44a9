// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpbridge_test

import (
	"os"
	"testing"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/internal/editortest"
	"github.com/ponte-go/ponte/internal/unprivtest"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// A file that may not be read or written stays as it is in every editor, through it and past it, and
// the model and the user are told why, also by an undo.
func TestThreeTruthsAgreeInEditorsWherePermissionsAreMissing(t *testing.T) {
	if !unprivtest.Here(t) {
		return
	}
	both := acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}
	for i, e := range editortest.Editors() {
		if e.Lazy { // it writes nothing that could be denied
			continue
		}
		if i%2 != 0 && !*everyEditor {
			continue
		}
		for name, can := range map[string]acp.FileSystemCapabilities{"": both, ", read only": {ReadTextFile: true}} {
			if !can.WriteTextFile && !*everyEditor && e.Name != "faithful" { // this machine writes: it is the same for most
				continue
			}
			t.Run(e.Name+name, func(t *testing.T) {
				env := truthEnv(t, can, acpbridge.LocalFallback{Files: !can.WriteTextFile})
				fresh := func() *editortest.Editor { return editortest.Editors()[i] }
				editortest.RunTruths(t, fresh, func(e *editortest.Editor) (*workspacetest.Env, error) {
					made, err := env(e)
					if err == nil {
						made.Deny = os.Chmod
					}
					return made, err
				})
			})
		}
	}
}
