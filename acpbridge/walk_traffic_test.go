// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/deps"
	ws "github.com/ponte-go/ponte/toolset/workspace"
)

// A list of files is made on this machine. The editor is asked about each file only if details are
// wanted, and never about directories.
func TestTheEditorIsAskedForDetailsOnly(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("disk"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	for details, asked := range map[bool]int{false: 0, true: 1} {
		e := &distant{t: t, answer: func(context.Context, string) (string, error) {
			return `{"content":"the editor has more"}`, nil
		}}
		s := &deps.Session{ID: "s", Cwd: dir}
		s.Capabilities.FS.ReadTextFile = true
		d := deps.ACPDeps{Client: e, Session: s}
		w, err := acpbridge.NewWorkspace(d, acpbridge.LocalFallback{Files: true})
		require.NoError(t, err)
		sizes := map[string]int64{}
		for info, err := range w.Walk(t.Context(), ".", ws.WalkOptions{Details: details}) {
			require.NoError(t, err)
			if info.Mode.IsRegular() {
				sizes[filepath.Base(info.Path)] = info.Size
			}
		}
		require.Len(t, e.take(), asked)
		if details {
			require.Equal(t, map[string]int64{"a.txt": int64(len("the editor has more"))}, sizes)
		}
		require.NoError(t, w.Close())
	}
}
