// SPDX-License-Identifier: Apache-2.0

package chat_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/chat"
	"github.com/ponte-go/ponte/app/internal/term/tty"
	"github.com/ponte-go/ponte/app/offline"
)

// pseudo is a pseudo-terminal with what was written to it.
type pseudo struct {
	*teletype
	master, slave *os.File
}

func (p *pseudo) types(t *testing.T, keys string) {
	t.Helper()
	_, err := p.master.WriteString(keys)
	require.NoError(t, err)
}

func newPseudo(t *testing.T) *pseudo {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals here: %v", err)
	}
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	p := &pseudo{teletype: newTeletype(), master: os.NewFile(uintptr(fd), "ptmx"), slave: slave}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&p.paper, p.master)
	}()
	t.Cleanup(func() {
		_ = p.slave.Close()
		_ = p.master.Close()
		<-read
	})
	return p
}

// desks runs the program on a terminal, with its own agent.
func (p *pseudo) desks(t *testing.T, out io.Writer, env map[string]string, args ...string) (code chan int) {
	code = make(chan int, 1)
	config := app.Config[any, string]{
		Name: "desk", Agent: agent.Must(agent.New(agent.Config[any, string]{})),
		Surfaces: []app.Surface{chat.New(chat.Options{})},
		Demo:     func(pace time.Duration) model.Model { return offline.New(offline.Config{Delay: pace}) },
	}
	go func() {
		code <- app.Run(t.Context(), config, app.Process{
			Args: append([]string{"chat", "-model", "offline", "-dir", t.TempDir()}, args...), In: p.slave, Out: out, Err: out,
			Getenv: func(name string) string { return env[name] },
		})
	}()
	return code
}

// On a terminal there is a screen, unless it is not wanted, cannot be, or nothing will be asked.
func TestWhenThereIsAScreen(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("XDG_STATE_HOME", home)
	const (
		screen = "screen"
		colors = "screen, colors"
		plain  = "plain"
		text   = "plain, colors"
	)
	for _, c := range []struct {
		want, env string
		args      []string
	}{
		{colors, "", nil}, {screen, "NO_COLOR=1", nil}, {plain, "TERM=dumb", nil}, {text, "", []string{"-plain"}},
		{plain, "NO_COLOR=1", []string{"-plain"}}, {plain, "", []string{"-json"}}, {colors, "", []string{"hello"}},
		{colors, "", []string{"-yes"}}, {text, "", []string{"-yes", "hello"}}, {plain, "file", nil},
	} {
		p := newPseudo(t)
		out := io.Writer(p.slave)
		if c.env == "file" {
			out = &p.paper
		}
		name, value, _ := strings.Cut(c.env, "=")
		code := p.desks(t, out, map[string]string{name: value}, c.args...)
		if len(c.args) == 0 || c.args[len(c.args)-1] != "hello" {
			if strings.HasPrefix(c.want, "screen") {
				p.waitFor(t, idle)
			} else if c.want != plain || len(c.args) == 0 {
				p.waitFor(t, "Ctrl-D ends.")
			}
			p.types(t, "\x04")
		}
		require.Equal(t, chat.ExitOK, <-code)
		if strings.HasPrefix(c.want, "screen") {
			p.waitFor(t, tty.End)
		} else if len(c.args) == 2 {
			p.waitFor(t, "tokens (0 %)")
		}
		got := plain
		if strings.Contains(p.String(), tty.Begin) {
			got = screen
		}
		if strings.Contains(p.String(), "\x1b[90m") || strings.Contains(p.String(), "\x1b[2m") {
			got += ", colors"
		}
		require.Equal(t, c.want, got, "%v: %q", c, p.String())
	}
}

// What is typed on a screen is kept for the next time, and is written in the editor that the person
// has chosen.
func TestHistoryAndEditorOfAPerson(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("XDG_STATE_HOME", home)
	t.Setenv("PATH", home+":"+os.Getenv("PATH"))
	for _, name := range []string{"visual", "editor", "vi"} {
		script := "#!/bin/sh\nprintf 'hello from " + name + "' >\"$1\"\n"
		require.NoError(t, os.WriteFile(filepath.Join(home, name), []byte(script), 0o700))
	}
	history := ""
	for _, env := range []map[string]string{{"VISUAL": "visual", "EDITOR": "editor"}, {"EDITOR": "editor"}, {}} {
		p := newPseudo(t)
		code := p.desks(t, p.slave, env)
		p.waitFor(t, idle)
		p.types(t, "\x07")
		name := map[int]string{2: "visual", 1: "editor", 0: "vi"}[len(env)]
		p.waitFor(t, "hello from "+name)
		p.types(t, "\r")
		p.waitFor(t, "offline demo model")
		p.waitNow(t, idle)
		p.types(t, "\x04")
		require.Equal(t, chat.ExitOK, <-code)
		history += "\"hello from " + name + "\"\n"
	}
	kept, err := os.ReadFile(filepath.Join(home, "ponte", "chat-history.jsonl"))
	require.NoError(t, err)
	require.Equal(t, history, string(kept))
}

