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

// fileTree makes files, directories (with a slash at the end) and links ("name -> target") in a new
// directory, whose path has no links.
func fileTree(t *testing.T, names ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, name := range names {
		name, target, link := strings.Cut(name, " -> ")
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		switch {
		case link:
			require.NoError(t, os.Symlink(strings.ReplaceAll(target, "ROOT", root), path))
		case strings.HasSuffix(name, "/"):
			require.NoError(t, os.MkdirAll(path, 0o755))
		default:
			require.NoError(t, os.WriteFile(path, nil, 0o644))
		}
	}
	return root
}

// What bwrap is told: the outside first, then what is in it, and what is hidden last.
func TestArgumentsOfBubbles(t *testing.T) {
	root := fileTree(t, "project/sub/.git/config", "project/.envrc", "project/keys/one", "project/a/b/secret", "project/a/plain", "project/plain", "project/.mcp.json -> plain",
		"more/.vscode/tasks.json", "cache/", "scratch/empty", "home/.ssh/id", "home/.netrc", "home/alias -> .ssh")
	at := func(name string) string { return filepath.Join(root, name) }
	b := &bubble{
		Sandbox: &Sandbox{
			Hidden:     []string{at("home/.ssh"), at("home/.netrc"), at("home/alias"), at("home/none"), at("project/keys/one")},
			Unreadable: func(path string) bool { return filepath.Base(path) == "secret" },
		},
		roots: []string{at("project"), at("more"), at("cache")}, cache: at("cache"), scratch: at("scratch"),
		links: map[string]string{"/var/tmp/named": at("project")}, protects: newNames(nil),
	}
	listed := func(network bool) string {
		args, err := b.args(b.protected(), network)
		require.NoError(t, err)
		return strings.ReplaceAll(strings.Join(args, " "), root, "ROOT")
	}
	var own []string // what this machine has
	for _, dir := range []string{"/tmp", "/var/tmp", "/run", "/var/run"} {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			own = append(own, "--tmpfs "+dir)
		}
	}
	for _, path := range kept() {
		own = append(own, "--ro-bind "+path+" "+path)
	}
	mounts := strings.Join([]string{
		"--bind ROOT/cache ROOT/cache", "--bind ROOT/more ROOT/more", "--bind ROOT/project ROOT/project",
		"--ro-bind ROOT/more/.vscode ROOT/more/.vscode", "--ro-bind ROOT/project/.envrc ROOT/project/.envrc",
		"--bind ROOT/project/a ROOT/project/a", "--bind ROOT/project/keys ROOT/project/keys", "--bind ROOT/project/sub ROOT/project/sub",
		"--bind ROOT/project/sub/.git ROOT/project/sub/.git", "--ro-bind ROOT/project/sub/.git/config ROOT/project/sub/.git/config",
		"--symlink ROOT/project /var/tmp/named",
		"--tmpfs ROOT/home/.ssh", "--ro-bind ROOT/scratch/empty ROOT/home/.netrc", "--ro-bind ROOT/scratch/empty ROOT/project/keys/one", "--tmpfs ROOT/project/a/b",
	}, " ")
	if !strings.HasPrefix(root, "/tmp/") {
		mounts = strings.Replace(mounts, "--tmpfs ROOT/home/.ssh", "--tmpfs ROOT/scratch --tmpfs ROOT/home/.ssh", 1)
	}
	start := "--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --cap-drop ALL --ro-bind / / --dev /dev --proc /proc --remount-ro /proc "
	require.Equal(t, start+"--unshare-net "+strings.Join(own, " ")+" "+mounts, listed(false))
	require.Equal(t, start+strings.Join(own, " ")+" "+mounts, listed(true))

	b.Hidden = []string{at("more")}
	_, err := b.args(nil, true)
	require.EqualError(t, err, fmt.Sprintf("local: no sandbox: unsupported operation: %s is hidden, and %s is in it", at("more"), at("more")))
	require.ErrorIs(t, err, ErrSandbox)
	b.Hidden = []string{root}
	_, err = b.hides()
	require.EqualError(t, err, fmt.Sprintf("local: no sandbox: unsupported operation: %s is hidden, and %s is in it", root, at("project")))
	b.Hidden = []string{}
	hide, err := b.hides()
	require.NoError(t, err)
	if strings.HasPrefix(root, "/tmp/") {
		require.Empty(t, hide)
		b.roots = append(b.roots, root)
		hide, err = b.hides()
		require.NoError(t, err)
	}
	require.Equal(t, []string{at("scratch")}, hide, "commands could reach it in a root")
}

