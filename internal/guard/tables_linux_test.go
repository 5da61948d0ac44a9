// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The first program in PATH that can be executed is the one. If there is none, the first reason
// that is not "there is none" is told.
func TestProgramsAreLookedUp(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"a/tool": 0o755, "b/tool": 0o755, "plain/tool": 0o644, "plain/other": 0o644, "sub/x/tool": 0o755} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, mode))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "dirs", "tool"), 0o755))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "a", "pipe"), 0o777))
	for _, c := range []struct {
		path, dir string
		env       []string
		want      string
	}{
		{"tool", "", []string{"PATH=DIR/a:DIR/b"}, "DIR/a/tool"},
		{"tool", "", []string{"PATH=DIR/none:DIR/b:DIR/a"}, "DIR/b/tool"},
		{"tool", "", []string{"PATH=DIR/a", "PATH=DIR/b"}, "DIR/b/tool"},
		{"tool", "", []string{"PATH=DIR/plain:DIR/b"}, "DIR/b/tool"},
		{"tool", "", []string{"PATH=DIR/dirs:DIR/plain"}, "it is a directory"},
		{"tool", "", []string{"PATH=DIR/plain:DIR/dirs"}, "it is not executable"},
		{"tool", "", []string{"PATH=DIR/none:DIR/dirs:DIR/none"}, "it is a directory"},
		{"tool", "DIR", []string{"PATH=a:.::./b"}, "there is no such program in PATH"},
		{"tool", "", []string{"PATH="}, "there is no such program in PATH"},
		{"tool", "", []string{"XPATH=DIR/a", "PATHS=DIR/a"}, "there is no such program in PATH"},
		{"", "", []string{"PATH=DIR/a"}, "there is no such program in PATH"},
		{"a/tool", "DIR", []string{}, "a/tool"},
		{"./tool", "DIR/a", []string{}, "./tool"},
		{"DIR/a/tool", "/", []string{}, "DIR/a/tool"},
		{"tool/", "DIR/a", []string{}, "tool/"},
		{"DIR/a/tool/x", "", []string{}, "there is no such program"},
		{"DIR/none", "", []string{}, "there is no such program"},
		{"DIR/plain/other", "", []string{}, "it is not executable"},
		{"DIR/dirs/tool", "", []string{}, "it is a directory"},
		{"DIR/a/pipe", "", []string{}, "it is not executable"},
		{"a\x00b", "", []string{"PATH=DIR/a"}, "there is no such program"},
		{"DIR/" + strings.Repeat("x", 300), "", []string{}, "file name too long"},
	} {
		in := func(text string) string { return strings.ReplaceAll(text, "DIR", dir) }
		for i := range c.env {
			c.env[i] = in(c.env[i])
		}
		got, err := Lookup(Command{Path: in(c.path), Dir: in(c.dir), Env: c.env})
		if err != nil {
			require.Equal(t, "", got)
			require.True(t, strings.HasPrefix(err.Error(), "guard: cannot start "), err)
			require.True(t, strings.HasSuffix(err.Error(), ": "+c.want), "%v: %v", c, err)
			require.ErrorIs(t, err, ErrStart)
			require.Equal(t, strings.Contains(c.want, "no such program"), errors.Is(err, ErrNoProgram), c)
			continue
		}
		require.Equal(t, in(c.want), got, c)
	}
	t.Setenv("PATH", filepath.Join(dir, "b"))
	got, err := Lookup(Command{Path: "tool"})
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "b", "tool"), got, "the environment of this process is the default")
	require.EqualError(t, startError("a\nb", errors.New("x")), "guard: cannot start a b: x")
	require.EqualError(t, startError("/a", &fs.PathError{Op: "open", Path: "/a", Err: errors.New("x")}), "guard: cannot start /a: x")
	require.EqualError(t, startError("/a", &fs.PathError{Op: "open", Path: "/b", Err: errors.New("x")}), "guard: cannot start /a: open /b: x")
	require.Equal(t, "x", plain(&fs.PathError{Op: "chdir", Path: "/b", Err: errors.New("x")}).Error())
	require.Equal(t, "x", plain(errors.New("x")).Error())
}