// Nothing that is typed is kept as plain text of sessions that are not kept, or encrypted.
func TestHistoryOfPrivateSessionsIsNotKept(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, home)
	}
	ring, err := session.Keyring{}.Rotated("one")
	require.NoError(t, err)
	key, config := filepath.Join(home, "key"), filepath.Join(home, "config.json")
	require.NoError(t, os.WriteFile(key, []byte(ring.Reveal()), 0o600))
	require.NoError(t, os.WriteFile(config, []byte(`{"encrypt": "`+key+`"}`), 0o600))
	for _, args := range [][]string{{"-no-store"}, {"-encrypt", key}, {"-config", config}} {
		p := newPseudo(t)
		code := p.desks(t, p.slave, nil, args...)
		p.waitFor(t, idle)
		p.types(t, "hello\r")
		p.waitFor(t, "offline demo model")
		p.waitNow(t, idle)
		p.types(t, "\x04")
		require.Equal(t, chat.ExitOK, <-code, p.String())
		require.NoFileExists(t, filepath.Join(home, "ponte", "chat-history.jsonl"), args)
	}
}

// A directory with something that cannot be copied is not worked in, and nothing is left of the
// copy.
func TestACopyThatCannotBeMade(t *testing.T) {
	dir, temp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	said := converse(t, dir, "desk chat -agent 'SELF' -dir HOME -scratch hello", "")
	require.True(t, strings.HasPrefix(said, "! desk: -scratch: cannot copy HOME: "), said)
	require.True(t, strings.HasSuffix(said, "\n= 1\n"), said)
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, left)
}

// Where the copy is that is worked on is said beside the answer, and beside what is for a program.
func TestWhereACopyIs(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	for flag, mark := range map[string]string{"": "> ", "-json ": "! "} {
		said := converse(t, dir, "desk chat -agent 'SELF' -dir HOME -scratch "+flag+"'say hello'", "")
		require.Regexp(t, "(?m)^"+mark+`Working on a copy: \S+/desk-\d+/\S+$`, said)
		require.Equal(t, 1, strings.Count(said, "Working on a copy"))
	}
}

// The sessions of a person are kept, and those that are continued. Who watches sees the offline
// model write.
func TestWhoseSessionsAreKept(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	for _, c := range []struct {
		terminal bool
		args     []string
		kept     bool
		pace     time.Duration
	}{
		{true, nil, true, 8 * time.Millisecond},
		{true, []string{"-plain"}, true, 8 * time.Millisecond},
		{false, []string{"hello"}, false, 0},
		{false, []string{"-c", "hello"}, true, 0},
		{false, []string{"-r", "x", "hello"}, true, 0},
	} {
		p := newPseudo(t)
		opened, paced := false, time.Duration(-1)
		config := app.Config[any, string]{
			Name: "desk", Agent: agent.Must(agent.New(agent.Config[any, string]{})),
			Surfaces: []app.Surface{chat.New(chat.Options{})},
			Demo: func(pace time.Duration) model.Model {
				paced = pace
				return offline.New(offline.Config{})
			},
			Store: func(context.Context, *app.Env) (session.Store, error) {
				opened = true
				return new(session.Memory), nil
			},
		}
		process := app.Process{
			Args: append([]string{"chat", "-model", "offline", "-dir", home}, c.args...), In: strings.NewReader(""), Out: &p.paper,
			Err: &p.paper, Getenv: func(name string) string { return map[string]string{"XDG_STATE_HOME": home}[name] },
		}
		if c.terminal {
			process.In, process.Out, process.Err = p.slave, p.slave, p.slave
		}
		code := make(chan int, 1)
		go func() { code <- app.Run(t.Context(), config, process) }()
		if c.terminal {
			p.waitFor(t, "Ctrl-D")
			p.types(t, "\x04")
		}
		require.Equal(t, c.args != nil && !c.terminal && c.kept, <-code != chat.ExitOK, "there is no session to continue")
		require.Equal(t, c.kept, opened, c)
		require.Equal(t, c.pace, paced, c)
	}
}
