// SPDX-License-Identifier: Apache-2.0

package protect_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/protect"
)

var update = flag.Bool("update", false, "write the table of protected paths into docs/approvals.md")

// TestProtectedPathsAreDocumented keeps the table of protected paths in docs/approvals.md. To write it:
//
//	go test ./internal/protect -run TestProtectedPathsAreDocumented -update
func TestProtectedPathsAreDocumented(t *testing.T) {
	const page, begin, end = "../../docs/approvals.md", "<!-- protected paths -->\n", "<!-- end of protected paths -->"
	var b strings.Builder
	b.WriteString("| Why | Paths |")
	b.WriteString("\n|---|---|")
	why := ""
	for _, p := range protect.Paths() {
		if p.Why != why {
			why = p.Why
			b.WriteString("\n| " + why + " | ")
		} else {
			b.WriteString(", ")
		}
		b.WriteString("`" + p.Name + "`")
		if p.Why == "" {
			t.Error(p.Name)
		}
	}
	text := strings.ReplaceAll(b.String()+"\n", "`\n", "` |\n")
	data, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(data), begin)
	require.True(t, ok)
	table, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(before+begin+text+end+after), 0o600))
		return
	}
	require.Equal(t, text, table, "run with -update")
}

func TestNamesOfOneFileAreFolded(t *testing.T) {
	for name, want := range map[string]string{
		".git": ".git", ".GIT": ".git", ".g\u200cit": ".git", ".git.": ".git", ".git ": ".git", ".git::$INDEX_ALLOCATION": ".git", "GIT~1": ".git", "git~2": ".git", "\ufeff.git": ".git",
		"ba\u017fhrc": "bashrc", "con\ufb01g": "config", "\u212aeys": "keys", "C:": "c:", ".": ".", "..": "..", "größe": "grösse", "BASHRC~1": ".bashrc", "mcp~2.jso": ".mcp.json", "x~1": "x~1", "bashrc~": "bashrc~", "bashrc~x": "bashrc~x", "a~b": "a~b", "x:y": "x:y", "\x80": "\ufffd",
	} {
		require.Equal(t, want, protect.Fold(name), "%q", name)
	}
}

func FuzzFind(f *testing.F) {
	f.Add(".git/config")
	f.Add("a/../.GIT::$DATA/x")
	f.Add("a/.GitHub") // a directory of protected paths, in which others are not
	f.Fuzz(func(t *testing.T, name string) {
		if p := protect.Find(name); p != nil {
			require.NotEmpty(t, p.Why)
			below := protect.Find(name+"/x") != nil
			for i, c := range p.Name { // or that path, if this is a directory of it
				below = below || c == '/' && protect.Find(name+p.Name[i:]) != nil
			}
			require.True(t, below, "what is below is protected too")
		}
		require.NotNil(t, protect.Find(strings.TrimRight(name, "/")+"/.git"))
	})
}

// TestTheSandboxProtectsTheSamePaths compares the list with the one of the sandbox, in which git may
// write most of its own files.
func TestTheSandboxProtectsTheSamePaths(t *testing.T) {
	listed := func(file string) (all []string) {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range strings.Lines(string(data)) {
			if line = strings.TrimSpace(line); line == "" || line[0] == '#' || strings.HasSuffix(line, ":") {
				continue
			}
			for name := range strings.FieldsSeq(line) {
				if name != ".git" && !strings.HasPrefix(name, ".git/") {
					all = append(all, name)
				}
			}
		}
		return all
	}
	require.ElementsMatch(t, listed("paths.txt"), listed("../../toolset/workspace/local/protected.txt"))
}

func TestPatternsAreWhatTheyMayMatch(t *testing.T) {
	for name, protected := range map[string]bool{
		".env*": true, ".envr?": true, ".[e]nvrc": true, ".[!x]nvrc": true, ".*": true, ".g*": true, ".gi[": false, ".[[:alpha:]]nvrc": true, ".[[:alpha:]]*": true, "Jenkins*": true, "[J]enkinsfile": true, "a/.git*/x": true, ".v*/tasks.json": true,
		"*": false, "*.yml": false, "?git": false, "src/*": false, "x*": false, ".zq*": false, "g*.go": false, "[x": false, "etc/*.d": false,
	} {
		require.Equal(t, protected, protect.Find(name) != nil, "%q", name)
	}
}

// "…" is text that is only known when a command runs. It may have slashes in it.
func TestNamesThatAreKnownInPartMayBeProtected(t *testing.T) {
	for name, protected := range map[string]bool{
		".env…": true, "…envrc": true, ".gith…ows": true, ".gith…ows/x": true, "a/.vsc…n": true, ".git…/x.yml": true, "Jen…file": true, ".ssh/…": true,
		"…": false, "…/…": false, "…/x": false, "x…": false, "gith…ows": false, ".zith…ows": false, ".…x": true, "src/…": false,
	} {
		require.Equal(t, protected, protect.Find(name) != nil, "%q", name)
	}
	for _, c := range []struct {
		pattern, name string
		agreed        int
	}{
		{".envrc", ".env…", 5}, {".envrc", "…rc", 2}, {".envrc", "…", 0}, {".envrc", "x…", -1}, {"envrc", "xenvrc", -1}, {"abc", "b…", -1}, {"*.key", "a….key", 4}, {"*", "….txt", 0}, {"a?c", "a…", 1}, {".env", ".x…", -1}, {"", "…", 0}, {"a", "", -1}, {"*a", "ba…", 1},
	} {
		require.Equal(t, c.agreed, protect.Agreement(c.pattern, c.name), "%q %q", c.pattern, c.name)
	}
}
