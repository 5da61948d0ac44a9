// SPDX-License-Identifier: Apache-2.0

//go:build linux

package web

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFileThatNobodyOpensIsRemoved(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	open("desk", "http://127.0.0.1:1/?token=x")()
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, left)
}
