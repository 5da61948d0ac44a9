// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpbridge_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/editortest"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// failingWrites is a client whose writes do something and then fail.
type failingWrites struct {
	*fakeEditor
	before func(path, text string)
	err    error
}

func (c failingWrites) WriteTextFile(_ context.Context, req *acp.WriteTextFileRequest) (*acp.WriteTextFileResponse, error) {
	c.before(req.Path, req.Content)
	return nil, c.err
}

// An editor that fails to save a file may keep the text in its buffer, or have saved something
// before. The model is told what is there, in a directory of this machine and elsewhere.
func TestWhatAFailedWriteLeavesIsTold(t *testing.T) {
	full := acp.Errorf(acp.CodeInternal, "the disk is full")
	for name, c := range map[string]struct {
		before func(e *editortest.Editor, path, text string)
		err    error
		want   string
		here   bool // only where the disk is known
	}{
		"nothing": {
			func(*editortest.Editor, string, string) {}, full, "Could not write a: the disk is full", false,
		},
		"text in the buffer": {
			func(e *editortest.Editor, path, text string) { e.Type(path, text) }, full,
			"Could not write a: the editor has the change and has not saved it: the disk is full", false,
		},
		"half of the text": {
			func(e *editortest.Editor, path, text string) {
				_ = e.Disk.WriteFile(path, []byte(text[:2]), 0o644)
			}, full,
			"Could not write a: the file on disk has changed all the same, read it again: the disk is full", true,
		},
		"a formatter is missing": {
			func(*editortest.Editor, string, string) {}, acp.Errorf(acp.CodeInternal, "gofmt not found"),
			"Could not write a: gofmt not found", false,
		},
	} {
		for _, here := range []bool{true, false} {
			if c.here && !here {
				continue
			}
			dir, err := filepath.EvalSymlinks(t.TempDir())
			require.NoError(t, err)
			e, root := &editortest.Editor{Disk: workspacetest.OSDisk{}}, dir
			if !here {
				e.Disk, root = remoteDisk{dir: dir}, "/elsewhere/project"
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("old\n"), 0o644))
			client := &fakeEditor{acptest.New(acptest.Options{}), e}
			d := client.Deps(root)
			d.Client = failingWrites{client, func(path, text string) { c.before(e, path, text) }, c.err}
			w, err := acpbridge.NewWorkspace(d, acpbridge.LocalFallback{})
			require.NoError(t, err)
			d.Workspace = workspace.NewSession(w)
			told := runTools(t.Context(), t, client.Client, d, []model.Part{call("1", "write_file", args{"path": "a", "content": "new\n"})}).answer(t)
			require.Equal(t, model.OutcomeFailed, told.Outcome, name)
			require.Equal(t, c.want, told.Text, "%s, here: %v", name, here)
			require.NoError(t, w.Close())
			client.Close()
		}
	}
}
