// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/ponte-go/ponte/internal/clean"
)

// ErrStart is wrapped by the errors of [Start]. They also wrap ErrNoProgram if the program does not
// exist.
var (
	ErrStart     = errors.New("cannot start")
	ErrNoProgram = errors.New("there is no such program")
)

var errNotInPath = fmt.Errorf("%w in PATH", ErrNoProgram)

// DefaultGrace is the time between SIGTERM and SIGKILL if [Command.Grace] is zero.
const DefaultGrace = 500 * time.Millisecond

// Command describes the command to start.
type Command struct {
	// Path is the program. A name without a slash is looked up in the PATH of Env, a relative path begins at Dir.
	Path string
	// Args are the arguments, without the name of the program.
	Args []string
	// Line is the whole command line, for programs of Windows that do not read arguments as others do. If it is set, Args are not used.
	// Elsewhere it must be empty.
	Line string
	// Env is the environment, as in [os/exec.Cmd]; nil means the environment of this process.
	Env []string
	// Dir is the working directory; empty means the directory of this process.
	Dir string
	// Stdin, Stdout and Stderr are handed to the command. A nil file is the null device.
	Stdin, Stdout, Stderr *os.File
	// Files are further files that the command inherits, as descriptors 5, 6 and so on. Unix only.
	Files []*os.File
	// Grace is the time between SIGTERM and SIGKILL when the owner ends or calls Stop or Close. Zero means
	// [DefaultGrace], a negative value means none: SIGKILL at once.
	Grace time.Duration
}

// grace returns the time between SIGTERM and SIGKILL.
func (c Command) grace() time.Duration {
	switch {
	case c.Grace == 0:
		return DefaultGrace
	case c.Grace < 0:
		return 0
	}
	return c.Grace
}

// Exit describes how a command ended.
type Exit struct {
	// Code is the exit code. It is -1 if a signal ended the command.
	Code int
	// Signal is the name of the signal that ended the command, such as "SIGKILL", or empty.
	Signal string
	// Lost is set if the command was killed because its watcher had died.
	Lost bool
}

// startError is an error of Start about the program name.
func startError(name string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok && e.Path == name {
		err = e.Err
	}
	return fmt.Errorf("guard: %w %s: %w", ErrStart, clean.Short(name, 300), err)
}
