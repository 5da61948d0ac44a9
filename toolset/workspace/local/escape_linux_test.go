// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// word is in every secret of the scene.
const word = "sesame"

// escape is a way out of the sandbox. The command is tried without a sandbox first, where it must
// succeed: otherwise the attempt shows nothing, and does not count. All that it touches is the
// scene's.
type escape struct {
	name string
	// line is a command. $HOME, $OUT (a directory outside of the root), $PID (a process of the scene)
	// and $ATTACK (the program of attacks) are set.
	line string
	env  []string
	// root is set if only root can do it without a sandbox, nobody if only another user can.
	root, nobody bool
	// home makes the home the root of the workspace.
	home bool
	// second is a second command, in the same workspace.
	second string
	// reads makes a word of a secret in the output an escape. Otherwise it is a change outside, a
	// connection, the death of the process, or the word ESCAPED.
	reads bool
}

// scene is what an attempt can attack.
type scene struct {
	t                         *testing.T
	base, home, project, out  string
	hits                      *atomic.Int64
	listeners                 []net.Listener
	sleeper                   *exec.Cmd
	tcp, shm, queue, terminal string
	close                     []func()
}

// roomy returns a directory for scenes which sandboxes do not hide: not one in /tmp.
func roomy(t *testing.T) string {
	t.Helper()
	for _, dir := range []string{os.Getenv(escapeBase), "/srv", "/opt", "/var/lib", "."} {
		if dir == "" {
			continue
		}
		if base, err := os.MkdirTemp(dir, ".ponte-escape-"); err == nil {
			base, err = filepath.Abs(base)
			require.NoError(t, err)
			t.Cleanup(func() { _ = os.RemoveAll(base) })
			return base
		}
	}
	t.Skip("there is no directory for the scene")
	return ""
}

var homeFiles = []string{
	".ssh/id", ".gnupg/key", ".aws/credentials", ".netrc", ".git-credentials", ".npmrc",
	".config/gh/hosts.yml", ".config/ideagent/keys.json", ".local/state/ideagent/log",
	".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth.json", ".docker/config.json",
	".kube/config", ".mozilla/cookies", ".bash_history", ".config/git/credentials", ".pypirc",
	".local/share/keyrings/login", ".cargo/credentials.toml",
}

var projectFiles = []string{
	".git/config", ".git/hooks/pre-commit", ".git/info/attributes", ".git/HEAD", ".vscode/tasks.json",
	".envrc", ".mcp.json", ".claude/settings.json", ".husky/pre-commit", "sub/.git/config",
	"sub/.git/hooks/post-checkout", ".git/modules/m/config", ".github/workflows/ci.yml", "a/b/.envrc",
}

func newScene(t *testing.T) *scene {
	base := roomy(t)
	s := &scene{t: t, base: base, hits: new(atomic.Int64)}
	s.home, s.project, s.out = filepath.Join(base, "home"), filepath.Join(base, "home", "project"), filepath.Join(base, "out")
	s.fill()
	copySelf(t, filepath.Join(base, "attack"))
	s.listen()
	s.process()
	s.ipc()
	t.Cleanup(func() {
		for _, f := range slices.Backward(s.close) {
			f()
		}
	})
	return s
}

// copySelf puts the test binary where others can run it.
func copySelf(t *testing.T, to string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	data, err := os.ReadFile(self)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, data, 0o755))
}

// fill writes the files of the scene.
func (s *scene) fill() {
	for _, dir := range []string{s.home, s.project, s.out} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if e.Type()&(os.ModeSocket|os.ModeNamedPipe) == 0 && e.Name() != "project" {
				require.NoError(s.t, os.RemoveAll(filepath.Join(dir, e.Name())))
			}
		}
	}
	for _, name := range homeFiles {
		put(s.t, filepath.Join(s.home, name), word)
	}
	for _, name := range projectFiles {
		put(s.t, filepath.Join(s.project, name), "own")
	}
	for _, name := range []string{"victim", "dir/file"} {
		put(s.t, filepath.Join(s.out, name), "old")
	}
	put(s.t, filepath.Join(s.home, ".bashrc"), "own")
	put(s.t, filepath.Join(s.project, "f"), "text")
	require.NoError(s.t, os.Symlink(s.out, filepath.Join(s.project, "link")))
	if os.Getuid() == 0 {
		_ = unix.Mknod(filepath.Join(s.project, "device"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5)))
	}
}

// state describes all files that nobody may change.
func (s *scene) state() string {
	var b strings.Builder
	add := func(path string) {
		info, err := os.Lstat(path)
		if err != nil {
			fmt.Fprintln(&b, path, "is missing")
			return
		}
		data := ""
		if info.Mode().IsRegular() {
			raw, _ := os.ReadFile(path)
			data = string(raw)
		}
		stat, _ := info.Sys().(*syscall.Stat_t)
		fmt.Fprintln(&b, path, info.Mode(), data, stat.Uid, uint64(stat.Nlink)*uint64(b2i(!info.IsDir())), info.ModTime().UnixNano()*b2i(info.Mode().IsRegular()))
	}
	for _, dir := range []string{s.out, s.home} {
		_ = filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error {
			if path == s.project {
				return filepath.SkipDir
			}
			add(path)
			return nil
		})
	}
	for _, name := range projectFiles {
		if name != ".git/HEAD" {
			add(filepath.Join(s.project, name))
		}
	}
	return b.String()
}

