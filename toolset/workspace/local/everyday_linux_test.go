// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// everyday are commands that people have agents run. Each is for the program that it begins with.
var everyday = []string{
	"git add -A && git commit -qm second && git log --oneline | grep second",
	"git checkout -qb topic && git commit -q --allow-empty -m third && git merge-base main topic",
	"git stash list && git tag v1 && git gc -q && git status --short",
	"git init -q sub && git -C sub commit -q --allow-empty -m one",
	"go build ./... && go vet ./... && go test ./...",
	"npm test --silent && npm run --silent build && ls -d dist",
	"node -e \"const c=require('child_process');console.log(c.execSync('echo ok',{encoding:'utf8'}))\"",
	"python3 -m unittest -q test_it.py && python3 -m py_compile it.py",
	"python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1]))'",
	"python3 -c 'import socket; s = socket.create_server((\"127.0.0.1\", 0)); socket.create_connection(s.getsockname())'",
	"make all && ls made",
	"gcc -o hello c/hello.c && ./hello",
	"cargo --offline build -q && ./target/debug/it",
	"sh -c 'f=$(mktemp) && echo x >$f && cat $f && sleep 300 & kill $!; ps -ef >/dev/null; date; id -un'",
	"rm -rf dist && mkdir -p a/b && mv a n && ln -s n d && tar -cf x.tar n && chmod -R u+w n",
}

func TestEverydayCommandsWorkInASandbox(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/it\n\ngo 1.21\n", "it.go": "package it\n\nfunc It() int { return 1 }\n",
		"it_test.go":   "package it\n\nimport \"testing\"\n\nfunc TestIt(t *testing.T) {\n\tif It() != 1 {\n\t\tt.Fatal(t.TempDir())\n\t}\n}\n",
		"package.json": `{"name":"it","version":"1.0.0","scripts":{"test":"node -e 1","build":"mkdir -p dist"}}`,
		"it.py":        "def it():\n    return 1\n", "test_it.py": "import unittest\nfrom it import it\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(it(), 1)\n",
		"Makefile": "all:\n\techo x >made\n", "c/hello.c": "#include <stdio.h>\nint main() { puts(\"hi\"); return 0; }\n",
		"Cargo.toml": "[package]\nname = \"it\"\nversion = \"0.1.0\"\nedition = \"2021\"\n", "src/main.rs": "fn main() { println!(\"hi\"); }\n",
	} {
		put(t, filepath.Join(root, name), text)
	}
	git := exec.Command("sh", "-c", "git init -q -b main . && git config user.name A && git config user.email a@example.com && git commit -q --allow-empty -m first")
	git.Dir = root
	if out, err := git.CombinedOutput(); err != nil {
		t.Skip(string(out))
	}
	// The sandbox's own cache would do, but would take a minute to fill.
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	require.NoError(t, err)
	w, err := local.Open(local.Config{Roots: []string{root}, Sandbox: &local.Sandbox{Writable: []string{strings.TrimSpace(string(cache))}}})
	if errors.Is(err, local.ErrSandbox) {
		t.Skip(err)
	}
	require.NoError(t, err)
	defer w.Close()
	for _, line := range everyday {
		program, _, _ := strings.Cut(line, " ")
		if _, err := exec.LookPath(program); err != nil {
			t.Log("not here: ", line)
			continue
		}
		text, exit := run(t, w, "export GOCACHE="+string(cache)+line)
		require.Zero(t, exit.Code, "%s\n%s", line, text)
	}
}

