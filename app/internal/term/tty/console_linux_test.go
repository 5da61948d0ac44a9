// SPDX-License-Identifier: Apache-2.0

package tty_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/ponte-go/ponte/app/internal/term/tty"
)

// pseudo is a pseudo-terminal, and what was written to it.
type pseudo struct {
	*testing.T
	master, slave *os.File

	mu  sync.Mutex
	got bytes.Buffer
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
	p := &pseudo{T: t, master: os.NewFile(uintptr(fd), "ptmx"), slave: slave}
	p.resize(80, 24)
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 4096)
		for {
			n, err := p.master.Read(buf)
			p.mu.Lock()
			p.got.Write(buf[:n])
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = p.slave.Close()
		_ = p.master.Close()
		<-read
	})
	return p
}

func (p *pseudo) resize(width, height uint16) {
	require.NoError(p, unix.IoctlSetWinsize(int(p.slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: height, Col: width}))
}

// wrote waits for what was written to the terminal since the last time.
func (p *pseudo) wrote(want string) {
	p.Helper()
	require.Eventually(p, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.got.Len() >= len(want)
	}, 10*time.Second, time.Millisecond, "waiting for %q", want)
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Equal(p, want, p.got.String())
	p.got.Reset()
}

func (p *pseudo) types(s string) {
	_, err := p.master.Write([]byte(s))
	require.NoError(p, err)
}

// raw reports whether keys come one by one, and are not shown.
func (p *pseudo) raw() bool {
	state, err := unix.IoctlGetTermios(int(p.slave.Fd()), unix.TCGETS)
	require.NoError(p, err)
	return state.Lflag&(unix.ICANON|unix.ECHO|unix.ISIG) == 0
}

func (p *pseudo) open() *tty.Console {
	p.Helper()
	c, err := tty.Open(p.slave, p.slave)
	require.NoError(p, err)
	p.wrote(tty.Begin)
	require.True(p, p.raw())
	return c
}

// takes returns what a channel has within a moment.
func takes[T any](t *testing.T, from <-chan T) (v T, ok bool) {
	t.Helper()
	select {
	case v, ok = <-from:
	case <-time.After(10 * time.Second):
		t.Fatal("nothing came")
	}
	return v, ok
}

func TestATerminalIsSwitchedAndSwitchedBack(t *testing.T) {
	p := newPseudo(t)
	require.False(t, p.raw())
	c := p.open()
	n, err := c.Write([]byte("drawn"))
	require.NoError(t, err)
	require.Equal(t, 5, n)
	p.wrote("drawn")
	p.types("a\r\x03")
	var got []byte
	for len(got) < 3 {
		data, ok := takes(t, c.Input())
		require.True(t, ok)
		got = append(got, data...)
	}
	require.Equal(t, "a\r\x03", string(got), "keys as they were typed")
	for range 2 {
		require.NoError(t, c.Close())
	}
	p.wrote(tty.End)
	require.False(t, p.raw())
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGCONT))
	time.Sleep(10 * time.Millisecond)
	p.wrote("")
	require.False(t, p.raw(), "nothing is done to a terminal that was given back")
}

func TestTheSizeOfATerminal(t *testing.T) {
	p := newPseudo(t)
	c := p.open()
	defer c.Close()
	for _, size := range [][4]int{{80, 24, 80, 24}, {132, 50, 132, 50}, {1, 1, 1, 1}, {0, 24, 80, 24}, {80, 0, 80, 24}, {0, 0, 80, 24}} {
		p.resize(uint16(size[0]), uint16(size[1]))
		width, height := c.Size()
		require.Equal(t, size[2:], []int{width, height})
	}
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGWINCH))
	takes(t, c.Resized())
}

// A process that was stopped without notice has the terminal as it was.
func TestATerminalIsTakenAgain(t *testing.T) {
	p := newPseudo(t)
	state, err := unix.IoctlGetTermios(int(p.slave.Fd()), unix.TCGETS)
	require.NoError(t, err)
	c := p.open()
	require.NoError(t, unix.IoctlSetTermios(int(p.slave.Fd()), unix.TCSETS, state)) // as a shell does
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGCONT))
	takes(t, c.Resized())
	p.wrote("\x1b[?7l\x1b[?2004h\x1b[2J")
	require.True(t, p.raw())
	require.NoError(t, c.Close())
}