// Variables whose names are none to a shell reach the command through env.
func TestOddVariablesArePassedOnByEnv(t *testing.T) {
	env := []string{"A=1", "a_9=2", "x-y=3", "a.b=4", "7=5", "7a=6", "=C:=7", "-a=8", "-=9", "none", "ä=10", "/=11", ":=12", "0=13", "9=14", "A=b-c"}
	odd := []string{"x-y=3", "a.b=4", "7=5", "7a=6", "ä=10", "/=11", ":=12", "0=13", "9=14"}
	require.Equal(t, odd, foreign(env))
	require.Empty(t, foreign([]string{"A=1", "_=2", "A=b-c", "", "="}))
	c := Command{Args: []string{"x", ""}, Env: env}
	program := "/bin/true"
	with, err := lookup(Command{Path: "env", Env: []string{"PATH=/usr/bin:/bin"}})
	require.NoError(t, err)
	require.Equal(t, append(append([]string{with}, odd...), program, "x", ""), argv(c, program))
	require.Equal(t, []string{"/a=b", "x", ""}, argv(c, "/a=b"), "env would take the program for a variable")
	c.Env = []string{"A=1"}
	require.Equal(t, []string{program, "x", ""}, argv(c, program))
}

// Signals have names. Those that are no errors of programs have those of the system.
func TestSignalsHaveNames(t *testing.T) {
	for number, want := range map[syscall.Signal]string{
		1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV",
		12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ", 26: "SIGVTALRM", 27: "SIGPROF", 31: "SIGSYS", 19: "stopped (signal)", 63: "signal 63",
	} {
		require.Equal(t, want, signalName(number))
	}
	require.Equal(t, Exit{Code: -1}, exitOf(nil))
	for grace, want := range map[time.Duration]time.Duration{0: 500 * time.Millisecond, -1: 0, -time.Hour: 0, 1: 1, time.Hour: time.Hour} {
		require.Equal(t, want, Command{Grace: grace}.grace())
	}
}

// The watcher waits for the grace in hundredths of a second, rounded up.
func TestWatchersHaveThePatienceOfTheGrace(t *testing.T) {
	for grace, want := range map[time.Duration]string{0: "50", -1: "0", 1: "1", 10 * time.Millisecond: "1", 10*time.Millisecond + 1: "2", 30 * time.Millisecond: "3", time.Hour: "360000"} {
		p, err := Start(Command{Path: "sleep", Args: []string{"300"}, Grace: grace})
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.watcher))
			fields := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
			return len(fields) > 3 && fields[len(fields)-3] == "ponte-guard" && fields[len(fields)-2] == strconv.Itoa(p.Pid()) && fields[len(fields)-1] == want
		}, time.Minute, time.Millisecond, "%v", grace)
		p.Kill()
		<-p.Ended()
		require.Equal(t, Exit{Code: -1, Signal: "SIGKILL"}, p.Exit())
	}
}

// A command that is stopped, killed or closed, or that ends by itself, is not lost.
func TestEndedCommandsAreNotLost(t *testing.T) {
	for name, end := range map[string]func(*Process){"stop": (*Process).Stop, "kill": (*Process).Kill, "close": (*Process).Close} {
		p, err := Start(Command{Path: "sleep", Args: []string{"300"}})
		require.NoError(t, err)
		end(p)
		<-p.Ended()
		<-p.Exited()
		require.False(t, p.lost.Load(), name)
	}
	p, err := Start(Command{Path: "sh", Args: []string{"-c", "exit 3"}})
	require.NoError(t, err)
	<-p.Ended()
	require.False(t, p.lost.Load())
	require.Equal(t, Exit{Code: 3}, p.Exit())
}

// What a command has left running ends with the watcher, too, also after the command.
func TestWhatIsLeftEndsWithItsWatcher(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	p, err := Start(Command{Path: "sh", Args: []string{"-c", "sleep 300 & echo $!"}, Stdout: w})
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, w.Close())
	var child int
	_, err = fmt.Fscan(r, &child)
	require.NoError(t, err)
	require.Equal(t, Exit{}, p.Exit())
	<-p.settled
	require.NoError(t, syscall.Kill(p.watcher, syscall.SIGKILL))
	<-p.Ended()
	require.True(t, p.lost.Load())
	require.Eventually(t, func() bool { state, _ := stateOf(child); return state == "" || state == "Z" || state == "X" }, time.Minute, time.Millisecond)
}

// Without a shell nothing is started.
func TestMachinesWithoutAShell(t *testing.T) {
	defer SetShell("/no/shell")()
	_, err := Start(Command{Path: "true"})
	require.EqualError(t, err, "guard: cannot start true: there is no /no/shell to watch over it")
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorIs(t, err, ErrStart)
	require.NotErrorIs(t, err, ErrNoProgram)
	shells = append(shells, "/bin/sh")
	shell, err := findShell()
	require.NoError(t, err)
	require.Equal(t, "/bin/sh", shell)
}

