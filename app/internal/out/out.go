// SPDX-License-Identifier: Apache-2.0

// Package out has a standard output whose errors are not overlooked.
package out

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// Output is a standard output whose errors are not overlooked. It is safe for concurrent use.
type Output struct {
	to     io.Writer
	failed func() // called once, at the first error

	mu  sync.Mutex
	err error
}

// New returns an Output. failed, if not nil, is called at the first error.
func New(to io.Writer, failed func()) *Output { return &Output{to: to, failed: failed} }

// Write implements [io.Writer].
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.to.Write(p)
	if errors.Is(err, fs.ErrClosed) {
		return n, err // by whoever writes here
	}
	if err != nil {
		if o.err = err; !isOutput(o.to) { // which has said so
			o.err = fmt.Errorf("the output cannot be written: %w", err)
		}
		if o.failed != nil {
			o.failed()
		}
	}
	return n, o.err
}

func isOutput(w io.Writer) bool {
	_, is := w.(*Output)
	return is
}

// Close implements [io.Closer].
func (o *Output) Close() error {
	if c, ok := o.to.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Err returns the first error.
func (o *Output) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// File returns the file that a writer writes to, nil if there is none.
func File(w io.Writer) *os.File {
	for {
		o, ok := w.(*Output)
		if !ok {
			f, _ := w.(*os.File)
			return f
		}
		w = o.to
	}
}
