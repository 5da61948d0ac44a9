// SPDX-License-Identifier: Apache-2.0

package permissiontest_test

import (
	_ "embed"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:embed testdata/directories.txt
var directoryLines string

// linesOf are the commands of the table that are asked about, and those that are not.
func linesOf(t require.TestingT) (asked, quiet []string) {
	before, after, ok := strings.Cut(directoryLines, "\n----\n")
	require.True(t, ok)
	lines := func(text string) []string {
		return slices.DeleteFunc(strings.Split(strings.TrimSpace(text), "\n"), func(l string) bool { return strings.HasPrefix(l, "#") })
	}
	return lines(before), lines(after)
}

// Commands that read a directory are asked about if a rule is about reading a file below it.
func directories(s *suite) {
	files := map[string]string{".env": "sesame", "sub/.env": "sesame", "a.txt": "x", "sub/a.txt": "y", "cmd/a.go": "", "list": ".env"}
	asked, _ := linesOf(s)
	for _, decision := range []string{"deny", "ask"} {
		w := memory(s, files).configure(rules("auto", `{"decision":"`+decision+`","read":"**/.env"}`, `{"decision":"allow","tool":"*"}`))
		w.policy.Remember("run_command", "", "allow")
		for _, line := range asked {
			w.run(line)
			s.attack(len(w.started) == 0, "%s: %q", decision, line)
		}
	}
	// The argument is a directory of this machine, or a link to one.
	w, root := onDisk(s, map[string]string{"sub/keys/.env": "sesame", "a.txt": "x"})
	require.NoError(s, os.Symlink("sub", filepath.Join(root, "link")))
	w.configure(rules("auto", `{"decision":"deny","read":"sub/keys/**"}`))
	for _, line := range []string{
		"unheard-of sub", "unheard-of --from=sub", "unheard-of link", "unheard-of ./sub", "unheard-of sub/keys", "unheard-of " + root, "unheard-of " + root + "/sub", "mv sub other", "mv link/keys other", "cd sub && unheard-of keys", "tar cf - ..", "grep -r x /", "cp -a / /tmp/x", "rg x " + filepath.Dir(root) + "/", "cd sub && python3 -c \"print(open('keys/.env').read())\"",
		"env unheard-of sub", "unheard-of a.txt sub", "unheard-of 'sub'", "unheard-of s''ub", "unheard-of .", "unheard-of ..", "unheard-of sub/", "unheard-of -x sub", "unheard-of $X sub", "sh -c 'unheard-of sub'",
	} {
		w.run(line)
		s.attack(len(w.asked) > 0, "%q", line)
	}
}

// TestFewCommandsAreAskedAboutForTheirDirectory counts questions that a rule about reading costs.
func TestFewCommandsAreAskedAboutForTheirDirectory(t *testing.T) {
	files := map[string]string{".env": "sesame", "sub/.env": "sesame", "a.txt": "x", "sub/a.txt": "y", "a.go": "", "run.py": "", "list": ".env"}
	w := memory(t, files).configure(rules("auto", `{"decision":"deny","read":"**/.env"}`))
	_, quiet := linesOf(t)
	for _, line := range quiet {
		w.run(line)
		require.Empty(t, w.asked, line)
	}
}
