// SPDX-License-Identifier: Apache-2.0

//go:build unix

package host_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session/host"
)

// Nobody writes to the pipe: to open it would wait for good.
func TestTemplatesSkipPipes(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe.md"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "review.md"), []byte("Review."), 0o600))
	all, err := host.Templates(os.DirFS(dir), ".")
	require.ErrorContains(t, err, `"pipe.md": it is not a regular file`)
	require.Len(t, all, 1)
}
