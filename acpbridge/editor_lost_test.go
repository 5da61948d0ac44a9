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

// goneEditor is an editor whose connection has ended.
type goneEditor struct{ *acptest.Client }

func (goneEditor) ReadTextFile(context.Context, *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
	return nil, acp.ErrClosed
}

func TestEditorThatIsGoneIsALostWorkspace(t *testing.T) {
	editor := acptest.New(acptest.Options{Files: map[string]string{"/project/a.txt": "a\n"}})
	defer editor.Close()
	d := editor.Deps("/project")
	d.Client = goneEditor{editor}
	ws, err := acpbridge.NewWorkspace(d, acpbridge.LocalFallback{})
	require.NoError(t, err)
	defer ws.Close()
	_, err = ws.Read(t.Context(), "a.txt", workspace.Range{})
	require.ErrorIs(t, err, workspace.ErrLost, "so that the tool ends the run instead of telling the model")
	require.ErrorIs(t, err, acp.ErrClosed)
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
