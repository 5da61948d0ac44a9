// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestProgramForEditorsIsHardlyLargerThanByHand compares a program on package app with what
// examples/editor would be with sessions in SQLite.
func TestProgramForEditorsIsHardlyLargerThanByHand(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the bound is for linux/amd64")
	}
	const atMost = 1.05
	size := func(name string) float64 {
		binary := filepath.Join(t.TempDir(), name)
		build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "./testdata/"+name)
		out, err := build.CombinedOutput()
		require.NoError(t, err, "%s", out)
		file, err := os.Stat(binary)
		require.NoError(t, err)
		return float64(file.Size())
	}
	ratio := size("byapp") / size("byhand")
	t.Logf("%.3f times the size", ratio)
	require.LessOrEqual(t, ratio, atMost)
}
