// SPDX-License-Identifier: Apache-2.0

package acpview_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryUpdateMayBeRefused plays each script to clients that take nothing, everything, and everything late and in terminals, and to ones
// that refuse one update after another. What clients get is compared with a record: of those that refuse, what they get otherwise.
// To write it anew, set UPDATE, and read what has changed.
func TestEveryUpdateMayBeRefused(t *testing.T) {
	var got strings.Builder
	for _, name := range []string{"calls", "output", "rest", "words"} {
		script, err := os.ReadFile("testdata/" + name + ".txt")
		require.NoError(t, err)
		for part := range strings.SplitSeq(string(script), "\n\n") {
			var plain []string
			title := ""
			for line := range strings.Lines(part) {
				line = strings.TrimSpace(line)
				switch {
				case title == "":
					title = line
				case strings.HasPrefix(line, "options"), strings.HasPrefix(line, "fail"):
				default:
					plain = append(plain, line)
				}
			}
			for _, options := range []string{
				`{}`, `{"Notices":true,"Compactions":true,"Plans":true,"Subagents":true,"Prompts":true}`,
				`{"Notices":true,"Compactions":true,"Plans":true,"Subagents":true,"Prompts":true,"Late":true,"Terminal":"terminal_output_delta"}`,
			} {
				play := func(fail int) []string {
					with := append([]string{"options " + options, fmt.Sprint("fail ", fail)}, plain...)
					return strings.Split(strings.TrimSpace(played(t, strings.Join(append(with, "all", "all"), "\n"))), "\n")
				}
				all := play(0)
				fmt.Fprintf(&got, "%s, options %s\n%s\n", title, options, strings.Join(all, "\n"))
				for n := 1; n <= 12; n++ {
					now := play(n)
					if slices.Equal(now, all) {
						break // there are not so many updates
					}
					rest := slices.Clone(all)
					fmt.Fprintf(&got, "refuses update %d:\n", n)
					for _, line := range now {
						if i := slices.Index(rest, line); i >= 0 {
							rest = slices.Delete(rest, i, i+1)
							continue
						}
						if strings.HasPrefix(line, "refused: ") {
							line = line[:min(len(line), 120)]
						}
						fmt.Fprintln(&got, "+", line)
					}
					for _, line := range rest {
						fmt.Fprintln(&got, "-", line[:min(len(line), 120)])
					}
				}
				got.WriteString("\n")
			}
		}
	}
	const path = "testdata/mischief.want"
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(got.String()), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got.String())
}