// What is within a root is writable, and the directories above what is protected or hidden are
// mounts of their own.
func TestDirectoriesAboveProtectedFilesArePinned(t *testing.T) {
	b := &bubble{Sandbox: &Sandbox{}, roots: []string{"/r", "/r/in/ner", "/c"}}
	for path, want := range map[string]bool{"/r": false, "/r/x": true, "/rx": false, "/": false, "/r/in": true, "/r/in/ner": true, "/c/d/e": true, "/x": false} {
		require.Equal(t, want, b.isWritable(path), path)
	}
	got := b.mounts(
		[]obeyed{{path: "/r/a/b/.envrc"}, {path: "/r/z", link: "y"}, {path: "/r/d/l", link: "y"}, {path: "/r/in/ner"}, {path: "/x/y/.envrc"}, {path: "/r/a"}},
		[]string{"/r/h/i/j", "/outside/h"})
	require.Equal(t, []mount{
		{"--bind", "/c"}, {"--bind", "/r"},
		{"--ro-bind", "/r/a"}, {"--bind", "/r/d"}, {"--bind", "/r/h"}, {"--bind", "/r/in"},
		{"--bind", "/r/a/b"}, {"--bind", "/r/h/i"}, {"--bind", "/r/in/ner"}, {"--ro-bind", "/x/y/.envrc"},
		{"--ro-bind", "/r/a/b/.envrc"},
	}, got)
	for in, want := range map[string]string{
		"": "", "/a /b": "/a /b", "/a /a/b": "/a", "/a/b /a": "/a", "/a /a": "/a", "/a /ab /a/b/c /d /d": "/a /ab /d", "/ /x": "/", "/b /a": "/b /a",
	} {
		require.Equal(t, want, strings.Join(outermost(strings.Fields(in)), " "), in)
	}
}

// Paths of mountinfo have numbers for blanks and the like.
func TestMountedPathsAreRead(t *testing.T) {
	for in, want := range map[string]string{
		"/a": "/a", `/a\040b`: "/a b", `/a\011`: "/a\t", `\134x`: `\x`, `/a\0`: `/a\0`, `/a\04`: `/a\04`, `/a\040`: "/a ", `/a\999b`: `/a\999b`, `\377`: "\xff", `\400x`: `\400x`,
		`\040\040`: "  ", `\\040`: `\ `, "": "",
	} {
		require.Equal(t, want, unescape(in), in)
	}
	all := kernelMounts()
	require.Contains(t, all, "/proc")
	require.NotContains(t, all, "/")
	for _, path := range all {
		require.True(t, filepath.IsAbs(path), path)
	}
}

// Of what is below /run, commands keep what programs need.
func TestPlacesThatCommandsKeep(t *testing.T) {
	var want []string
	if real, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && strings.HasPrefix(real, "/run/") {
		want = append(want, real)
	}
	for _, path := range []string{"/run/current-system", "/run/opengl-driver"} {
		if _, err := os.Stat(path); err == nil {
			want = append(want, path)
		}
	}
	require.Equal(t, want, kept())
}

