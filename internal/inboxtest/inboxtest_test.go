// SPDX-License-Identifier: Apache-2.0

package inboxtest

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	if Child(openStore) {
		return
	}
	os.Exit(m.Run())
}

// A process that fails says so to the one that has started it.
func TestFailedChildrenExitWithOne(t *testing.T) {
	for _, role := range []string{"put", "take"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), env+"="+role+"|1|2|here")
		out, err := cmd.CombinedOutput()
		require.EqualError(t, err, "exit status 1")
		require.Equal(t, role+" no store at here\n", string(out))
	}
}
