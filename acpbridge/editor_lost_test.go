// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// goneEditor is an editor whose reads fail from a write on, or always.
type goneEditor struct {
	*acptest.Client
	gone *bool
	err  error
}

func (e goneEditor) ReadTextFile(ctx context.Context, r *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
	if *e.gone {
		return nil, e.err
	}
	return e.Client.ReadTextFile(ctx, r)
}

func (e goneEditor) WriteTextFile(ctx context.Context, r *acp.WriteTextFileRequest) (*acp.WriteTextFileResponse, error) {
	*e.gone = true
	return e.Client.WriteTextFile(ctx, r)
}

// Whatever is asked of an editor that cannot answer is an error: the end of its connection is that
// of the workspace, so that the tool ends the run instead of telling the model.
func TestEditorThatCannotAnswerIsAnError(t *testing.T) {
	read := func(r workspace.Range) func(ws workspace.Workspace) error {
		return func(ws workspace.Workspace) error {
			_, err := ws.Read(t.Context(), "a.txt", r)
			return err
		}
	}
	for name, do := range map[string]func(ws workspace.Workspace) error{
		"the file": read(workspace.Range{}), "lines": read(workspace.Range{Line: 2}), "one line": read(workspace.Range{Lines: 1}),
		"what was written": func(ws workspace.Workspace) error {
			_, err := ws.Write(t.Context(), "a.txt", []byte("b\n"), workspace.AnyVersion)
			return err
		},
	} {
		for _, broken := range []error{acp.ErrClosed, acp.Errorf(acp.CodeInternal, "out of order")} {
			editor := acptest.New(acptest.Options{Files: map[string]string{"/project/a.txt": "a\nb\n"}})
			d := editor.Deps("/project")
			gone := name != "what was written"
			d.Client = goneEditor{editor, &gone, broken}
			ws, err := acpbridge.NewWorkspace(d, acpbridge.LocalFallback{})
			require.NoError(t, err)
			err = do(ws)
			if broken == acp.ErrClosed {
				require.ErrorIs(t, err, workspace.ErrLost, name)
				require.ErrorIs(t, err, acp.ErrClosed, name)
			} else {
				require.ErrorContains(t, err, `"a.txt": out of order`, name)
			}
			require.NoError(t, ws.Close())
			editor.Close()
		}
	}
}

// Nobody knows where the files of a session are whose directory is not absolute.
func TestRelativeDirectoryIsNoWorkspace(t *testing.T) {
	editor := acptest.New(acptest.Options{})
	defer editor.Close()
	ws, err := acpbridge.NewWorkspace(editor.Deps("project"), acpbridge.LocalFallback{})
	require.NoError(t, err)
	require.Zero(t, ws.Features())
	require.NoError(t, ws.Close())
}

func TestEditorWorkspaceResolvesNoPathOutside(t *testing.T) {
	editor := acptest.New(acptest.Options{Files: map[string]string{"/project/a.txt": "a\n"}})
	defer editor.Close()
	ws, err := acpbridge.NewWorkspace(editor.Deps("/project"), acpbridge.LocalFallback{})
	require.NoError(t, err)
	defer ws.Close()
	require.NoError(t, ws.Resolve(t.Context(), "a.txt"))
	require.ErrorIs(t, ws.Resolve(t.Context(), "../a.txt"), workspace.ErrOutside)
}
