// SPDX-License-Identifier: Apache-2.0

package local

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// relatives returns paths relative to a root, with the targets of links.
func relatives(root string, all []obeyed) (names []string) {
	for _, o := range all {
		name := strings.TrimPrefix(o.path, root+"/")
		if o.link != "" {
			name += " -> " + o.link
		}
		names = append(names, name)
	}
	return names
}

// What is protected in a root, wherever it is within the first levels.
func TestProtectedFilesAreFound(t *testing.T) {
	root := fileTree(t, ".envrc", "one/.ENVRC", "one/two/.envrc", "one/two/three/.envrc", "one/two/three/four/.envrc",
		"node_modules/.envrc", "one/target/.envrc", "one/__pycache__/.envrc", "one/.venv/.envrc", "one/venv/.envrc", "git/.git/.envrc", "target.d/.envrc",
		"repo/.git/config", "repo/.git/hooks/pre-commit", "repo/.git/HEAD", "repo/.git/modules/m/config", "repo/.git/modules/m/HEAD", "repo/.git/modules/n/hooks/x", "repo/.git/modules/config",
		"worktree/.git", "link/.git -> ../repo/.git", "x/.vscode -> nowhere", "x/a.code-workspace", "x/.code-workspace", "x/code-workspace", "x/mise.local.toml", "x/mise.toml/f",
		".github/workflows/ci.yml", ".github/CODEOWNERS", ".github/actions", "y/.github", "Jenkinsfile", "y/config/.cargo/config.toml", "etc/hosts", "go", "bin/go/bin/x", ".vscode/deep/.envrc",
	)
	var text strings.Builder
	for _, name := range slices.Compact(relatives(root, newNames(nil).in(root))) { // several names may fit
		fmt.Fprintln(&text, name)
	}
	golden(t, "protected.txt", text.String())

	own := newNames([]string{"Keys/*/ID", "*.Secret", "a/*b*", "plain", "x/mise.toml"})
	tree := fileTree(t, "keys/one/id", "keys/one/other", "keys/two/ID", "keys/id", "sub/keys/three/id/f", "the.SECRET", "the.secret.txt", "a/b", "a/xbx", "a/bb", "a/c", "a/b*", "plain/plain", "x/plain", "keys/link -> one")
	require.Equal(t, []string{"a/b*", "keys/link -> one", "keys/one/id", "keys/two/ID", "plain", "sub/keys/three/id", "the.SECRET", "x/plain"}, relatives(tree, own.in(tree)))
	require.Empty(t, newNames([]string{}).in(root), "nothing is protected, if that is wanted")
	require.Empty(t, newNames(nil).in(filepath.Join(root, "none")))
}

// Names are lists of words, and reasons and comments are none.
func TestListOfProtectedNames(t *testing.T) {
	all := protectedNames()
	require.Greater(t, len(all), 500)
	for _, name := range all {
		require.NotEmpty(t, name)
		require.False(t, strings.HasPrefix(name, "#") || strings.HasSuffix(name, ":"), name)
		require.LessOrEqual(t, strings.Count(name[strings.LastIndex(name, "/")+1:], "*"), 1, name)
	}
	require.Contains(t, all, ".git/config")
	require.Contains(t, all, "ideagent/keys.json")
	require.NotContains(t, all, "there")
}

// An element has one "*" at most, which matches any text.
func TestElementsFitNames(t *testing.T) {
	for _, c := range []struct {
		element, name string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"a", "", false}, {"*", "", true}, {"*", "x", true}, {"a*", "a", true}, {"a*", "abc", true}, {"a*", "ba", false},
		{"*a", "a", true}, {"*a", "ba", true}, {"*a", "ab", false}, {"ab*ba", "abba", true}, {"ab*ba", "aba", false}, {"ab*ba", "abxba", true}, {"ab*ba", "ab", false},
	} {
		require.Equal(t, c.want, fits(c.element, c.name), c)
	}
}

// No more than 2000 directories are searched, the root among them.
func TestSearchForProtectedFilesIsBounded(t *testing.T) {
	root := t.TempDir()
	for i := range 2000 {
		require.NoError(t, os.Mkdir(filepath.Join(root, fmt.Sprintf("%04d", i)), 0o755))
	}
	for _, name := range []string{"0000", "1998", "1999"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name, ".envrc"), nil, 0o644))
	}
	require.Equal(t, []string{"0000/.envrc", "1998/.envrc"}, relatives(root, newNames(nil).in(root)))
	unread := newNames(nil).unreadable(root, func(path string) bool { return filepath.Base(path) == ".envrc" })
	require.Equal(t, []string{filepath.Join(root, "0000"), filepath.Join(root, "1998")}, unread)
}

// A directory stands for its files if nothing in it may be read. What links lead to counts itself.
func TestUnreadableFilesAreFound(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []string
		want  string
	}{
		{"none", []string{"a", "d/b"}, ""},
		{"one of two", []string{"d/secret", "d/a"}, "d/secret"},
		{"all of a directory", []string{"d/secret", "d/secret2", "a"}, "d"},
		{"all of the root", []string{"secret", "secret2"}, "secret secret2"},
		{"a directory of directories", []string{"d/e/secret", "d/f/secret", "a"}, "d"},
		{"with something between", []string{"d/e/secret", "d/f/a"}, "d/e"},
		{"an empty directory can be read", []string{"d/secret", "d/e/", "a"}, "d/secret"},
		{"links lead elsewhere", []string{"d/secret -> ../x/real", "x/real", "x/a"}, "d x/real"},
		{"links in the same directory", []string{"d/secret -> real", "d/real", "a"}, "d/real"},
		{"broken links", []string{"d/secret -> none", "d/a"}, ""},
		{"several before", []string{"a/secret", "a/x", "b/secret", "c/secret -> ../d/e", "d/e", "d/x"}, "a/secret b c d/e"},
		{"too deep", []string{"1/2/3/secret", "1/2/3/4/secret", "1/2/3/a"}, "1/2/3/secret"},
		{"large directories are left out", []string{"node_modules/secret", "target/secret", "__pycache__/secret"}, ""},
		{"what is made by tools is left out", []string{".git/secret", ".venv/secret", "venv/secret"}, ""},
	} {
		root := fileTree(t, c.files...)
		found := newNames(nil).unreadable(root, func(path string) bool { return strings.HasPrefix(filepath.Base(path), "secret") })
		var names []string
		for _, path := range found {
			names = append(names, strings.TrimPrefix(path, root+"/"))
		}
		require.Equal(t, c.want, strings.Join(names, " "), c.name)
	}
	root := fileTree(t, "project/secret", "project/a", "cache/secret", "cache/a", "more/secret", "more/a")
	b := &bubble{Sandbox: &Sandbox{}, roots: []string{root + "/project", root + "/cache", root + "/more"}, cache: root + "/cache", protects: newNames(nil)}
	require.Empty(t, b.unreadable())
	b.Unreadable = func(path string) bool { return filepath.Base(path) == "secret" }
	require.Equal(t, []string{root + "/project/secret", root + "/more/secret"}, b.unreadable())
}
