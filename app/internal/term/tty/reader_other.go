// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package tty

import "errors"

// reader is for systems where reading can be ended.
type reader struct{}

// read begins to read. Nothing but the end of the input or of the process ends it: programs that
// open a console end with it.
func (c *Console) read() error {
	go func() {
		defer close(c.input)
		for {
			buf := make([]byte, 16<<10)
			n, err := c.in.Read(buf)
			if n > 0 {
				c.input <- buf[:n]
			}
			if err != nil {
				return
			}
		}
	}()
	return nil
}

func (c *Console) pause() error { return errors.ErrUnsupported }
