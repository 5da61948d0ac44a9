// SPDX-License-Identifier: Apache-2.0

//go:build unix

package guard_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/guard"
)

func TestExitCodeAndOutput(t *testing.T) {
	p, out := newShell(t, "pwd; echo $GREETING; cat; exit 7", func(c *guard.Command) {
		c.Dir, c.Env = "/", append(os.Environ(), "GREETING=hi")
	})
	text, err := io.ReadAll(out)
	require.NoError(t, err)
	require.Equal(t, "/\nhi\n", string(text))
	require.Equal(t, guard.Exit{Code: 7}, p.Exit())
	<-p.Ended()
}

// 128+n is how shells report signals: a command that exits with it was not killed.
func TestExitTellsCodesFromSignals(t *testing.T) {
	p, _ := newShell(t, "exit 137", nil)
	require.Equal(t, guard.Exit{Code: 137}, p.Exit())
	p, _ = newShell(t, "kill -KILL $$", nil)
	require.Equal(t, guard.Exit{Code: -1, Signal: "SIGKILL"}, p.Exit())
	p, _ = newShell(t, "kill -SEGV $$", nil)
	require.Equal(t, guard.Exit{Code: -1, Signal: "SIGSEGV"}, p.Exit())
}

func TestArgumentsArePassedOnAsTheyAre(t *testing.T) {
	args := []string{"", "a b", "$HOME", "`x`", "*", "\n", "'", `"`, "\\", "-n", "é\xff"}
	r, w, err := os.Pipe()
	require.NoError(t, err)
	p, err := guard.Start(guard.Command{Path: "printf", Args: append([]string{"%s|"}, args...), Stdout: w})
	require.NoError(t, err)
	w.Close()
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, strings.Join(args, "|")+"|", string(text))
	p.Close()
}

func TestEnvironmentIsPassedOn(t *testing.T) {
	_, out := newShell(t, "", func(c *guard.Command) {
		c.Path, c.Args = "env", nil
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "A=1", "a.b=2", "x-y=3 4", "E=", "7=x", "L=a\nb"}
	})
	text, err := io.ReadAll(out)
	require.NoError(t, err)
	for _, want := range []string{"A=1\n", "a.b=2\n", "x-y=3 4\n", "E=\n", "7=x\n", "L=a\nb\n"} {
		require.Contains(t, string(text), want)
	}
}

func TestStandardInputIsEmpty(t *testing.T) {
	p, _ := newShell(t, "read x && exit 9; exec 3<&0 || exit 8; exit 0", nil)
	require.Equal(t, guard.Exit{}, p.Exit())
}

func TestCommandHasNoTerminal(t *testing.T) {
	p, _ := newShell(t, "(: </dev/tty) 2>/dev/null && exit 9; exit 0", nil)
	require.Equal(t, guard.Exit{}, p.Exit())
}

// Neither the command nor the watcher keeps files of the owner open; the command has the standard ones only.
func TestNoFilesLeak(t *testing.T) {
	needProc(t)
	kept, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer kept.Close()
	const list = "ls /proc/$$/fd; :"
	want, err := exec.Command("sh", "-c", list).Output() // with what was open when the test began
	require.NoError(t, err)
	_, out := newShell(t, list, nil)
	text, err := io.ReadAll(out)
	require.NoError(t, err)
	require.Subset(t, strings.Fields(string(want)), strings.Fields(string(text)))

	files := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(all)
	}
	before := files()
	for range 20 {
		p, err := guard.Start(guard.Command{Path: "true"})
		require.NoError(t, err)
		p.Close()
	}
	require.LessOrEqual(t, files(), before)
}

func TestErrorsOfStart(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	require.NoError(t, os.WriteFile(plain, nil, 0o644))
	for path, want := range map[string]string{
		"no-such-program-here": "there is no such program in PATH",
		"/no/such/program":     "there is no such program",
		plain + "/x":           "there is no such program",
		plain:                  "it is not executable",
		dir:                    "it is a directory",
		"":                     "there is no such program in PATH",
		"a\x00b":               "there is no such program",
		"/dev/null":            "it is not executable",
	} {
		_, err := guard.Start(guard.Command{Path: path})
		require.ErrorIs(t, err, guard.ErrStart, path)
		require.ErrorContains(t, err, want, path)
	}
	_, err := guard.Start(guard.Command{Path: "no-such-program-here"})
	require.ErrorIs(t, err, guard.ErrNoProgram)
	_, err = guard.Start(guard.Command{Path: "true", Dir: "/no/such/dir"})
	require.ErrorIs(t, err, guard.ErrStart)
	require.ErrorContains(t, err, "no such file or directory")
	_, err = guard.Start(guard.Command{Path: "true", Args: []string{"a\x00b"}})
	require.ErrorIs(t, err, guard.ErrStart)
}

