// SPDX-License-Identifier: Apache-2.0

//go:build !unix || solaris || illumos || aix

package acpbridge

import (
	"fmt"
	"io"
	"os"
)

// hijackStdio swaps the variables of package os, which is all that can be done portably: it holds
// for what is printed by Go. It must not run while other goroutines print. Children inherit a
// stream only if they are given it.
func hijackStdio() (*stdio, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, fmt.Errorf("open the null device: %w", err)
	}
	in, out := os.Stdin, os.Stdout
	os.Stdin, os.Stdout = null, os.Stderr
	return &stdio{
		in:  struct{ io.Reader }{in}, // closing it would not end a read, and could block
		out: struct{ io.Writer }{out},
		restore: func() error {
			os.Stdin, os.Stdout = in, out
			return null.Close()
		},
	}, nil
}
