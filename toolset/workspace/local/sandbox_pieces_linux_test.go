// SPDX-License-Identifier: Apache-2.0

package local

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/guard"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// dirent is an entry of a directory as the kernel writes it. Its length is what it says, or right.
func dirent(name string, kind byte, length int) []byte {
	b := make([]byte, 19, 300)
	b = append(b, name...)
	b = append(b, 0)
	for len(b)%8 != 0 {
		b = append(b, 'x') // what follows the end of a name is not part of it
	}
	if length < 0 {
		length = len(b)
	}
	binary.NativeEndian.PutUint16(b[16:], uint16(length))
	b[18] = kind
	return b
}

// Directories are read as the kernel writes them. What is no entry ends a block.
func TestEntriesOfDirectories(t *testing.T) {
	for kind, want := range map[byte]fs.FileMode{
		syscall.DT_REG: 0, syscall.DT_DIR: fs.ModeDir, syscall.DT_LNK: fs.ModeSymlink, syscall.DT_FIFO: fs.ModeNamedPipe, syscall.DT_SOCK: fs.ModeSocket,
		syscall.DT_CHR: fs.ModeDevice | fs.ModeCharDevice, syscall.DT_BLK: fs.ModeDevice, syscall.DT_UNKNOWN: unknownType, 99: unknownType,
	} {
		require.Equal(t, want, typeOf(kind))
	}
	a, dot, dots, long := dirent("a", syscall.DT_REG, -1), dirent(".", syscall.DT_DIR, -1), dirent("..", syscall.DT_DIR, -1), dirent("..long", syscall.DT_DIR, -1)
	full := []byte(strings.Repeat("\x00", 19) + "full")
	binary.NativeEndian.PutUint16(full[16:], uint16(len(full)))
	for i, c := range []struct {
		block []byte
		want  []entry
	}{
		{nil, nil}, {a, []entry{{"a", 0}}}, {slices.Concat(dot, a, dots, long), []entry{{"a", 0}, {"..long", fs.ModeDir}}},
		{slices.Concat(a, dirent("b", syscall.DT_REG, 19), a), []entry{{"a", 0}}}, {slices.Concat(a, dirent("b", syscall.DT_REG, 0)), []entry{{"a", 0}}},
		{slices.Concat(a, dirent("b", syscall.DT_REG, 25)), []entry{{"a", 0}}}, {slices.Concat(a, a[:20]), []entry{{"a", 0}}}, {a[:19], nil}, {a[:18], nil},
		{full, []entry{{"full", unknownType}}}, {dirent("c", syscall.DT_LNK, 20), []entry{{"c", fs.ModeSymlink}}},
	} {
		require.Equal(t, append([]entry{{"before", 0}}, c.want...), parseDirents([]entry{{"before", 0}}, c.block), i)
	}
	root := fileTree(t, "f", "d/", "l -> f")
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "p"), 0o600))
	for i := range 900 { // more than a block
		require.NoError(t, os.WriteFile(filepath.Join(root, fmt.Sprintf("a-file-with-a-name-%04d", i)), nil, 0o600))
	}
	dir, err := os.Open(root)
	require.NoError(t, err)
	list, err := readDir(dir, nil)
	require.NoError(t, err)
	require.Len(t, list, 904)
	kinds := map[string]fs.FileMode{}
	for _, e := range list {
		kinds[e.name] = e.mode
	}
	require.Len(t, kinds, 904)
	require.Equal(t, []fs.FileMode{0, fs.ModeDir, fs.ModeSymlink, fs.ModeNamedPipe}, []fs.FileMode{kinds["f"], kinds["d"], kinds["l"], kinds["p"]})
	require.NoError(t, dir.Close())
	_, err = readDir(dir, nil)
	require.Error(t, err, "it is closed")
	file, err := os.Open(filepath.Join(root, "f"))
	require.NoError(t, err)
	defer file.Close()
	_, err = readDir(file, nil)
	require.ErrorIs(t, err, syscall.ENOTDIR)
}

// Signals have words, the system's where there are none of ours.
func TestWordsOfSignals(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "SIGHUP": "hangup", "SIGINT": "interrupt", "SIGQUIT": "quit", "SIGILL": "illegal instruction", "SIGTRAP": "trace/breakpoint trap", "SIGABRT": "aborted", "SIGBUS": "bus error",
		"SIGFPE": "floating point exception", "SIGKILL": "killed", "SIGSEGV": "segmentation fault", "SIGPIPE": "broken pipe", "SIGALRM": "alarm clock", "SIGTERM": "terminated", "SIGUSR1": "sigusr1", "signal 63": "signal 63",
	} {
		require.Equal(t, want, signalName(name))
	}
}