func TestProgramsAreLookedUpInTheCommandsPath(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bin", "tool"), []byte("#!/bin/sh\nexit 5\n"), 0o755))
	p, err := guard.Start(guard.Command{Path: "tool", Env: []string{"PATH=/nowhere:" + dir + "/bin"}})
	require.NoError(t, err)
	require.Equal(t, guard.Exit{Code: 5}, p.Exit())
	p, err = guard.Start(guard.Command{Path: "bin/tool", Dir: dir})
	require.NoError(t, err)
	require.Equal(t, guard.Exit{Code: 5}, p.Exit())
	_, err = guard.Start(guard.Command{Path: "tool", Dir: dir, Env: []string{"PATH=bin:."}})
	require.ErrorIs(t, err, guard.ErrNoProgram)
}

func TestStopAsksFirst(t *testing.T) {
	p, out := newShell(t, "trap 'echo bye; exit 3' TERM; echo $$; while :; do sleep 0.01; done", func(c *guard.Command) { c.Grace = time.Hour })
	require.Equal(t, p.Pid(), number(t, out))
	p.Stop()
	rest, err := io.ReadAll(out)
	require.NoError(t, err)
	require.Equal(t, "bye\n", string(rest))
	require.Equal(t, guard.Exit{Code: 3}, p.Exit())
	<-p.Ended()
}

func TestStopKillsWhatIgnoresIt(t *testing.T) {
	p, out := newShell(t, "trap '' TERM; echo $$; while :; do sleep 0.01; done", func(c *guard.Command) { c.Grace = 100 * time.Millisecond })
	number(t, out)
	p.Stop()
	require.Equal(t, guard.Exit{Code: -1, Signal: "SIGKILL"}, p.Exit())
}

// The grace would let this command run for an hour.
func TestKillDoesNotAsk(t *testing.T) {
	p, out := newShell(t, "trap 'echo asked' TERM; echo $$; while :; do sleep 0.01; done", func(c *guard.Command) { c.Grace = time.Hour })
	number(t, out)
	p.Kill()
	require.Equal(t, guard.Exit{Code: -1, Signal: "SIGKILL"}, p.Exit())
	rest, err := io.ReadAll(out)
	require.NoError(t, err)
	require.Empty(t, string(rest))
}

func TestStoppedProcessesEndToo(t *testing.T) {
	p, out := newShell(t, "sh -c 'echo $$; kill -STOP $$' & wait", func(c *guard.Command) { c.Grace = time.Hour })
	child := number(t, out)
	p.Close()
	requireGone(t, child)
}

func TestBackgroundProcessesRunUntilClose(t *testing.T) {
	p, out := newShell(t, "sleep 300 >/dev/null 2>&1 & echo $!", nil)
	child := number(t, out)
	require.Equal(t, guard.Exit{}, p.Exit())
	require.True(t, alive(child))
	select {
	case <-p.Ended():
		t.Fatal("the child still runs")
	default:
	}
	p.Close()
	require.False(t, alive(child))
	p.Close()
	p.Stop()
	p.Kill()
}

// families are scripts that print the ids of the processes that must end with them, and run until they are killed.
var families = map[string]string{
	"child":             `sleep 300 & echo $!; wait`,
	"grandchild":        `sh -c 'sleep 301 & echo $!; wait'; :`,
	"orphan":            `(sh -c 'echo $$; exec sleep 302' &) ; sleep 303`,
	"ignores TERM":      `trap '' TERM INT HUP; sh -c 'echo $$; while :; do sleep 1; done'; :`,
	"own group":         `timeout 300 sh -c 'echo $$; sleep 304; :'; :`,
	"orphan, own group": `(timeout 300 sh -c 'echo $$; sleep 305; :' &); sleep 306`,
	"own session":       `setsid sh -c 'echo $$; trap "" TERM; sleep 307; :'; :`,
	"below own session": `setsid sh -c 'timeout 300 sh -c "echo \$\$; trap \"\" TERM; sleep 308; :"; :'; :`,
	"stopped":           `sh -c 'echo $$; kill -STOP $$' & wait`,
	"command has gone":  `sh -c 'echo $$; trap "" TERM; while :; do sleep 1; done' &`,
	"nohup":             `nohup sh -c 'echo $$; sleep 309; :' & wait`,
}

func TestCloseEndsEverything(t *testing.T) {
	needProc(t)
	for name := range families {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			closeFamily(t, name)
		})
	}
}

// Where there is no /proc the processes come from ps, which does not tell sessions.
func TestCloseEndsEverythingByPS(t *testing.T) {
	needProc(t)
	for name := range families {
		if name == "orphan, own group" {
			continue // as the package documentation says
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			closeFamily(t, name, "PONTE_GUARD_PS=1")
		})
	}
}

// /bin/sh is another program on each system.
func TestCloseEndsEverythingWithAnyShell(t *testing.T) {
	needProc(t)
	for _, shell := range []string{"dash", "bash", "busybox", "ksh", "mksh", "zsh", "yash"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		t.Run(shell, func(t *testing.T) {
			sh := filepath.Join(t.TempDir(), "sh")
			require.NoError(t, os.Symlink(path, sh))
			t.Cleanup(guard.SetShell(sh))
			for _, name := range []string{"command has gone", "below own session", "orphan, own group"} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					closeFamily(t, name)
				})
			}
			p, _ := newShell(t, "exit 137", nil)
			require.Equal(t, guard.Exit{Code: 137}, p.Exit())
			<-p.Ended()
		})
	}
}

