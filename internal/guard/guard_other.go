// SPDX-License-Identifier: Apache-2.0

//go:build !unix && !windows

package guard

import "errors"

// Process is a command that was started.
type Process struct{}

// Start returns an error: no command can be guarded on this system.
func Start(c Command) (*Process, error) { return nil, startError(c.Path, errors.ErrUnsupported) }

// Pid returns the command's process id.
func (p *Process) Pid() int { return 0 }

// Exited is closed when the command itself has ended.
func (p *Process) Exited() <-chan struct{} { return nil }

// Exit waits until the command has ended and returns its result.
func (p *Process) Exit() Exit { return Exit{} }

// Ended is closed when nothing of the command is left.
func (p *Process) Ended() <-chan struct{} { return nil }

// Stop ends the command.
func (p *Process) Stop() {}

// Kill ends the command.
func (p *Process) Kill() {}

// Close ends the command and waits for that.
func (p *Process) Close() {}