// A shell that cannot start a watcher starts no command.
func TestCommandsWithoutAWatcherDoNotRun(t *testing.T) {
	dir := t.TempDir()
	for i, script := range []string{"exit 0", "echo no number >&4; exit 0", "echo >&4; sleep 300"} {
		shell := filepath.Join(dir, fmt.Sprint("sh", i))
		require.NoError(t, os.WriteFile(shell, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
		restore := SetShell(shell)
		_, err := Start(Command{Path: "true"})
		restore()
		require.EqualError(t, err, "guard: cannot start true: its watcher did not start", script)
	}
}

// openFiles counts the files of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(all)
}

// What cannot be started leaves no file open, nor does what has ended.
func TestFailedStartsLeaveNoFileOpen(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would close them
	shell := filepath.Join(t.TempDir(), "sh")
	require.NoError(t, os.WriteFile(shell, []byte("#!/bin/sh\nexit 0\n"), 0o755))
	first, err := Start(Command{Path: "true"}) // after which the runtime has the files that it needs
	require.NoError(t, err)
	<-first.Ended()
	for name, try := range map[string]func() error{
		"no program":   func() error { _, err := Start(Command{Path: "/no/program"}); return err },
		"no directory": func() error { _, err := Start(Command{Path: "true", Dir: "/no/directory"}); return err },
		"a NUL":        func() error { _, err := Start(Command{Path: "true", Args: []string{"\x00"}}); return err },
		"no shell":     func() error { defer SetShell("/no/shell")(); _, err := Start(Command{Path: "true"}); return err },
		"no watcher":   func() error { defer SetShell(shell)(); _, err := Start(Command{Path: "true"}); return err },
		"piped":        func() error { _, _, _, _, err := StartPiped(Command{Path: "/no/program"}); return err },
	} {
		before := openFiles(t)
		for range 5 {
			require.Error(t, try(), name)
		}
		require.LessOrEqual(t, openFiles(t), before, name)
	}
	before := openFiles(t)
	for range 5 {
		p, in, out, errs, err := StartPiped(Command{Path: "true"})
		require.NoError(t, err)
		require.NoError(t, errors.Join(in.Close(), out.Close(), errs.Close()))
		<-p.Ended()
	}
	require.LessOrEqual(t, openFiles(t), before)
}

// A piped command has each of its streams, and ends like others.
func TestPipedCommands(t *testing.T) {
	p, in, out, errs, err := StartPiped(Command{Path: "sh", Args: []string{"-c", "read x; echo out $x; echo err $x >&2; cat; exit 4"}})
	require.NoError(t, err)
	_, err = io.WriteString(in, "one\ntwo\n")
	require.NoError(t, err)
	require.NoError(t, in.Close())
	said, err := io.ReadAll(out)
	require.NoError(t, err)
	require.Equal(t, "out one\ntwo\n", string(said))
	said, err = io.ReadAll(errs)
	require.NoError(t, err)
	require.Equal(t, "err one\n", string(said))
	require.Equal(t, Exit{Code: 4}, p.Exit())
	require.NoError(t, errors.Join(out.Close(), errs.Close()))
	p, in, out, errs, err = StartPiped(Command{Path: "/no/program"})
	require.Nil(t, p)
	require.Equal(t, []*os.File{nil, nil, nil}, []*os.File{in, out, errs})
	require.EqualError(t, err, "guard: cannot start /no/program: there is no such program")
}

// Further files of a command are its descriptors from 5 on, and those before are closed.
func TestFilesOfCommands(t *testing.T) {
	dir := t.TempDir()
	var files []*os.File
	for _, text := range []string{"five", "six"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, text), []byte(text), 0o600))
		f, err := os.Open(filepath.Join(dir, text))
		require.NoError(t, err)
		defer f.Close()
		files = append(files, f)
	}
	input, err := os.Open(filepath.Join(dir, "six"))
	require.NoError(t, err)
	defer input.Close()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	p, err := Start(Command{Path: "sh", Args: []string{"-c", "cat; echo; cat <&5; echo; cat <&6; echo; pwd >&2; (: <&3) 2>/dev/null || (: <&4) 2>/dev/null || echo closed"}, Stdin: input, Stdout: w, Stderr: w, Files: files, Dir: "/"})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	said, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "six\nfive\nsix\n/\nclosed\n", string(said))
	require.Equal(t, Exit{}, p.Exit())
}

// stateOf returns the state, parent and pages of a process, as the kernel tells them.
func stateOf(pid int) (state string, pages int64) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	pages, _ = strconv.ParseInt(fields[21], 10, 64)
	return fields[0], pages
}

