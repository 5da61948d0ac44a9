// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
)

// TestProgressIsOneLineOfATerminal draws the line, and looks at files that are no terminals.
func TestProgressIsOneLineOfATerminal(t *testing.T) {
	var out strings.Builder
	show := progressLine(&out)
	used := toolset.Usage{Requests: 7, Cost: 0.25}
	show(Progress{Status: StatusCompleted, Done: 1, Total: 3, Left: 90 * time.Second})
	show(Progress{Status: StatusFailed, Done: 2, Total: 3, Usage: used, Left: 8400 * time.Millisecond})
	show(Progress{Status: StatusUnavailable, Done: 3, Total: 3, Usage: used, Elapsed: time.Minute})
	require.Equal(t, "\r\x1b[K1 of 3 trials, 0 requests, 1m30s left"+
		"\r\x1b[K2 of 3 trials, 1 failed, 7 requests, cost 0.2500, 8s left"+
		"\r\x1b[K3 of 3 trials, 1 failed, 1 unavailable, 7 requests, cost 0.2500, 1m0s\n", out.String())

	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer f.Close()
	require.Nil(t, ProgressLine(f))
}
