// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"errors"
	"io"
	"sync/atomic"
)

// stdio is the process's standard input and output, taken over for the protocol. One JSON message a
// line is all that may ever stand on the real output, so for as long as the takeover lasts:
//
//   - what the program prints to its standard output goes to standard error, whether it is printed by Go, by C or by a child process;
//   - what the program and its children read from standard input is empty;
//   - no child process inherits the real streams, so none can keep the client waiting for their end.
type stdio struct {
	in      io.Reader
	out     io.Writer
	restore func() error // puts everything back as it was
}

// stdioTaken is true while some Serve has the process's streams.
var stdioTaken atomic.Bool

var errStdioTaken = errors.New("another Serve of this process uses standard input and output: set Config.In and Config.Out")

// takeStdio takes over the process's streams. The caller always calls close, which restores them
// unless something may still print.
func takeStdio() (*stdio, error) {
	if !stdioTaken.CompareAndSwap(false, true) {
		return nil, errStdioTaken
	}
	s, err := hijackStdio()
	if err != nil {
		stdioTaken.Store(false)
		return nil, err
	}
	return s, nil
}

// close puts the streams back. The files that it handed out have been closed by the connection.
func (s *stdio) close() error {
	defer stdioTaken.Store(false)
	return s.restore()
}