func b2i(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// listen accepts connections in several ways.
func (s *scene) listen() {
	paths := []string{
		filepath.Join(s.out, "s.sock"), filepath.Join(s.project, "p.sock"), filepath.Join(s.home, ".docker-run.sock"),
		filepath.Join(os.TempDir(), filepath.Base(s.base)+".sock"), "@" + filepath.Base(s.base),
	}
	for _, path := range paths {
		l, err := net.Listen("unix", path)
		require.NoError(s.t, err)
		s.listeners = append(s.listeners, l)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(s.t, err)
	_, s.tcp, _ = net.SplitHostPort(l.Addr().String())
	s.listeners = append(s.listeners, l)
	u, err := net.ListenPacket("udp", "127.0.0.1:"+s.tcp)
	require.NoError(s.t, err)
	d, err := net.ListenPacket("unixgram", filepath.Join(s.out, "d.sock"))
	require.NoError(s.t, err)
	for _, c := range []net.PacketConn{u, d} {
		go func() {
			for {
				if _, _, err := c.ReadFrom(make([]byte, 10)); err != nil {
					return
				}
				s.hits.Add(1)
			}
		}()
		s.close = append(s.close, func() { _ = c.Close() })
	}
	for _, l := range s.listeners {
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				s.hits.Add(1)
				_ = c.Close()
			}
		}()
		s.close = append(s.close, func() { _ = l.Close() })
	}
}

// process starts a process that has a secret and that an attempt may kill.
func (s *scene) process() {
	s.sleeper = exec.Command("sleep", "1000")
	s.sleeper.Env = []string{"SECRET=" + word}
	s.sleeper.Dir = s.out
	require.NoError(s.t, s.sleeper.Start())
	sleeper := s.sleeper
	s.close = append(s.close, func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() })
}

// dead reports whether the process has ended or is stopped, or has been changed, and starts another
// one then.
func (s *scene) dead() bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(s.sleeper.Process.Pid) + "/stat")
	nice, _ := unix.Getpriority(unix.PRIO_PROCESS, s.sleeper.Process.Pid)
	own, _ := unix.Getpriority(unix.PRIO_PROCESS, 0)
	fields := bytes.Fields(stat)
	if err == nil && len(fields) > 2 && strings.Contains("SRD", string(fields[2])) && nice == own {
		return false
	}
	_ = s.sleeper.Process.Kill()
	_ = s.sleeper.Wait()
	s.process()
	return true
}

// try makes the attempt, in a sandbox or without one, and reports whether it has succeeded.
func (s *scene) try(e *escape, box *local.Sandbox) (escaped bool, output string) {
	s.fill()
	root := s.project
	if e.home {
		root = s.home
	}
	s.t.Setenv("HOME", s.home)
	config := local.Config{Roots: []string{root}, Sandbox: box, PassEnv: []string{"HOME"}, Grace: -1}
	w, err := s.open(config, box != nil && box.Optional)
	if errors.Is(err, local.ErrSandbox) {
		s.t.Skip(err)
	}
	require.NoError(s.t, err)
	if box != nil && box.Optional && refuses(w) {
		require.NoError(s.t, w.Close())
		return false, refused
	}
	leaked, err := syscall.Open(s.out, syscall.O_RDONLY, 0) // other programs are careless with their files
	require.NoError(s.t, err)
	before, hits := s.state(), s.hits.Load()
	for _, line := range []string{e.line, e.second} {
		if line != "" {
			output += s.run(w, line, e.env)
		}
	}
	require.NoError(s.t, w.Close())
	require.NoError(s.t, syscall.Close(leaked))
	for range 100 { // connections are counted by others
		if e.reads || s.hits.Load() != hits || strings.Contains(output, "ESCAPED") {
			break
		}
		unix.Nanosleep(&unix.Timespec{Nsec: 100_000}, nil)
	}
	if e.reads {
		return strings.Contains(output, word), output
	}
	after := s.state()
	return after != before || s.hits.Load() != hits || s.dead() || strings.Contains(output, "ESCAPED"), output
}

// control makes the attempt without a sandbox, once.
func (s *scene) control(e *escape) (escaped bool, output string) {
	type result struct {
		escaped bool
		output  string
	}
	if known, ok := controls.Load(e.name); ok {
		return known.(result).escaped, known.(result).output
	}
	escaped, output = s.try(e, nil)
	controls.Store(e.name, result{escaped, output})
	return escaped, output
}

var controls sync.Map

// open opens a workspace, with the weaker sandbox if that is wanted: as if there were no bubblewrap.
func (s *scene) open(c local.Config, weaker bool) (*local.Workspace, error) {
	if weaker {
		c.Env = os.Environ()
		path := os.Getenv("PATH")
		require.NoError(s.t, os.Setenv("PATH", "/nowhere"))
		defer os.Setenv("PATH", path)
	}
	return local.Open(c)
}

