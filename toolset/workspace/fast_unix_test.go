// SPDX-License-Identifier: Apache-2.0

//go:build unix

package workspace_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// A command writes more than is kept before anybody looks.
func TestModelSeesTheBeginningOfAnOutputThatIsLost(t *testing.T) {
	for _, keeps := range []int{1 << 20, 1000} {
		disk, err := local.Open(local.Config{Roots: []string{t.TempDir()}, OutputLimit: keeps})
		require.NoError(t, err)
		t.Cleanup(func() { _ = disk.Close() })
		r := newRig(t, disk)
		text := r.call("run_command", args{"command": "seq 1 400000"}) // 2.7 MB
		require.Regexp(t, `^1\n2\n3\n`, text)
		require.Regexp(t, `\n399999\n400000\n\[exit code 0\]$`, text)
		asked := regexp.MustCompile(`bytes left out here\..*terminal_id "(.*)"`).FindStringSubmatch(text)
		require.NotNil(t, asked)
		middle := r.call("get_terminal_output", args{"terminal_id": asked[1], "from": 1_500_000})
		require.Contains(t, middle, "[The output before position ")
	}
}
