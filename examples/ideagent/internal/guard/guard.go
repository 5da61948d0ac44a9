// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"errors"
	"os"
	"time"
)

// Subcommand is the first argument that makes a process a guard.
const Subcommand = "__guard"

// Command says what to start.
type Command struct {
	// Path is the program: a path, or a name that is looked up in PATH of Env.
	Path string
	// Args are its arguments, without the name of the program.
	Args []string
	// Env is its environment; nil means that of this process.
	Env []string
	// Dir is its working directory; empty means that of this process.
	Dir string
	// Stdin, Stdout and Stderr are handed to the program; nil means the null device.
	Stdin, Stdout, Stderr *os.File
	// Grace is how long the program and its children may go on once the process that started them is gone, or has
	// called Close: enough to notice the end of the standard input.
	Grace time.Duration
}

// ErrStart means that the program could not be started.
var ErrStart = errors.New("cannot start")

// Exit says how a program ended.
type Exit struct {
	// Code is the exit code, if Signal is empty.
	Code int
	// Signal is the name of the signal that ended the program ("SIGKILL"), or empty.
	Signal string
}

// killGrace is how long a program has between the request to end and the end.
const killGrace = time.Second
