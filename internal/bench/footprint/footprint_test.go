// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the program may weigh, stripped, and how many modules of others may be linked into it: README.md, one folder up, says why
// there are more of them than the 12 that were wanted.
const (
	maxBytes   = 9_000_000
	maxModules = 14
)

func TestASmallProgramStaysSmall(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the bound is for linux/amd64")
	}
	binary := filepath.Join(t.TempDir(), "footprint")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, ".")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	file, err := os.Stat(binary)
	require.NoError(t, err)
	info, err := buildinfo.ReadFile(binary)
	require.NoError(t, err)
	t.Logf("%.2f MB, %d modules", float64(file.Size())/1e6, len(info.Deps))
	for _, dep := range info.Deps {
		t.Logf("%s %s", dep.Path, dep.Version)
	}
	require.LessOrEqual(t, file.Size(), int64(maxBytes))
	require.LessOrEqual(t, len(info.Deps), maxModules)
}
