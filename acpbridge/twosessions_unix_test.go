// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpbridge_test

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/internal/editortest"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// slowEditor calls a function while it is about to write.
type slowEditor struct {
	*fakeEditor
	writing func()
}

func (e *slowEditor) WriteTextFile(
	ctx context.Context, req *acp.WriteTextFileRequest,
) (*acp.WriteTextFileResponse, error) {
	e.writing()
	return e.fakeEditor.WriteTextFile(ctx, req)
}

// Two sessions of an editor change one file at once. The second one is compared with what the first
// one has written, so neither change is lost, on this machine and elsewhere.
func TestTwoSessionsOfAnEditorLoseNoChange(t *testing.T) {
	there, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{"/elsewhere/project"}})
	require.NoError(t, err)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for root, disk := range map[string]workspacetest.Disk{
		dir: workspacetest.OSDisk{}, "/elsewhere/project": there.Disk(),
	} {
		synctest.Test(t, func(t *testing.T) {
			require.NoError(t, disk.WriteFile(root+"/a", []byte("old\n"), 0o644))
			fake := &fakeEditor{acptest.New(acptest.Options{}), &editortest.Editor{Disk: disk}}
			defer fake.Client.Close()
			editor := &slowEditor{fake, func() {}}
			session := func() *acpbridge.Workspace {
				d := fake.Deps(root)
				d.Client = editor
				w, err := acpbridge.NewWorkspace(d, acpbridge.LocalFallback{})
				require.NoError(t, err)
				return w
			}
			first, second := session(), session()
			defer first.Close()
			defer second.Close()
			doc, err := second.Open(t.Context(), "a", false)
			require.NoError(t, err)
			lost := make(chan error, 1)
			editor.writing = func() {
				editor.writing = func() {}
				go func() {
					_, err := second.Write(t.Context(), "a", []byte("second\n"), doc.Version)
					lost <- err
				}()
				synctest.Wait()
			}
			_, err = first.Write(t.Context(), "a", []byte("first\n"), doc.Version)
			require.NoError(t, err)
			require.ErrorIs(t, <-lost, workspace.ErrChanged, root)
			data, err := disk.ReadFile(root + "/a")
			require.NoError(t, err)
			require.Equal(t, "first\n", string(data))
			ctx, cancel := context.WithCancel(t.Context())
			editor.writing = func() { // who waits for a file ends with the context
				editor.writing = func() {}
				go func() {
					_, err := second.Write(ctx, "a", []byte("second\n"), workspace.AnyVersion)
					lost <- err
				}()
				synctest.Wait()
				cancel()
				require.ErrorIs(t, <-lost, context.Canceled)
			}
			_, err = first.Write(t.Context(), "a", []byte("again\n"), workspace.AnyVersion)
			require.NoError(t, err)
		})
	}
}
