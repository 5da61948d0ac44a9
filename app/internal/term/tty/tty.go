// SPDX-License-Identifier: Apache-2.0

package tty

import (
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
	// Suspend switches the terminal back, stops the process as a shell's jobs are, and returns when it
	// is continued, with the terminal as it was. Where there is no such thing it does nothing.
	Suspend() error
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
	once    sync.Once
}

// Open switches the terminal of the process to single keys and a separate screen. A terminal that
// is opened a second time continues to be read.
func Open(in, out *os.File) (*Console, error) {
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	c := &Console{in: in, out: out, before: before, input: make(chan []byte), resized: make(chan struct{}, 1)}
	undo := prepare(out)
	stop := watchSize(c)
	c.stop = func() { stop(); undo() }
	if _, err := io.WriteString(out, Begin); err != nil {
		_ = c.Close()
		return nil, err
	}
	// Nothing but the end of the input or of the process ends this. Programs that open a console
	// end with it.
	go func() {
		defer close(c.input)
		for {
			buf := make([]byte, 16<<10)
			n, err := in.Read(buf)
			if n > 0 {
				c.input <- buf[:n]
			}
			if err != nil {
				return
			}
		}
	}()
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
	var err error
	c.once.Do(func() {
		c.stop()
		_, _ = io.WriteString(c.out, End)
		err = term.Restore(int(c.in.Fd()), c.before)
	})
	return err
}

// Suspend implements [Terminal].
func (c *Console) Suspend() error {
	if _, err := io.WriteString(c.out, End); err != nil {
		return err
	}
	if err := term.Restore(int(c.in.Fd()), c.before); err != nil {
		return err
	}
	stopSelf()
	if _, err := term.MakeRaw(int(c.in.Fd())); err != nil {
		return err
	}
	_, err := io.WriteString(c.out, Begin)
	c.changed()
	return err
}

func (c *Console) changed() {
	select {
	case c.resized <- struct{}{}:
	default:
	}
}
