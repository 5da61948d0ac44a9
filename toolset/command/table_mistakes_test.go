// SPDX-License-Identifier: Apache-2.0

package command

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The table is part of the program, so its mistakes are found when the program starts.
func TestMistakesOfTheTable(t *testing.T) {
	for line, want := range map[string]string{
		"ls | looks | -a":             "want 4 columns",
		"ls | looks | -a | path | x":  "want 4 columns",
		"ls | eats | -a | path":       `unknown mark "eats"`,
		"ls | looks | -a=bear | path": `unknown kind "bear"`,
		"ls | looks | -a | bear":      `unknown kind "bear"`,
	} {
		want = "command: table: " + want + ": " + line
		require.PanicsWithValue(t, want, func() { parseRule(line) })
	}
	require.Equal(t, &Rule{
		Words: []string{"ls", "x"}, Class: "changes", class: changes, Root: true, single: true,
		Options:  map[string]string{"-a": "", "-b": "word", "-c": "number", "-#": "number"},
		optional: map[string]bool{"-b": false, "-c": true}, count: true, Operands: "path", most: 2,
	}, parseRule("ls x | changes root single | -a -b=word -c?=number -# | path:2"))
}
