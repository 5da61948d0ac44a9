// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// What git tracks is what list_files lists. Git decides; the table has what differs between
// implementations.
func TestIgnoreFilesMeanWhatGitMeans(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("needs git")
	}
	names := []string{
		"a", "b.log", "dir/a", "dir/b.log", "dir/sub/a", "dir/sub/deep/b.log", "build/x", "src/build/x", "foo/bar", "x/foo/bar", "foobar", "#hash", "!bang", "sp ace", "trail ", "{a,b}", "a1", "a2", "ab", "[x]", "back\\slash",
		"docs/x.md", "docs/a/x.md", "docs/a/b/x.md", "deep/a/b/c/d", "weird**name", "star*", "q?", ".hidden", "dir/.hidden", "A",
	}
	for _, rules := range []map[string]string{
		{".gitignore": "*.log\n"}, {".gitignore": "/a\n"}, {".gitignore": "a\n"}, {".gitignore": "dir/\n"}, {".gitignore": "a/\n"}, {".gitignore": "build/\n"}, {".gitignore": "/build\n"}, {".gitignore": "foo/bar\n"},
		{".gitignore": "**/foo\n"}, {".gitignore": "docs/**\n"}, {".gitignore": "docs/**/x.md\n"}, {".gitignore": "docs/*\n"}, {".gitignore": "docs/*.md\n"}, {".gitignore": "*\n!docs\n!docs/x.md\n"}, {".gitignore": "/*\n!/dir\n"},
		{".gitignore": "dir\n!dir/a\n"}, {".gitignore": "dir/*\n!dir/a\n"}, {".gitignore": "*.log\n!b.log\n"}, {".gitignore": "!b.log\n*.log\n"}, {".gitignore": "#hash\n"}, {".gitignore": "\\#hash\n\\!bang\n"}, {".gitignore": "trail \nsp ace\n"},
		{".gitignore": "trail\\ \n"}, {".gitignore": "{a,b}\n"}, {".gitignore": "a[0-9]\n"}, {".gitignore": "a[!0-9]\n"}, {".gitignore": "a[^0-9]\n"}, {".gitignore": "\\[x\\]\n"}, {".gitignore": "[[]x]\n"}, {".gitignore": "a?\n"}, {".gitignore": "back\\\\slash\n"},
		{".gitignore": "weird**\n"}, {".gitignore": "deep/**/d\n"}, {".gitignore": "deep/a/**/d\n"}, {".gitignore": "**/d\n"}, {".gitignore": "**\n!**/\n!*.md\n"}, {".gitignore": "star\\*\nq\\?\n"}, {".gitignore": ".*\n!.gitignore\n"},
		{".gitignore": "*.log\n", "dir/.gitignore": "!b.log\n"}, {".gitignore": "", "dir/.gitignore": "/a\nsub\n"}, {".gitignore": "\r\na\r\n*.log\r\n"}, {".gitignore": "\ufeffa\n"}, {".gitignore": "dir/sub/deep\n"}, {".gitignore": "sub/deep\n"},
		{".gitignore": "/**/build\n"}, {".gitignore": "build/**\n"}, {".gitignore": "**/build/**\n"}, {".gitignore": "/\n//\n"}, {".gitignore": "a[\n"}, {".gitignore": "foo/**/bar\n"}, {".gitignore": "d*r/*\n"},
	} {
		dir := t.TempDir()
		files := map[string]string{}
		put := func(name, text string) {
			files[name] = text
			path := filepath.Join(dir, filepath.FromSlash(name))
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
		for _, n := range names {
			put(n, "")
		}
		for n, text := range rules {
			put(n, text)
		}
		run := func(args ...string) []byte {
			cmd := exec.Command(git, args...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "HOME="+dir)
			out, err := cmd.Output()
			require.NoError(t, err)
			return out
		}
		run("init", "-q")
		var want []string
		for name := range bytes.SplitSeq(bytes.TrimSuffix(run("ls-files", "-z", "--others", "--exclude-standard"), []byte{0}), []byte{0}) {
			switch shown := string(name); {
			case shown == "":
			case strings.TrimSpace(shown) != shown: // it is shown in quotes
				want = append(want, strconv.Quote(shown))
			default:
				want = append(want, shown)
			}
		}
		slices.Sort(want)
		r, _ := inMemory(t, workspace.MemoryConfig{Files: files})
		got := slices.DeleteFunc(strings.Split(r.call("list_files", args{"pattern": "**"}), "\n"), func(s string) bool { return s == "" || s == "[no files]" })
		slices.Sort(got)
		require.Equal(t, want, got, "%q", rules)
	}
}
