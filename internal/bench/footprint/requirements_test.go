// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestASmallProgramRequiresLittle counts what the module of a program with agent and openaimodel
// requires. The tests of the packages that it imports count: go.sum has their modules, too.
func TestASmallProgramRequiresLittle(t *testing.T) {
	const requirements, sums = 15, 36
	house, err := filepath.Abs("../../..")
	require.NoError(t, err)
	dir := t.TempDir()
	program, err := os.ReadFile("main.go")
	require.NoError(t, err)
	for name, text := range map[string]string{
		"main.go": string(program),
		"go.mod": "module example.com/small\n\ngo 1.26.0\n\nrequire github.com/ponte-go/ponte v0.0.0\n\n" +
			"replace github.com/ponte-go/ponte => " + filepath.ToSlash(house) + "\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	tidy := exec.CommandContext(t.Context(), "go", "mod", "tidy")
	tidy.Dir = dir
	tidy.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if out, err := tidy.CombinedOutput(); err != nil {
		if os.Getenv("PONTE_INTEROP") == "require" || os.Getenv("CI") == "true" {
			t.Fatalf("go mod tidy: %v\n%s", err, out)
		}
		t.Skipf("this needs modules that are not in the cache, and the network: go mod tidy: %s", out)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	require.NoError(t, err)
	required := 1 + bytes.Count(mod, []byte("// indirect"))
	sum, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	require.NoError(t, err)
	require.LessOrEqual(t, required, requirements, "%s", mod)
	require.LessOrEqual(t, bytes.Count(sum, []byte("\n")), sums, "%s", sum)
}
