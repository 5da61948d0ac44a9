// SPDX-License-Identifier: Apache-2.0

//go:build unix

package tty

import (
	"errors"

	"github.com/muesli/cancelreader"
)

// reader reads a terminal until it is told to stop. What it has read and nobody has taken is kept.
type reader struct {
	from  cancelreader.CancelReader
	halt  chan struct{}
	ended chan struct{}
	kept  []byte

	paused bool
}

// read begins to read.
func (c *Console) read() error {
	from, err := cancelreader.NewReader(c.in)
	if err != nil {
		return err
	}
	r := &reader{from: from, halt: make(chan struct{}), ended: make(chan struct{})}
	if c.reader != nil {
		r.kept = c.reader.kept
	}
	c.reader = r
	go r.run(c.input)
	return nil
}

func (r *reader) run(to chan<- []byte) {
	defer close(r.ended)
	for {
		if r.kept != nil {
			select {
			case to <- r.kept:
				r.kept = nil
			case <-r.halt:
				return
			}
		}
		buf := make([]byte, 16<<10)
		n, err := r.from.Read(buf)
		if n > 0 {
			r.kept = buf[:n]
		}
		switch {
		case errors.Is(err, cancelreader.ErrCanceled):
			return
		case err != nil && n == 0:
			close(to)
			return
		}
	}
}

// pause ends reading, so that another program can read the terminal.
func (c *Console) pause() error {
	r := c.reader
	if r == nil || r.paused {
		return nil
	}
	if !r.from.Cancel() {
		return errors.ErrUnsupported
	}
	r.paused = true
	close(r.halt)
	<-r.ended
	return r.from.Close()
}
