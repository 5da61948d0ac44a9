// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSamplesAreShort keeps what ideagent and webagent do in package app, where other programs
// have it, too.
func TestSamplesAreShort(t *testing.T) {
	for _, program := range []string{".", "../webagent"} {
		lines := 0
		for _, dir := range []string{program, filepath.Join(program, "internal", "program")} {
			files, err := filepath.Glob(filepath.Join(dir, "*.go"))
			require.NoError(t, err)
			for _, file := range files {
				data, err := os.ReadFile(file)
				require.NoError(t, err)
				if !strings.HasSuffix(file, "_test.go") {
					lines += bytes.Count(data, []byte("\n"))
				}
			}
		}
		require.Greater(t, lines, 100, program)
		require.LessOrEqual(t, lines, 200, program)
	}
}