// refused is the output of a command that was not tried, because there is no sandbox for it.
const refused = "REFUSED"

// refuses reports whether a workspace has no sandbox at all. Then each command is asked about.
func refuses(w *local.Workspace) bool {
	why := w.Unsandboxed()
	return why != nil && strings.Contains(why.Error(), "nor a weaker one")
}

func (s *scene) run(w *local.Workspace, line string, env []string) string {
	tmp := filepath.Join(os.TempDir(), filepath.Base(s.base))
	p, err := w.Start(s.t.Context(), workspace.Command{Line: line, Env: append([]string{
		"OUT=" + s.out, "PID=" + strconv.Itoa(s.sleeper.Process.Pid), "ATTACK=" + filepath.Join(s.base, "attack"),
		"PORT=" + s.tcp, "PROJECT=" + s.project, "HOSTTMP=" + tmp, "AGENT=" + strconv.Itoa(os.Getpid()),
		"ABSTRACT=@" + filepath.Base(s.base), "SHM=" + s.shm, "QUEUE=" + s.queue, "TERMINAL=" + s.terminal,
		escapeMode + "=1",
	}, env...)})
	require.NoError(s.t, err)
	_, err = p.Wait(s.t.Context())
	require.NoError(s.t, err)
	return outputOf(s.t, p)
}

const (
	escapeMode = "PONTE_ESCAPE"       // the test binary attacks
	escapeUser = "PONTE_ESCAPE_USER"  // the test binary runs as somebody else
	escapeBase = "PONTE_ESCAPE_SCENE" // where that can write
)

func TestNothingEscapesFromASandbox(t *testing.T) {
	if box, err := local.Open(local.Config{Roots: []string{t.TempDir()}, Sandbox: &local.Sandbox{}}); errors.Is(err, local.ErrSandbox) {
		if os.Getenv(escapeUser) == "none" {
			t.Log("REFUSED:", err)
			return
		}
		t.Skip(err)
	} else {
		require.NoError(t, err)
		require.NoError(t, box.Close())
	}
	s, root := newScene(t), os.Getuid() == 0
	share := 2
	if os.Getenv(escapeUser) != "" {
		share = 4
	}
	tried, without, out := 0, []string{}, []string{}
	for i := range escapes {
		e := &escapes[i]
		if e.root && !root || e.nobody && root || !e.nobody && !allEscapes() && i%share != 0 {
			continue
		}
		ok, text := s.control(e)
		if !ok {
			without = append(without, e.name+": "+cut(text))
			continue
		}
		tried++
		if ok, text := s.try(e, &local.Sandbox{}); ok {
			out = append(out, e.name+": "+cut(text))
		}
	}
	t.Logf("%d of %d ways out of the sandbox fail as user %d", tried-len(out), tried, os.Getuid())
	for _, name := range without {
		t.Log("has no effect without a sandbox either, so it does not count: ", name)
	}
	require.Empty(t, out)
	if root && allEscapes() {
		require.GreaterOrEqual(t, tried, 80)
	}
}

// allEscapes says that each way out is tried, as in the deep tier, and not only some of them.
func allEscapes() bool { return os.Getenv("PONTE_ESCAPES") == "all" }

func cut(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return text[:min(len(text), 160)]
}

// The same as another user, and where there are no user namespaces.
func TestNothingEscapesFromASandboxOfOthers(t *testing.T) {
	if os.Getuid() != 0 || os.Getenv(escapeUser) != "" {
		t.Skip("only root can become others")
	}
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Skip("bubblewrap is not installed (package bubblewrap)")
	}
	nobody := func(self string) []string {
		return []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", self}
	}
	none := func(self string) []string {
		forbid := "echo 0 >/proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\""
		return []string{"unshare", "-Ur", "sh", "-c", forbid, self}
	}
	const full, weak = "TestNothingEscapesFromASandbox", "TestWhatEscapesFromTheWeakerSandboxIsKnown"
	for _, c := range []struct {
		name string
		argv func(self string) []string
		test string
		want string
	}{
		{"nobody", nobody, full, " ways out of the sandbox fail as user 65534"},
		{"none", none, full, "REFUSED: local: no sandbox"},
		{"nobody weaker", nobody, weak, " ways out of the weaker sandbox fail as user 65534"},
		{"none weaker", none, weak, " ways out of the weaker sandbox fail as user 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.test == weak && !allEscapes() {
				t.Skip("set PONTE_ESCAPES=all, as the deep tier does")
			}
			base := roomy(t)
			require.NoError(t, os.Chmod(base, 0o777))
			self := filepath.Join(base, "test")
			copySelf(t, self)
			argv := append(c.argv(self), "-test.run=^"+c.test+"$", "-test.v")
			cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
			cmd.Dir = base
			cmd.Env = append(os.Environ(), escapeUser+"="+c.name, escapeBase+"="+base, "TMPDIR=/tmp", "HOME="+base)
			out, err := cmd.CombinedOutput()
			for line := range strings.Lines(string(out)) {
				t.Log(strings.TrimSpace(line))
			}
			require.NoError(t, err)
			require.Contains(t, string(out), c.want)
		})
	}
}
