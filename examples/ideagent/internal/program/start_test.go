// SPDX-License-Identifier: Apache-2.0

package program

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStartDoesLittle bounds what packages do before main. An editor waits for it whenever it starts the agent. Bytes stand for the time, which
// depends on the machine: most of it went into tables and patterns that few runs need.
func TestStartDoesLittle(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), binary, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace strings.Builder
	cmd.Stderr = &trace
	require.NoError(t, cmd.Run())
	total, packages := 0, 0
	for line := range strings.Lines(trace.String()) {
		var name, at, clock string
		var bytes, allocs int
		// init internal/bytealg @0.005 ms, 0 ms clock, 0 bytes, 0 allocs
		if n, _ := fmt.Sscanf(line, "init %s @%s ms, %s ms clock, %d bytes, %d allocs", &name, &at, &clock, &bytes, &allocs); n != 5 {
			continue
		}
		packages++
		total += bytes
		require.Less(t, bytes, 400_000, "%s does too much when the program starts: do it when it is needed", name)
	}
	require.Greater(t, packages, 50)
	t.Logf("%d bytes", total)
	require.Less(t, total, 2_500_000)
}