// Hidden files are in the home, and where variables have moved directories of it.
func TestHiddenFilesOfAHome(t *testing.T) {
	t.Setenv("HOME", "/home/ada")
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_STATE_HOME", "state")
	t.Setenv("XDG_DATA_HOME", "")
	plain := Hidden()
	require.Equal(t, []string{"/home/ada/.ssh", "/home/ada/.gnupg"}, plain[:2])
	require.Greater(t, len(plain), 100)
	for _, path := range plain {
		require.True(t, strings.HasPrefix(path, "/home/ada/"), path)
		require.NotContains(t, path, "#")
		require.Equal(t, filepath.Clean(path), path)
	}
	t.Setenv("XDG_CONFIG_HOME", "/x/config")
	t.Setenv("XDG_STATE_HOME", "/x/state")
	t.Setenv("XDG_DATA_HOME", "/x/data")
	var want []string
	for _, path := range plain {
		want = append(want, path)
		for below, dir := range map[string]string{".config/": "/x/config/", ".local/state/": "/x/state/", ".local/share/": "/x/data/"} {
			if rest, ok := strings.CutPrefix(path, "/home/ada/"+below); ok {
				want = append(want, dir+rest)
			}
		}
	}
	require.Equal(t, want, Hidden())
	require.Contains(t, want, "/x/config/gh")
	require.Contains(t, want, "/x/data/keyrings")
	require.Contains(t, want, "/x/state/ideagent")
	t.Setenv("HOME", "")
	require.Nil(t, Hidden())
}

// The directories of a sandbox: what commands can write to, and a cache for each set of roots.
func TestDirectoriesOfSandboxes(t *testing.T) {
	root := fileTree(t, "project/", "more/", "extra/f", "link -> extra", "scratch/")
	at := func(name string) string { return filepath.Join(root, name) }
	w, err := Open(Config{Roots: []string{at("project"), at("more")}, NoCommands: true})
	require.NoError(t, err)
	defer w.Close()
	prepare := func(s Sandbox) (*bubble, error) {
		b := &bubble{Sandbox: &s, scratch: at("scratch")}
		return b, b.prepare(w)
	}
	cacheOf := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return filepath.Join(at("cache"), hex.EncodeToString(sum[:12]))
	}
	for of, want := range map[string]string{"": cacheOf(at("project") + "\x00" + at("more")), "/the/original": cacheOf("/the/original")} {
		b, err := prepare(Sandbox{Cache: at("cache"), CacheOf: of, Writable: []string{at("link"), at("extra/f")}})
		require.NoError(t, err)
		require.Equal(t, want, b.cache)
		require.Equal(t, []string{at("project"), at("more"), at("extra"), at("extra/f"), want}, b.roots)
		require.Empty(t, b.links)
		require.Empty(t, b.temporary)
		info, err := os.Stat(want)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
		info, err = os.Stat(at("scratch/empty"))
		require.NoError(t, err)
		require.Equal(t, "0 -r--r--r--", fmt.Sprint(info.Size(), " ", info.Mode()))
		require.NoError(t, os.Remove(at("scratch/empty")))
	}
	b, err := prepare(Sandbox{})
	require.NoError(t, err)
	require.NotEmpty(t, b.temporary)
	require.DirExists(t, b.temporary)
	real, err := filepath.EvalSymlinks(b.temporary)
	require.NoError(t, err)
	require.Equal(t, real, b.cache)
	b.close()
	require.NoDirExists(t, b.temporary)
	require.NoDirExists(t, at("scratch"))
	require.NoError(t, os.Mkdir(at("scratch"), 0o700))
	_, err = prepare(Sandbox{Writable: []string{at("none")}})
	require.EqualError(t, err, "local: sandbox: the writable path: lstat "+at("none")+": no such file or directory")
	_, err = prepare(Sandbox{Cache: at("extra/f")})
	require.EqualError(t, err, "local: sandbox: the cache: mkdir "+at("extra/f")+": not a directory")
	for _, dir := range []string{"/", "/dev", "/proc", "/sys", "/run"} {
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		_, err = prepare(Sandbox{Cache: at("cache"), Writable: []string{dir}})
		require.EqualError(t, err, "local: no sandbox: unsupported operation: commands must not write to all of "+dir)
		require.ErrorIs(t, err, ErrSandbox)
	}
	b = &bubble{Sandbox: &Sandbox{}, scratch: at("none")}
	require.ErrorContains(t, b.prepare(w), "local: sandbox: the cache: open "+at("none/empty"))
}

