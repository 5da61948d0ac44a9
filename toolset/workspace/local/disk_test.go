// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace/local"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// open opens a workspace on a new directory, and closes it in the end.
func open(t testing.TB, c local.Config) (*local.Workspace, string) {
	t.Helper()
	if len(c.Roots) == 0 {
		c.Roots = []string{t.TempDir()}
	}
	w, err := local.Open(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return w, w.Roots()[0]
}

func put(t testing.TB, name, text string) {
	t.Helper()
	require.NoError(t, workspacetest.OSDisk{}.WriteFile(name, []byte(text), 0o644))
}
