// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset/command"
)

// The effects of lines are as testdata/effects.txt has them: each line after "$ ", and below it what
// it reads, writes, runs and reaches, in the form of written, with "⏎" for a line break. A change there
// is a change of what rules are asked about.
func TestEffectsOfManyLines(t *testing.T) {
	const name = "testdata/effects.txt"
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	var lines, want []string
	for entry := range strings.SplitSeq(strings.TrimPrefix(string(data), "$ "), "\n$ ") {
		line, _, _ := strings.Cut(entry, "\n")
		lines = append(lines, line)
		want = append(want, "$ "+strings.TrimSuffix(entry, "\n"))
	}
	var got []string
	for _, line := range lines {
		effects := command.Effects(command.Command{Line: unwritten.Replace(line), Dir: "/repo"}, command.Place{})
		text := "$ " + line
		for _, e := range effects {
			text += "\n\t" + strings.ReplaceAll(written([]model.Effect{e}), "\n", "⏎")
		}
		got = append(got, text)
	}
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(strings.Join(got, "\n")+"\n"), 0o644))
		return
	}
	for i := range want {
		require.Equal(t, want[i], got[i])
	}
}

// unwritten makes the lines of the file those of a shell.
var unwritten = strings.NewReplacer("⏎", "\n", "␁", "\x01", "␂", "\u0080")
