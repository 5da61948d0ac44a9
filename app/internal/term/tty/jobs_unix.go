// SPDX-License-Identifier: Apache-2.0

//go:build unix

package tty

import (
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"
)

// watchJobs handles the signals that continue and end jobs. SIGTSTP is not handled: a Go program
// that has once been notified of it cannot be stopped by it any more.
func watchJobs(c *Console) (stop func()) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGCONT, syscall.SIGQUIT)
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case <-ended:
				return
			case s := <-signals:
				c.job(s)
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(ended)
	}
}

func (c *Console) job(s os.Signal) {
	switch s {
	case syscall.SIGCONT: // after SIGTSTP or SIGSTOP the shell has set the terminal for itself
		c.mu.Lock()
		if !c.closed && !c.lent {
			_, _ = term.MakeRaw(int(c.in.Fd()))
			_, _ = io.WriteString(c.out, again)
		}
		c.mu.Unlock()
		c.changed()
	case syscall.SIGQUIT: // Go shows what all goroutines do, and ends the process
		go func() {
			_ = c.Close()
			signal.Reset(syscall.SIGQUIT)
			_ = syscall.Kill(os.Getpid(), syscall.SIGQUIT)
		}()
	}
}

// stopSelf stops the processes of this job until they are continued. A job that no shell controls
// is not stopped.
func stopSelf() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	_ = syscall.Kill(0, syscall.SIGTSTP)
	select {
	case <-continued:
	case <-time.After(time.Second):
	}
}
