// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"errors"
	"fmt"
)

// What can be wrong with a path or a file. Backends also return fs.ErrNotExist, fs.ErrPermission
// and errors.ErrUnsupported.
var (
	// ErrPath means that a path is malformed, see the package documentation. The error is a
	// [*PathError], which says why.
	ErrPath = errors.New("malformed path")
	// ErrOutside means that a path lies outside of the workspace's roots, or leads out through a
	// symbolic link.
	ErrOutside = errors.New("outside of the workspace")
	// ErrIsDirectory means that a path of a file leads to a directory.
	ErrIsDirectory = errors.New("is a directory")
	// ErrNotDirectory means that a path of a directory leads to a file, or that an element of a
	// path is a file.
	ErrNotDirectory = errors.New("is not a directory")
	// ErrNotRegular means that a path leads to something that is neither a file nor a directory,
	// such as a device or a pipe.
	ErrNotRegular = errors.New("is not a regular file")
	// ErrChanged means that a file does not have the version that was expected, also because it
	// does not exist, or exists.
	ErrChanged = errors.New("has changed")
	// ErrTooLarge means that a file is larger than what can be read or written.
	ErrTooLarge = errors.New("is too large")
	// ErrBinary means that the workspace can hold text only, and that the file, or what was to be
	// written, is not UTF-8 text.
	ErrBinary = errors.New("is not text")
	// ErrNoProgram means that the program of a command does not exist.
	ErrNoProgram = errors.New("no such program")
	// ErrCommand means that a [Command] is malformed: it has both or none of Line and Args, or a
	// variable without a name.
	ErrCommand = errors.New("malformed command")
	// ErrLost means that the workspace cannot be reached any more, such as an editor whose
	// connection has ended. A tool that gets it ends the run.
	ErrLost = errors.New("the workspace is lost")
	// ErrClosed means that a process or a session has been closed.
	ErrClosed = errors.New("closed")
)

// PathError records an error, the operation, and the file.
type PathError struct {
	// Op is the operation in lower case: read, write, remove, stat, walk, start.
	Op string
	// Path is the file as it was named.
	Path string
	// Err is the cause. errors.Is looks at it.
	Err error
}

func (e *PathError) Error() string { return fmt.Sprintf("workspace: %s %q: %v", e.Op, e.Path, e.Err) }

func (e *PathError) Unwrap() error { return e.Err }

// CommandError records an error, the operation, and the command.
type CommandError struct {
	// Op is the operation in lower case: start, output, wait, kill, close.
	Op string
	// Ref is the reference of the process, see [Process.Ref], or the program before the process
	// exists.
	Ref string
	// Err is the cause. errors.Is looks at it.
	Err error
}

func (e *CommandError) Error() string {
	return fmt.Sprintf("workspace: %s of %s: %v", e.Op, e.Ref, e.Err)
}

func (e *CommandError) Unwrap() error { return e.Err }

// malformedError says why a path is [ErrPath]. Its text is the same on all backends.
type malformedError struct{ reason string }

func (e *malformedError) Error() string { return e.reason }

func (e *malformedError) Is(target error) bool { return target == ErrPath }

func malformed(format string, args ...any) error {
	return &malformedError{fmt.Sprintf(format, args...)}
}
