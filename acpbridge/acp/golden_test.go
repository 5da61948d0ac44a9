// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goldenText compares a text with a file in testdata.
func goldenText(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if flag.Lookup("update").Value.String() == "true" {
		require.NoError(t, os.WriteFile(name, []byte(got), 0o644))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	a, b := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for i := range b {
		if i >= len(a) || a[i] != b[i] {
			t.Fatalf("line %d of %s is another one now, and go test -update writes it:\n%s", i+1, name, strings.Join(b[i:min(i+8, len(b))], "\n"))
		}
	}
	require.Len(t, b, len(a), "%s has more lines; go test -update writes it", name)
}

// GoldenText is for the tests of the package's users.
var GoldenText = goldenText
