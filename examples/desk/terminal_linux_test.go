// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/all"
	"github.com/ponte-go/ponte/app/chat"
)

// terminal is a pseudo-terminal, and what was written to it.
type terminal struct {
	*testing.T
	master, slave *os.File

	mu  sync.Mutex
	got bytes.Buffer
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	x := &terminal{T: t, master: os.NewFile(uintptr(fd), "ptmx"), slave: slave}
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 4096)
		for {
			n, err := x.master.Read(buf)
			x.mu.Lock()
			x.got.Write(buf[:n])
			x.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = x.slave.Close()
		_ = x.master.Close()
		<-read
	})
	return x
}

func (x *terminal) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.got.String()
}

func (x *terminal) types(s string) {
	x.Helper()
	_, err := io.WriteString(x.master, s)
	require.NoError(x, err)
}

func (x *terminal) waitFor(text string) {
	x.Helper()
	require.Eventually(x, func() bool { return strings.Contains(x.text(), text) }, time.Minute, 5*time.Millisecond, "%q in %q", text, &x.got)
}

// program returns a directory with the command desk.
func (v visitor) program() string {
	v.Helper()
	self, err := os.Executable()
	require.NoError(v, err)
	script := "#!/bin/sh\n" + asProgram + "=1 exec '" + self + "' \"$@\"\n"
	require.NoError(v, os.WriteFile(filepath.Join(v.dir, "desk"), []byte(script), 0o700))
	return v.dir
}

// completed has shells complete a command line, and returns what they offer: the words, or what the
// line becomes.
var completed = map[string]func(v visitor, line string) string{
	"bash": func(v visitor, line string) string {
		const rules = "/usr/share/bash-completion/bash_completion"
		if _, err := os.Stat(rules); err != nil {
			return ""
		}
		words := strings.Split(line, " ")
		return v.shell("bash", append([]string{"--norc", "--noprofile", "-c", ". " + rules + `; . <(desk completion bash)
COMP_LINE="$1" COMP_POINT=${#1} COMP_CWORD=$2 COMP_TYPE=9
shift 2; COMP_WORDS=("$@"); COMPREPLY=(); __start_desk; printf '%s\n' "${COMPREPLY[@]}"`,
			"bash", line, strconv.Itoa(len(words) - 1)}, words...)...)
	},
	"fish": func(v visitor, line string) string {
		return v.shell("fish", "--no-config", "-c", `desk completion fish | source; complete -C "`+line+`"`)
	},
	"zsh": func(v visitor, line string) string {
		x := newTerminal(v.T)
		zsh := v.command("zsh", "-f", "-i")
		if zsh == nil {
			return ""
		}
		zsh.Stdin, zsh.Stdout, zsh.Stderr = x.slave, x.slave, x.slave
		zsh.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		require.NoError(v, zsh.Start())
		defer zsh.Wait()
		defer zsh.Process.Kill()
		x.types("PS1='ready''> '; autoload -U compinit && compinit -u -D; . <(desk completion zsh); LISTMAX=1000\r")
		x.waitFor("ready> ")
		before := len(x.text())
		x.types(line + "\t\x15print do'ne'\r")
		x.waitFor("\ndone")
		return x.text()[before:]
	},
}

// command returns a command that finds the program, nil if it is not installed.
func (v visitor) command(name string, args ...string) *exec.Cmd {
	if _, err := exec.LookPath(name); err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(v.Context(), time.Minute)
	v.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "PATH="+v.program()+":"+os.Getenv("PATH"), "HOME="+v.dir, "TERM=dumb")
	cmd.Dir = v.dir
	return cmd
}

// shell runs a shell, and returns its output; nothing if it is not installed.
func (v visitor) shell(name string, args ...string) string {
	v.Helper()
	cmd := v.command(name, args...)
	if cmd == nil {
		return ""
	}
	out, err := cmd.Output()
	require.NoError(v, err)
	return string(out)
}

// completes has a shell complete what people type. A shell that is not installed is left out: its
// script is made of the same candidates.
func (v visitor) completes(shell string) {
	v.Helper()
	_, err := exec.LookPath(shell)
	id := v.asked(hello)
	v.file("a-file", "")
	for line, want := range map[string][2]string{ // what is offered, and what is not
		"desk ses":         {"sessions", "version"},
		"desk sessions ex": {"export", "purge"},
		"desk chat --con":  {"--continue", "version"},
		"desk login deep":  {"deepseek", "a-file"},
		"desk sessions show -store " + v.store() + " " + id[:4]: {id, "a-file"},
	} {
		if got := completed[shell](v, line); got != "" {
			require.Contains(v, got, want[0], "%s: %s", shell, line)
			require.NotContains(v, got, want[1], "%s: %s", shell, line)
		} else if err == nil && shell != "bash" {
			v.Errorf("%s offers nothing for %q", shell, line)
		}
	}
}

// draws reports whether the program draws a screen on a terminal.
func (v visitor) draws(args ...string) bool {
	v.Helper()
	x := newTerminal(v.T)
	v.Setenv("TERM", "xterm")
	done := make(chan int, 1)
	go func() {
		done <- all.Run(v.Context(), program(), app.Process{
			Args: append([]string{"chat", "-no-store", "-model", "offline"}, args...), In: x.slave, Out: x.slave, Err: x.slave,
		})
	}()
	x.waitFor("› ")
	x.types(hello + "\r")
	x.waitFor("a lamp, delivered")
	require.Eventually(v, func() bool { // a message may be typed again
		shown := x.text()
		if !strings.Contains(shown, "\x1b[?1049h") {
			return strings.HasSuffix(shown, "› ")
		}
		return strings.LastIndex(shown, "/help") > strings.LastIndexAny(shown, "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	}, time.Minute, 2*time.Millisecond)
	x.types("\x04")
	require.Equal(v, chat.ExitOK, <-done)
	return strings.Contains(x.text(), "\x1b[?1049h")
}
