// SPDX-License-Identifier: Apache-2.0

package program

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each of these writes something to standard output, which is a full disk.
func TestOutputOnAFullDiskIsAnError(t *testing.T) {
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}` + "\n"
	for _, c := range []struct {
		args  []string
		input string
	}{
		{[]string{"-h"}, ""}, {[]string{"help"}, ""}, {[]string{"version"}, ""}, {[]string{"sessions", "-h"}, ""}, {[]string{"proxy", "-h"}, ""},
		{[]string{"chat", "-agents"}, ""}, {[]string{"chat", "-h"}, ""},
		{[]string{"chat", "-model", "offline", "help"}, ""}, {[]string{"chat", "-model", "offline", "-json", "help"}, ""},
		{[]string{"chat", "-model", "offline", "-scratch", "-dir", t.TempDir(), "help"}, ""},
		{[]string{"chat", "-model", "offline"}, "help\nhelp\n"},
		{[]string{"-model", "offline", "-no-store"}, initialize},
		{[]string{"proxy", binary, "-model", "offline", "-no-store"}, initialize},
	} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		require.NoError(t, err)
		cmd := exec.CommandContext(t.Context(), binary, c.args...)
		var errs bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(c.input), full, &errs
		require.Error(t, cmd.Run(), c.args)
		require.NoError(t, full.Close())
		require.Equal(t, 1, cmd.ProcessState.ExitCode(), c.args)
		require.Contains(t, errs.String(), "no space left on device", c.args)
		require.NotContains(t, errs.String(), "written: the output", c.args)
	}
}
