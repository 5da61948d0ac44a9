// SPDX-License-Identifier: Apache-2.0

package local

import (
	"errors"
	"fmt"

	"github.com/ponte-go/ponte/internal/guard"
)

// Sandbox runs commands with bubblewrap (bwrap), on Linux. A command sees the machine as it is, but can write only to the roots of the
// workspace, to a /tmp of its own, and to Writable. It sees no other processes, and all of its own end with it, daemons too.
//
// The tools for files are not affected: they reach the roots only, with or without a sandbox.
type Sandbox struct {
	// Network lets commands use the network.
	Network bool
	// Writable are further directories and files that commands can write to, such as the caches of compilers. They must exist.
	Writable []string
	// Hidden are directories that commands see as empty. Nil means those in the user's home that commonly hold keys, such as ~/.ssh.
	Hidden []string
}

// ErrSandbox means that this machine cannot run commands in a sandbox. The error says why. It wraps [errors.ErrUnsupported].
var ErrSandbox error = fmt.Errorf("local: no sandbox: %w", errors.ErrUnsupported)

// wrapper makes a command one that runs in a sandbox. real is its directory, and dir what the user calls that.
type wrapper func(g *guard.Command, real, dir string) error
