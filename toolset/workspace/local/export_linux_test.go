// SPDX-License-Identifier: Apache-2.0

package local

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/guard"
)

// BwrapOf returns how the sandbox of a workspace starts /bin/true in a directory, as one list of
// arguments. The filter of system calls is left out: it comes by a descriptor.
func BwrapOf(t *testing.T, w *Workspace, dir string) []string {
	t.Helper()
	g := guard.Command{Path: "/bin/true", Env: w.env()}
	s, err := w.box.wrap(&g, dir, dir, false)
	require.NoError(t, err)
	defer s.done()
	listed, err := io.ReadAll(g.Files[0])
	require.NoError(t, err)
	args := strings.Split(strings.TrimSuffix(string(listed), "\x00"), "\x00")
	at := slices.Index(args, "--seccomp")
	args = slices.Delete(args, at, at+2)
	return slices.Concat([]string{g.Path}, args, g.Args[2:])
}