// A root whose name is in a directory that commands have their own of is a link there.
func TestRootsThatAreLinksInMaskedDirectories(t *testing.T) {
	real := fileTree(t, "project/inner/", "scratch/", "cache/")
	alias, err := os.MkdirTemp("/tmp", "ponte-test-")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(alias)
	name := filepath.Join(alias, "alias")
	require.NoError(t, os.Symlink(filepath.Join(real, "project"), name))
	w, err := Open(Config{Roots: []string{name, filepath.Join(name, "inner")}, NoCommands: true})
	require.NoError(t, err)
	defer w.Close()
	b := &bubble{Sandbox: &Sandbox{Cache: filepath.Join(real, "cache")}, scratch: filepath.Join(real, "scratch")}
	require.NoError(t, b.prepare(w))
	require.Equal(t, map[string]string{name: filepath.Join(real, "project")}, b.links, "the inner one is found through the outer one")
}

// bwrap is the first program of its name that commands cannot write to, by whichever name.
func TestBwrapIsFound(t *testing.T) {
	root := fileTree(t, "a/other", "plain/bwrap", "good/bwrap", "second/bwrap", "link/bwrap -> ../good/bwrap", "dangling/bwrap -> none", "writable/bin/bwrap", "in/bwrap -> ../writable/bin/bwrap")
	at := func(name string) string { return filepath.Join(root, name) }
	for _, name := range []string{"good/bwrap", "second/bwrap", "writable/bin/bwrap"} {
		require.NoError(t, os.Chmod(at(name), 0o755))
	}
	for path, want := range map[string]string{
		"good": "good/bwrap", "none:a:dangling:plain:second": "second/bwrap", "second:good": "second/bwrap", "link": "good/bwrap", "writable/bin": "", "writable/bin:good": "good/bwrap", "in": "", "in:second": "second/bwrap", "": "", "plain": "",
	} {
		var dirs []string
		for dir := range strings.SplitSeq(path, ":") {
			if dir != "" {
				dirs = append(dirs, at(dir))
			}
		}
		t.Setenv("PATH", strings.Join(dirs, ":"))
		got, err := findBwrap([]string{"/elsewhere", at("writable")})
		if want == "" {
			require.EqualError(t, err, "local: no sandbox: unsupported operation: the program bwrap is not installed (package bubblewrap)", path)
			continue
		}
		require.NoError(t, err, path)
		require.Equal(t, at(want), got, path)
	}
	t.Setenv("PATH", at("link"))
	_, err := findBwrap([]string{at("link")})
	require.ErrorIs(t, err, ErrSandbox, "commands could exchange the link")
	t.Chdir(root)
	t.Setenv("PATH", "good")
	_, err = findBwrap(nil)
	require.ErrorIs(t, err, ErrSandbox, "a relative directory is another one for each command")
}

// fakeBox is a sandbox that runs a script.
type fakeBox struct {
	script string
	err    error
	ended  bool
	got    guard.Command
}

func (f *fakeBox) wrap(g *guard.Command, real, dir string, network bool) (started, error) {
	f.got = *g
	if f.err != nil || real != "/dir" || dir != "/dir" || network {
		return started{}, f.err
	}
	g.Path, g.Args, g.Env = "/bin/sh", []string{"-c", f.script}, []string{"A=b"}
	return started{done: func() { f.ended = true }}, nil
}
func (*fakeBox) tight() bool { return true }
func (*fakeBox) close()      {}