// Another program has the terminal as it was before, and what is typed then is its own. What was typed before is kept.
func TestATerminalIsLent(t *testing.T) {
	p := newPseudo(t)
	c := p.open()
	p.types("before")
	time.Sleep(20 * time.Millisecond) // it is read, and nobody takes it
	failed := errors.New("failed")
	for _, want := range []error{nil, failed} {
		err := c.Lend(func() error {
			p.wrote(tty.End)
			require.False(t, p.raw())
			require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGCONT))
			takes(t, c.Resized())
			require.False(t, p.raw(), "it is lent")
			p.types("line\n")
			buf := make([]byte, 100)
			n, err := p.slave.Read(buf)
			require.NoError(t, err)
			require.Equal(t, "line\n", string(buf[:n]))
			p.wrote("line\r\n")
			return want
		})
		if want == nil {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, want)
		}
		p.wrote(tty.Begin)
		require.True(t, p.raw())
		takes(t, c.Resized())
	}
	got, _ := takes(t, c.Input())
	require.Equal(t, "before", string(got))
	p.types("after")
	got, _ = takes(t, c.Input())
	require.Equal(t, "after", string(got))

	err := c.Lend(func() error { p.wrote(tty.End); return errors.Join(failed, c.Close()) })
	require.ErrorIs(t, err, failed)
	p.wrote(tty.End)
	require.False(t, p.raw(), "it was given back meanwhile")
}

func TestTheEndOfATerminal(t *testing.T) {
	p := newPseudo(t)
	c := p.open()
	require.NoError(t, p.master.Close())
	_, ok := takes(t, c.Input())
	require.False(t, ok)
	require.Error(t, c.Close())
}

func TestWhatIsNoTerminal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, err)
	defer f.Close()
	c, err := tty.Open(f, f)
	require.Error(t, err)
	require.Nil(t, c)
	data, err := os.ReadFile(f.Name())
	require.NoError(t, err)
	require.Empty(t, data)

	p := newPseudo(t)
	out, err := os.Open(f.Name()) // which cannot be written
	require.NoError(t, err)
	defer out.Close()
	_, err = tty.Open(p.slave, out)
	require.Error(t, err)
	require.False(t, p.raw(), "it is switched back")
}

// full is a terminal that is gone.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestFramesOfOtherSizes(t *testing.T) {
	p := tty.Painter{Out: full{}}
	require.EqualError(t, p.Paint(frame("one"), 20, 1), "gone")
	var out strings.Builder
	p = tty.Painter{Out: &out}
	paint := func(width, height int, lines ...string) string {
		out.Reset()
		require.NoError(t, p.Paint(frame(lines...), width, height))
		return strings.TrimSuffix(strings.TrimPrefix(out.String(), "\x1b[?2026h\x1b[?25l"), "\x1b[?2026l")
	}
	require.Equal(t, "\x1b[2J\x1b[1;1H\x1b[2Kone", paint(20, 3, "one"))
	require.Empty(t, paint(20, 3, "one"))
	require.Equal(t, "\x1b[2;1H\x1b[2Ktwo\x1b[3;1H\x1b[2Kthree", paint(20, 3, "one", "two", "three", "four"))
	require.Equal(t, "\x1b[2;1H\x1b[2K\x1b[3;1H\x1b[2K", paint(20, 3, "one"))
	require.Equal(t, "\x1b[2J\x1b[1;1H\x1b[2Kone", paint(21, 3, "one"), "another width")
	require.Equal(t, "\x1b[2J\x1b[1;1H\x1b[2Kone", paint(21, 2, "one"), "another height")
	f := frame("one")
	f.Row, f.Column = 0, 0
	out.Reset()
	require.NoError(t, p.Paint(f, 21, 2))
	require.Equal(t, "\x1b[?2026h\x1b[?25l\x1b[?2026l\x1b[1;1H\x1b[?25h", out.String())
}

// Keys come one by one, and what is typed or pasted at once comes at once.
func TestKeysOfTerminals(t *testing.T) {
	p := newPseudo(t)
	c := p.open()
	defer c.Close()
	for _, typed := range []string{"a", "\x1b", "é", "\x1b[A", strings.Repeat("x", 1000)} {
		p.types(typed)
		got := ""
		for len(got) < len(typed) {
			all, ok := takes(t, c.Input())
			require.True(t, ok)
			got += string(all)
		}
		require.Equal(t, typed, got)
	}
}
