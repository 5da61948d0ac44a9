// SPDX-License-Identifier: Apache-2.0

//go:build unix

package tty

import (
	"os"
	"os/signal"
	"syscall"
)

// watchSize tells the console when its size changes.
func watchSize(c *Console) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGWINCH)
	go func() {
		for range signals {
			c.changed()
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}

func prepare(*os.File) (undo func()) { return func() {} }
