// SPDX-License-Identifier: Apache-2.0

package editortest_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/ponte-go/ponte/internal/editortest"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// weighed is a disk that notes how large the files are that are written, and takes none.
type weighed struct {
	workspacetest.Disk
	notes *[]string
}

func (w weighed) WriteFile(path string, data []byte, mode fs.FileMode) error {
	*w.notes = append(*w.notes, fmt.Sprintf("%s: %d bytes, %v", path, len(data), mode))
	return errLie
}

// TestFilesOfKinds has the sizes of the files that the law is checked with, and the permissions that
// are taken away from them and from their directory.
func TestFilesOfKinds(t *testing.T) {
	if testing.Short() {
		t.Skip("short tests have no file of 5 MB")
	}
	var b strings.Builder
	for _, denies := range []bool{false, true} {
		var notes []string
		told(t, func(t *testing.T) {
			editortest.RunTruths(t, nil, func(*editortest.Editor) (*workspacetest.Env, error) {
				w, err := workspace.NewMemory(workspace.MemoryConfig{})
				if err != nil {
					return nil, err
				}
				env := &workspacetest.Env{Workspace: w, Disk: weighed{w.Disk(), &notes}}
				if denies {
					env.Disk = w.Disk()
					env.Deny = func(path string, mode fs.FileMode) error {
						notes = append(notes, fmt.Sprintf("%s: %v", path, mode))
						return errLie
					}
				}
				return env, nil
			})
		})
		fmt.Fprintf(&b, "# permissions: %v\n%s\n", denies, strings.Join(slices.Compact(notes), "\n"))
	}
	golden(t, "kinds", b.String())
}
