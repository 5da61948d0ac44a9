// SPDX-License-Identifier: Apache-2.0

package tty

import (
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// watchSize tells the console now and then that its size may have changed.
func watchSize(c *Console) (stop func()) {
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				c.changed()
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

// prepare has the console understand control sequences.
func prepare(out *os.File) (undo func()) {
	handle := windows.Handle(out.Fd())
	var mode uint32
	if windows.GetConsoleMode(handle, &mode) != nil {
		return func() {}
	}
	_ = windows.SetConsoleMode(
		handle, mode|windows.ENABLE_PROCESSED_OUTPUT|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING,
	)
	return func() { _ = windows.SetConsoleMode(handle, mode) }
}

func stopSelf() {}

func watchJobs(*Console) (stop func()) { return func() {} }