// closeFamily starts a family, with variables added to its environment, and closes it.
func closeFamily(t *testing.T, name string, env ...string) {
	mark := fmt.Sprintf("PONTE_TEST_MARK=%d-%s", os.Getpid(), t.Name())
	p, out := newShell(t, families[name], func(c *guard.Command) {
		c.Env, c.Grace = append(append(os.Environ(), mark), env...), 50*time.Millisecond
	})
	require.True(t, alive(number(t, out)))
	p.Close()
	requireNothingMarked(t, mark)
}

func requireNothingMarked(t *testing.T, mark string) {
	t.Helper()
	require.Eventually(t, func() bool { return len(marked(t, mark)) == 0 }, time.Minute, 5*time.Millisecond, "left: %q", marked(t, mark))
}

// A command may signal its own group, in which the watcher is.
func TestWatcherIgnoresSignalsToTheGroup(t *testing.T) {
	// No HUP and no INT: a shell cannot trap signals that were ignored when it started, as under nohup.
	goOn := filepath.Join(t.TempDir(), "go on")
	p, out := newShell(t, `trap 'echo got; :' TERM USR1 USR2; kill -TERM 0; kill -USR1 0; kill -USR2 0
(trap '' TERM; exec sleep 300 >/dev/null 2>&1) & echo $!
until test -e '`+goOn+`'; do sleep 0.01; done; exit 4`, nil)
	var line string
	for range 3 {
		line, _ = out.ReadString('\n')
		require.Equal(t, "got\n", line)
	}
	child := number(t, out)
	if _, err := os.Stat("/proc/self/cmdline"); err == nil {
		watcherOf(t, p.Pid())
	}
	require.NoError(t, os.WriteFile(goOn, nil, 0o600))
	require.Equal(t, guard.Exit{Code: 4}, p.Exit())
	p.Close()
	requireGone(t, child)
}

func TestCommandEndsWhenItsWatcherDies(t *testing.T) {
	needProc(t)
	p, out := newShell(t, `timeout 300 sh -c 'echo $$; sleep 300' & wait`, func(c *guard.Command) { c.Grace = time.Hour })
	child := number(t, out)
	require.NoError(t, syscall.Kill(watcherOf(t, p.Pid()), syscall.SIGKILL))
	require.Equal(t, guard.Exit{Code: -1, Signal: "SIGKILL", Lost: true}, p.Exit())
	<-p.Ended()
	requireGone(t, child)
}

// watcherOf returns the watcher of a session. It is a fork of the shell that starts it for a moment, and has its command line then.
func watcherOf(t *testing.T, session int) (pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		pids := watchersOf(t, session)
		if len(pids) == 1 {
			pid = pids[0]
		}
		return len(pids) == 1
	}, 20*time.Second, 10*time.Millisecond)
	return pid
}

// watchersOf returns the watchers of a session, by their command line.
func watchersOf(t *testing.T, session int) (pids []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, f := range files {
		text, _ := os.ReadFile(f)
		if strings.Contains(string(text), fmt.Sprintf("\x00ponte-guard\x00%d\x00", session)) {
			var pid int
			_, err := fmt.Sscanf(f, "/proc/%d/", &pid)
			require.NoError(t, err)
			pids = append(pids, pid)
		}
	}
	return pids
}

// Models look for processes by their command line, and must not find the watcher.
func TestWatcherDoesNotShowTheCommandLine(t *testing.T) {
	needProc(t)
	p, out := newShell(t, "echo $$; exec sleep 300 # a-word-to-look-for", nil)
	number(t, out)
	for _, pid := range watchersOf(t, p.Pid()) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		require.NoError(t, err)
		require.NotContains(t, string(text), "a-word-to-look-for")
	}
}

func TestForksCannotEscape(t *testing.T) {
	needProc(t)
	mark := fmt.Sprintf("PONTE_TEST_MARK=%d-forks", os.Getpid())
	p, out := newShell(t, `echo $$; hop() { sh -c 'trap "" TERM; i=0; while [ $i -lt 20 ]; do i=$((i+1)); (sleep 0.001 &); done'; hop & }; hop; wait; sleep 300`, func(c *guard.Command) {
		c.Env, c.Grace = append(os.Environ(), mark), -1
	})
	number(t, out)
	p.Close()
	requireNothingMarked(t, mark)
}

// BenchmarkStart measures a command from its start to its exit. The end of its watcher is not counted.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		p, err := guard.Start(guard.Command{Path: "true"})
		require.NoError(b, err)
		p.Exit()
		b.StopTimer()
		<-p.Ended()
		b.StartTimer()
	}
}

func BenchmarkExecAlone(b *testing.B) {
	for b.Loop() {
		require.NoError(b, newTrue().Run())
	}
}