// A sandbox is tried before it is used. The error has what it said.
func TestSandboxesAreTried(t *testing.T) {
	for script, want := range map[string]string{
		"exit 0": "", "echo fine": "", "exit 3": "local: no sandbox: unsupported operation: broken: exit status 3", "echo ' no way ' >&2; exit 1": "local: no sandbox: unsupported operation: broken: no way",
		`test "$A$(pwd)" = b/ || exit 1`: "",
	} {
		f := &fakeBox{script: script}
		err := try(f, "/dir", "broken")
		require.Equal(t, []any{"/bin/sh", []string{"-c", "exit 0"}}, []any{f.got.Path, f.got.Args})
		require.True(t, f.ended)
		if want == "" {
			require.NoError(t, err, script)
			continue
		}
		require.EqualError(t, err, want)
		require.ErrorIs(t, err, ErrSandbox)
	}
	failing := errors.New("failing")
	require.Equal(t, failing, try(&fakeBox{err: failing}, "/dir", "broken"))

	for i, c := range []struct {
		box     box
		may     bool
		sandbox string
		boxed   bool
		err     string
	}{
		{nil, false, "", false, ""}, {nil, false, model.SandboxNone, false, ""}, {&fakeBox{}, false, "", true, ""}, {&fakeBox{}, true, "", true, ""},
		{&fakeBox{}, false, model.SandboxNone, true, "local: start: commands must not leave the sandbox: unsupported operation"},
		{&fakeBox{}, false, model.SandboxNetwork, true, "local: start: commands must not leave the sandbox: unsupported operation"},
		{&fakeBox{}, true, model.SandboxNone, false, ""}, {&fakeBox{}, true, model.SandboxNetwork, true, ""},
	} {
		w := &Workspace{box: c.box, config: &Config{Sandbox: &Sandbox{MayLeave: c.may}}}
		boxed, err := w.boxes(&workspace.Command{Sandbox: c.sandbox})
		require.Equal(t, c.boxed, boxed, i)
		if c.err == "" {
			require.NoError(t, err, i)
		} else {
			require.EqualError(t, err, c.err, i)
			require.ErrorIs(t, err, errors.ErrUnsupported)
		}
		want := workspace.Features{Read: true, Write: true, Remove: true, Walk: true, Commands: true, Sandboxed: c.box != nil, Unsandboxed: c.box != nil && c.may}
		require.Equal(t, want, w.Features(), i)
	}
	started{}.release()
}