// A session is empty if it has no living process but its watcher, which must be seen for that.
func TestSessionsAreScanned(t *testing.T) {
	sleeper := exec.Command("sleep", "300")
	sleeper.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(t, sleeper.Start())
	defer func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() }()
	dead := exec.Command("true")
	dead.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(t, dead.Start())
	defer func() { _ = dead.Wait() }()
	group := exec.Command("sleep", "300")
	group.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, group.Start())
	defer func() { _ = group.Process.Kill(); _ = group.Wait() }()
	require.Eventually(t, func() bool { state, _ := stateOf(dead.Process.Pid); return state == "Z" }, time.Minute, time.Millisecond)
	own, living, zombie, nobody := os.Getpid(), sleeper.Process.Pid, dead.Process.Pid, 1<<30
	for _, c := range []struct {
		name             string
		session, watcher int
		empty, known     bool
	}{
		{"nobody has it", nobody, own, true, true},
		{"the watcher is unknown", nobody, nobody, true, false},
		{"somebody lives", living, own, false, true},
		{"somebody lives, the watcher is unknown", living, nobody, false, false},
		{"the watcher alone lives", living, living, true, true},
		{"a dead process", zombie, own, true, true},
		{"a group is no session", group.Process.Pid, own, true, true},
	} {
		empty, known := scanSession(strconv.Itoa(c.session), strconv.Itoa(c.watcher))
		require.Equal(t, [2]bool{c.empty, c.known}, [2]bool{empty, known}, c.name)
		empty, known = sessionEmpty(c.session, c.watcher)
		require.Equal(t, [2]bool{c.empty && c.known, c.known}, [2]bool{empty, known}, c.name)
	}
}

// The memory of a command is that of its process and of all below it.
func TestMemoryOfCommands(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	p, err := Start(Command{Path: "sh", Args: []string{"-c", "sh -c 'sleep 300 & echo $$ $!; wait'; :"}, Stdout: w})
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, w.Close())
	var child, grandchild int
	_, err = fmt.Fscan(r, &child, &grandchild)
	require.NoError(t, err)
	sum := func() (total int64) {
		for _, pid := range []int{p.Pid(), child, grandchild} {
			_, pages := stateOf(pid)
			total += pages
		}
		return total * int64(os.Getpagesize())
	}
	require.Eventually(t, func() bool {
		before := sum()
		got := p.Memory()
		return before > 0 && got == before && sum() == before
	}, time.Minute, time.Millisecond, "%d, not %d", p.Memory(), sum())
	p.Close()
	require.Zero(t, p.Memory(), "nothing is left")
}

// Values with a password in an address are not passed on, nor is what is not ordinary.
func TestVariablesOfPrograms(t *testing.T) {
	for value, want := range map[string]bool{
		"http://h": false, "http://u@h": true, "https://u:p@h/x": true, "HTTP://u@h": true, "ssh://u@h": false, "ssh://u:p@h": true, "http://h/u@x": false, "http://h/u:p@x": false,
		"plain": false, "u:p@h": false, "a,http://u:p@h": true, "a;b|http://u:p@h": true, "a 'http://u@h'": true, "a\thttp://u@h": true, "\"http://u@h\"": true, "x\nhttp://u@h": true, "@h": false, "://@h": false, "": false, "http://@h": true,
	} {
		require.Equal(t, want, hasPassword("GOPROXY", value), "%q", value)
	}
	for value, want := range map[string]bool{"u:p@h:1": true, "u@h": false, "h:1": false, "u:p@h/x": true, "h/u:p@x": false, "a,u:p@h": true, "http://h": false, "http://u@h": true} {
		require.Equal(t, want, hasPassword("all_proxy", value), "%q", value)
		require.Equal(t, want && strings.Contains(value, "://"), hasPassword("ALL_PROXIES", value), "%q", value)
	}
	env := []string{"PATH=/bin", "path=/x", "LC_ALL=C", "KEY=1", "MY_A=2", "MY_B=3", "HTTPS_PROXY=u:p@h", "HTTP_PROXY=h", "PATH", "=x", ""}
	require.Equal(t, []string{"PATH=/bin", "path=/x", "LC_ALL=C", "HTTP_PROXY=h", "PATH"}, Environ(env, nil))
	require.Equal(t, []string{"PATH=/bin", "path=/x", "LC_ALL=C", "MY_A=2", "MY_B=3", "HTTPS_PROXY=u:p@h", "HTTP_PROXY=h", "PATH"}, Environ(env, []string{"my_*", "https_proxy"}))
	require.Equal(t, env, Environ(env, []string{"*"}))
	require.Equal(t, []string{}, Environ(nil, nil))
	for name, want := range map[string]bool{"PATH": true, "path": true, "LC_TIME": true, "lc_time": true, "PATHS": false, "": false, "XPATH": false} {
		require.Equal(t, want, Ordinary(name), name)
	}
	for _, name := range OrdinaryNames() {
		require.True(t, Ordinary(strings.ReplaceAll(name, "*", "X")), name)
		require.NotContains(t, name, "#")
	}
}
