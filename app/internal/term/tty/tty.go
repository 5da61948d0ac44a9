// SPDX-License-Identifier: Apache-2.0

package tty

import (
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// Terminal is a terminal with a person before it.
type Terminal interface {
	io.Writer
	// Size returns the columns and rows.
	Size() (width, height int)
	// Input returns what is read, each value at once. It is closed at the end of the input.
	Input() <-chan []byte
	// Resized receives a value when the size may have changed.
	Resized() <-chan struct{}
	// Suspend switches the terminal back, stops the process as a shell's jobs are, and returns when
	// it is continued, with the terminal as it was. Where there is no such thing it does nothing.
	Suspend() error
	// Lend switches the terminal back, calls f, which may use the terminal, and switches again. The
	// error is [errors.ErrUnsupported] where that is not possible.
	Lend(f func() error) error
	// Close switches the terminal back. It may be called several times.
	Close() error
}

// Console is the terminal of this process.
type Console struct {
	in, out *os.File
	before  *term.State
	input   chan []byte
	resized chan struct{}
	stop    func()
	reader  *reader

	mu           sync.Mutex
	closed, lent bool
}

// Open switches the terminal of the process to single keys and a separate screen.
func Open(in, out *os.File) (*Console, error) {
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	c := &Console{in: in, out: out, before: before, input: make(chan []byte), resized: make(chan struct{}, 1)}
	undo := prepare(out)
	size, jobs := watchSize(c), watchJobs(c)
	c.stop = func() { jobs(); size(); undo() }
	if _, err := io.WriteString(out, Begin); err != nil {
		_ = c.Close()
		return nil, err
	}
	if err := c.read(); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// Write implements [Terminal].
func (c *Console) Write(p []byte) (int, error) { return c.out.Write(p) }

// Size implements [Terminal].
func (c *Console) Size() (width, height int) {
	width, height, err := term.GetSize(int(c.out.Fd()))
	if err != nil || width < 1 || height < 1 {
		return 80, 24
	}
	return width, height
}

// Input implements [Terminal].
func (c *Console) Input() <-chan []byte { return c.input }

// Resized implements [Terminal].
func (c *Console) Resized() <-chan struct{} { return c.resized }

// Close implements [Terminal].
func (c *Console) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	c.stop()
	_ = c.pause()
	return c.back()
}

// back switches the terminal back.
func (c *Console) back() error {
	_, err := io.WriteString(c.out, End)
	return errors.Join(err, term.Restore(int(c.in.Fd()), c.before))
}

// away switches the terminal back, calls f, and switches again.
func (c *Console) away(f func() error) error {
	c.mu.Lock()
	c.lent = true
	err := c.back()
	c.mu.Unlock()
	if err == nil {
		err = f()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lent = false
	if c.closed {
		return err
	}
	if _, failed := term.MakeRaw(int(c.in.Fd())); failed != nil {
		return failed
	}
	_, failed := io.WriteString(c.out, Begin)
	c.changed()
	return errors.Join(err, failed)
}

// Suspend implements [Terminal].
func (c *Console) Suspend() error {
	return c.away(func() error { stopSelf(); return nil })
}

// Lend implements [Terminal].
func (c *Console) Lend(f func() error) error {
	c.mu.Lock()
	err := c.pause()
	c.mu.Unlock()
	if err != nil {
		return err
	}
	err = c.away(f)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return err
	}
	return errors.Join(err, c.read())
}

func (c *Console) changed() {
	select {
	case c.resized <- struct{}{}:
	default:
	}
}