// Commands get variables for caches of their own, and none that lead to what they do not have.
func TestVariablesInBubbles(t *testing.T) {
	caches := []string{
		"XDG_CACHE_HOME=/c", "GOCACHE=/c/go-build", "CCACHE_DIR=/c/ccache", "npm_config_cache=/c/npm", "YARN_CACHE_FOLDER=/c/yarn",
		"PIP_CACHE_DIR=/c/pip", "UV_CACHE_DIR=/c/uv", "PYTHONPYCACHEPREFIX=/c/pycache",
	}
	env := []string{"A=1", "A=2", "ODD", "TMPDIR=/x", "GOCACHE=/x", "gocache=/x", "XDG_CACHE_HOME", "GOCACHES=3"}
	dropped := []string{
		"SSH_AUTH_SOCK=/s", "DBUS_SESSION_BUS_ADDRESS=/d", "XDG_RUNTIME_DIR=/r", "DISPLAY=:0", "WAYLAND_DISPLAY=w", "XAUTHORITY=/x", "DOCKER_HOST=unix:///d",
	}
	for _, name := range []string{"CCACHE_DIR", "NPM_CONFIG_CACHE", "npm_config_cache", "YARN_CACHE_FOLDER", "PIP_CACHE_DIR", "UV_CACHE_DIR", "PYTHONPYCACHEPREFIX"} {
		env = append(env, name+"=/theirs")
	}
	all := slices.Concat(env, dropped)
	before := slices.Clone(all)
	b := &bubble{Sandbox: &Sandbox{}, cache: "/c"}
	want := slices.Concat([]string{"TMPDIR=/tmp"}, caches, []string{"A=1", "A=2", "ODD", "GOCACHES=3"})
	require.Equal(t, want, b.environ(all))
	b.Sockets = true
	require.Equal(t, append(slices.Clone(want), dropped...), b.environ(all))
	require.Equal(t, before, all, "the list of the caller stays")
	walls := &walls{bubble: &bubble{Sandbox: &Sandbox{}, cache: "/c"}, tmp: "/own/tmp"}
	want[0] = "TMPDIR=/own/tmp"
	require.Equal(t, want, walls.environ(all))
	for _, c := range []struct{ network, sockets, tight bool }{{false, false, true}, {true, false, false}, {false, true, false}, {true, true, false}} {
		require.Equal(t, c.tight, (&bubble{Sandbox: &Sandbox{Network: c.network, Sockets: c.sockets}}).tight())
	}
	require.False(t, walls.tight())
}

// What came to be is what was not known before, with the same target.
func TestNewProtectedFiles(t *testing.T) {
	a, b, link, other := obeyed{path: "/a"}, obeyed{path: "/b"}, obeyed{"/l", "x"}, obeyed{"/l", "y"}
	require.Empty(t, missing([]obeyed{a, b, link}, []obeyed{link, b, a}))
	require.Empty(t, missing(nil, []obeyed{a}))
	require.Equal(t, []string{"/a", "/l"}, missing([]obeyed{a, b, other}, []obeyed{b, link}))
	require.Equal(t, []string{"/a"}, missing([]obeyed{a, a, b, a}, []obeyed{b}), "what fits several names is told once")
	root := fileTree(t, "d/", "e/", "f", "l -> d")
	for _, c := range []struct {
		a, b string
		want bool
	}{{"d", "d", true}, {"d", "l", true}, {"d", "e", false}, {"d", "none", false}, {"none", "d", false}, {"none", "none", false}} {
		require.Equal(t, c.want, samePlace(filepath.Join(root, c.a), filepath.Join(root, c.b)), c)
	}
}

// The weaker sandbox lists what can be read without what is hidden. Links have no rights of their
// own.
func TestReadableWithoutHidden(t *testing.T) {
	root := fileTree(t, "a/x", "a/y", "a/deep/hidden/f", "a/deep/seen/f", "b/x", "c", "link -> b", "hidden-file", "empty/", "gone/")
	at := func(names ...string) (all []string) {
		for _, name := range names {
			all = append(all, filepath.Join(root, name))
		}
		return all
	}
	require.Equal(t, []string{root}, readable(root, nil))
	require.Equal(t, []string{root}, readable(root, []string{"/elsewhere", root + "x"}))
	require.Equal(t, at("a/deep/seen", "a/x", "a/y", "b", "c", "empty", "gone"), readable(root, at("a/deep/hidden", "hidden-file")))
	require.Equal(t, at("a", "c", "empty", "gone", "hidden-file"), readable(root, at("b")))
	require.Empty(t, readable(root, []string{root}))
	require.Empty(t, readable(root, []string{root, filepath.Join(root, "a")}))
	require.Empty(t, readable(filepath.Join(root, "none"), at("none/below")))
}