// What runs a command in each of the sandboxes gets the command and nothing else of this process.
func TestCommandsAreWrapped(t *testing.T) {
	root := fileTree(t, "project/.envrc", "cache/", "scratch/tmp/", "home/", "alias -> project")
	at := func(name string) string { return filepath.Join(root, name) }
	b := &bubble{
		Sandbox: &Sandbox{Hidden: []string{}}, bwrap: "/usr/bin/bwrap", roots: []string{at("project"), at("cache")}, cache: at("cache"), scratch: at("scratch"),
		filter: []byte("filter"), protects: newNames(nil),
	}
	before := b.protected()
	require.Equal(t, []obeyed{{path: at("project/.envrc")}}, before)
	for _, c := range []struct {
		dir, want        string
		network, allowed bool
	}{{at("project"), at("project"), false, false}, {at("alias"), at("alias"), true, false}, {at("home"), at("project"), false, true}} {
		b.Network = c.allowed
		g := guard.Command{Path: "sh", Args: []string{"-c", "x"}, Env: []string{"PATH=/bin", "A=1=2", "B"}, Dir: "/open"}
		s, err := b.wrap(&g, at("project"), c.dir, c.network)
		require.NoError(t, err)
		require.Equal(t, "/usr/bin/bwrap", g.Path)
		require.Equal(t, []string{"--args", "5", "--", "/bin/sh", "-c", "x"}, g.Args)
		require.Equal(t, []string{"PATH=/usr/bin:/bin"}, g.Env)
		require.Equal(t, "/open", g.Dir)
		require.Len(t, g.Files, 2)
		listed, err := io.ReadAll(g.Files[0])
		require.NoError(t, err)
		args, err := b.args(before, c.network || c.allowed)
		require.NoError(t, err)
		args = append(args, "--clearenv")
		for _, v := range b.environ([]string{"PATH=/bin", "A=1=2", "B"}) {
			name, value, _ := strings.Cut(v, "=")
			args = append(args, "--setenv", name, value)
		}
		args = append(args, "--seccomp", "6", "--chdir", c.want)
		require.Equal(t, strings.Join(args, "\x00")+"\x00", string(listed))
		filter, err := io.ReadAll(g.Files[1])
		require.NoError(t, err)
		require.Equal(t, "filter", string(filter))
		require.Empty(t, s.created())
		require.NoError(t, os.WriteFile(at("project/.npmrc"), nil, 0o600))
		require.Equal(t, []string{at("project/.npmrc")}, s.created())
		require.NoError(t, os.Remove(at("project/.npmrc")))
		s.release()
		for _, f := range g.Files {
			_, err = f.Stat()
			require.ErrorIs(t, err, os.ErrClosed)
		}
	}
	_, err := b.wrap(&guard.Command{Path: "/no/program"}, at("project"), at("project"), false)
	require.ErrorIs(t, err, guard.ErrNoProgram)
	b.Hidden = []string{root}
	_, err = b.wrap(&guard.Command{Path: "/bin/sh"}, at("project"), at("project"), false)
	require.ErrorIs(t, err, ErrSandbox)
	b.Hidden = []string{}

	l := &walls{bubble: b, self: "/self", read: []string{"/usr"}, tmp: at("scratch/tmp"), filters: map[bool][]byte{false: []byte("alone"), true: []byte("network")}}
	for _, c := range []struct {
		network, allowed bool
		filter           string
	}{{false, false, "alone"}, {true, false, "network"}, {false, true, "network"}} {
		b.Network = c.allowed
		g := guard.Command{Path: "sh", Args: []string{"-c", "x"}, Env: []string{"PATH=/bin", "A=1"}}
		s, err := l.wrap(&g, at("project"), at("alias"), c.network)
		require.NoError(t, err)
		require.Equal(t, "/self", g.Path)
		require.Equal(t, []string{"ponte-confined-command"}, g.Args)
		require.Equal(t, []string{"PATH=/usr/bin:/bin"}, g.Env)
		require.Len(t, g.Files, 1)
		var policy struct {
			Read, Write, Devices, Args, Env [][]byte
			Filter, Program, Dir            []byte
		}
		require.NoError(t, json.NewDecoder(g.Files[0]).Decode(&policy))
		require.Equal(t, "/usr", string(policy.Read[0]))
		require.Len(t, policy.Read, 1)
		require.Equal(t, strings.Join([]string{at("scratch/tmp"), at("project"), at("cache")}, " "), joinBytes(policy.Write))
		for _, d := range policy.Devices {
			require.Contains(t, []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}, string(d))
		}
		require.NotEmpty(t, policy.Devices)
		require.Equal(t, []string{"-c x", c.filter, "/bin/sh", at("alias")}, []string{joinBytes(policy.Args), string(policy.Filter), string(policy.Program), string(policy.Dir)})
		require.Equal(t, strings.Join(l.environ([]string{"PATH=/bin", "A=1"}), " "), joinBytes(policy.Env))
		require.NoError(t, os.WriteFile(at("project/.npmrc"), nil, 0o600))
		require.Equal(t, []string{at("project/.npmrc")}, s.created())
		require.NoError(t, os.Remove(at("project/.npmrc")))
		s.release()
		_, err = g.Files[0].Stat()
		require.ErrorIs(t, err, os.ErrClosed)
	}
	_, err = l.wrap(&guard.Command{Path: "/no/program"}, at("project"), at("project"), false)
	require.ErrorIs(t, err, guard.ErrNoProgram)
	require.NoError(t, l.plan())
	self, err := os.Executable()
	require.NoError(t, err)
	self, err = filepath.EvalSymlinks(self)
	require.NoError(t, err)
	require.Equal(t, self, l.self)
	for _, dir := range []string{"/", "/tmp", "/run", "/dev"} {
		require.NotContains(t, l.read, dir)
	}
	require.Contains(t, l.read, "/usr")
	b.Hidden = []string{at("project/.envrc")}
	require.EqualError(t, l.plan(), "local: no sandbox: unsupported operation: Landlock cannot keep "+at("project/.envrc")+" from commands, which is in a directory that they can write to")
	b.Hidden = []string{at("project")}
	require.ErrorIs(t, l.plan(), ErrSandbox)
	b.Hidden = []string{}
	b.roots = append(b.roots, filepath.Dir(self))
	require.EqualError(t, l.plan(), "local: no sandbox: unsupported operation: Landlock cannot keep "+self+" from commands, which is in a directory that they can write to")
}

func joinBytes(all [][]byte) string {
	var texts []string
	for _, b := range all {
		texts = append(texts, string(b))
	}
	return strings.Join(texts, " ")
}