func TestCachesOfASandboxAreItsOwn(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "new", "cache")
	w, root := sandboxed(t, local.Sandbox{Cache: cache})
	_, exit := run(t, w, `mkdir -p "$XDG_CACHE_HOME/x" "$GOCACHE" "$npm_config_cache" && echo kept >"$XDG_CACHE_HOME/x/f"`)
	require.Zero(t, exit.Code)
	found, err := filepath.Glob(filepath.Join(cache, "*", "x", "f"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	other, _ := sandboxed(t, local.Sandbox{Cache: cache})
	text, _ := run(t, other, `cat "$XDG_CACHE_HOME/x/f"; echo x >`+found[0])
	require.NotContains(t, text, "kept")
	again, err := local.Open(local.Config{Roots: []string{root}, Sandbox: &local.Sandbox{Cache: cache}})
	require.NoError(t, err)
	defer again.Close()
	text, _ = run(t, again, `cat "$XDG_CACHE_HOME/x/f"`)
	require.Equal(t, "kept\n", text)
	none, _ := sandboxed(t, local.Sandbox{})
	text, _ = run(t, none, `echo "$XDG_CACHE_HOME"; touch "$XDG_CACHE_HOME/f"`)
	require.NoError(t, none.Close())
	require.NoDirExists(t, strings.TrimSpace(text))
}

// What is hidden must not come back by another mount, and what cannot be kept apart is refused.
func TestRootsThatASandboxCannotHoldAreRefused(t *testing.T) {
	sandboxed(t, local.Sandbox{})
	base := t.TempDir()
	put(t, filepath.Join(base, "keys", "inner", "f"), "x")
	for _, c := range []local.Config{
		{Roots: []string{"/"}, Sandbox: &local.Sandbox{}},
		{Roots: []string{base, "/proc"}, Sandbox: &local.Sandbox{}},
		{Roots: []string{base}, Sandbox: &local.Sandbox{Writable: []string{"/"}}},
		{Roots: []string{filepath.Join(base, "keys", "inner")}, Sandbox: &local.Sandbox{Hidden: []string{filepath.Join(base, "keys")}}},
		{Roots: []string{filepath.Join(base, "keys")}, Sandbox: &local.Sandbox{Hidden: []string{filepath.Join(base, "keys")}}},
	} {
		_, err := local.Open(c)
		require.ErrorIs(t, err, local.ErrSandbox, "%v", c.Roots)
	}
}

// Roots may be links, and lie in each other.
func TestRootsOfASandboxMayBeLinkedAndNested(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	put(t, filepath.Join(base, "outer", "inner", ".git", "config"), "own")
	put(t, filepath.Join(base, "outer", "keys", "id"), "sesame")
	link := filepath.Join(base, "link")
	require.NoError(t, os.Symlink(filepath.Join(base, "outer"), link))
	hidden := []string{filepath.Join(link, "keys")}
	for _, roots := range [][]string{
		{link}, {link, filepath.Join(link, "inner")}, {filepath.Join(link, "inner"), link},
	} {
		w, err := local.Open(local.Config{Roots: roots, Sandbox: &local.Sandbox{Hidden: hidden}})
		if errors.Is(err, local.ErrSandbox) {
			t.Skip(err)
		}
		require.NoError(t, err)
		text, _ := run(t, w, "cd "+link+" && echo x >f && echo x >inner/f; cat keys/id; echo x >inner/.git/config; mv inner i; cat inner/.git/config")
		require.Contains(t, text, "own")
		require.NotContains(t, text, "sesame")
		require.FileExists(t, filepath.Join(base, "outer", "inner", "f"))
		require.NoError(t, w.Close())
	}
}

// Who can write where bwrap is looked for could run anything outside of the sandbox.
func TestBwrapIsNotTakenFromWhereCommandsWrite(t *testing.T) {
	sandboxed(t, local.Sandbox{})
	root := t.TempDir()
	put(t, filepath.Join(root, "bin", "bwrap"), "#!/bin/sh\nexit 0\n")
	require.NoError(t, os.Chmod(filepath.Join(root, "bin", "bwrap"), 0o755))
	t.Setenv("PATH", filepath.Join(root, "bin"))
	_, err := local.Open(local.Config{Roots: []string{root}, Sandbox: &local.Sandbox{}})
	require.ErrorIs(t, err, local.ErrSandbox)
	require.ErrorContains(t, err, "not installed")
}

// A sandbox cannot protect a file that is not there. It says which ones came to be.
func TestNewFilesThatOthersObeyAreReported(t *testing.T) {
	w, root := sandboxed(t, local.Sandbox{})
	_, exit := run(t, w, "mkdir -p sub/.vscode && echo x >.envrc && echo x >plain && ln -s plain .mcp.json")
	require.Equal(t, []string{filepath.Join(root, ".envrc"), filepath.Join(root, ".mcp.json"), filepath.Join(root, "sub", ".vscode")}, exit.Created)
	_, exit = run(t, w, "echo x >.envrc; echo x >plain")
	require.Empty(t, exit.Created)
	got, err := os.ReadFile(filepath.Join(root, ".envrc"))
	require.NoError(t, err)
	require.Equal(t, "x\n", string(got))
}
