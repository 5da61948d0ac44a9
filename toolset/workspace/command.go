// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Command is a command to start. Exactly one of Line and Args is set.
//
//   - Line is a command line for the shell of the machine: "sh -c LINE", or "cmd /C LINE" on Windows.
//   - Args are a program and its arguments. No shell reads them.
//   - Dir is the directory to run in, a path in the workspace. Empty means the first root.
//   - Env are variables to add to the environment, each as "NAME=value". A later one wins over an
//     earlier one.
//   - Sandbox asks for the network, or to leave the sandbox, where commands run in one and may do
//     so ([Features]).
type Command toolset.CommandLine

// Process is a command that was started. It is safe for concurrent use. Close must be called.
type Process interface {
	// Ref identifies the process in its workspace. It is not reused.
	Ref() string
	// Output returns what the command has written so far to standard output and standard error, in
	// the order in which it arrived. It does not wait. from is the position of the first byte
	// wanted, counted from the beginning of the output; a negative one counts from the end. limit
	// is how many bytes to return at most; 0 means all that is kept of the end. After Close the
	// error is [ErrClosed].
	Output(ctx context.Context, from int64, limit int) (Chunk, error)
	// Wait waits until the command has ended and all its output can be read, or until ctx ends. In
	// that case the command continues. Wait may be called several times. Processes that the command
	// has left running do not hold it up.
	Wait(ctx context.Context) (Exit, error)
	// Kill ends the command, with the processes that it has started. Its output stays. The exit
	// of a command that has ended does not change.
	Kill(ctx context.Context) error
	// Close ends the command if it is running and discards its output. Further calls do nothing.
	Close(ctx context.Context) error
}

// Chunk is a part of a command's output.
type Chunk struct {
	// Data is the output, as the command wrote it.
	Data []byte
	// From is the position of Data. It is greater than what was asked for if output has been
	// dropped: a backend keeps a bounded amount, the end, and some of the beginning or nothing of
	// it. The next part begins at From+len(Data).
	From int64
	// End is the position after the last byte of the output so far.
	End int64
	// Lost is set if output right before From has been dropped.
	Lost bool
	// Exit describes how the command ended. It is nil while the command runs. When it is set, all
	// output of the command can be read. Processes that it has left running may add to the output.
	Exit *Exit
}

// Exit describes how a command ended.
type Exit struct {
	// Code is the exit code, or -1 if there is none: the command was killed by a signal, or the
	// backend does not know.
	Code int `json:"code"`
	// Signal names the signal that ended the command, such as "killed". It is empty if there was
	// none.
	Signal string `json:"signal,omitempty"`
	// Created lists the files and directories that other programs execute or obey, that a sandbox
	// protects, and that came to be while the command ran in one: it cannot protect what is not
	// there.
	Created []string `json:"created,omitempty"`
}

// Check returns an [ErrCommand] if the command is malformed. Implementations of [Workspace.Start]
// call it.
func (c *Command) Check() error {
	switch {
	case c.Line != "" && len(c.Args) > 0:
		return fmt.Errorf("%w: it has both a line and arguments", ErrCommand)
	case strings.Trim(c.Line, blanks) == "" && (len(c.Args) == 0 || c.Args[0] == ""):
		return fmt.Errorf("%w: it is empty", ErrCommand)
	}
	for _, text := range append(append([]string{c.Line}, c.Args...), c.Env...) {
		if strings.IndexByte(text, 0) >= 0 {
			return fmt.Errorf("%w: it contains a NUL byte", ErrCommand)
		}
	}
	switch c.Sandbox {
	case "", model.SandboxNetwork, model.SandboxNone:
	default:
		return fmt.Errorf("%w: the sandbox %q is unknown", ErrCommand, c.Sandbox)
	}
	for _, v := range c.Env {
		if name, _, ok := strings.Cut(v, "="); !ok || name == "" {
			return fmt.Errorf("%w: a variable is not NAME=value: it has no name", ErrCommand)
		}
	}
	return nil
}
