// SPDX-License-Identifier: Apache-2.0

// Package linked has what programs of package app can do only if they link a package below it:
// evals and encryption. A program without evals is a quarter smaller: they need packages that keep
// the linker from dropping methods.
package linked

import (
	"context"
	"io"

	"github.com/ponte-go/ponte/agent/session"
)

// Evals is set by package evals of app when it is initialized.
var Evals *WithEvals

// WithEvals is what programs do with evals.
type WithEvals struct {
	// Run is the command "eval". It returns the exit code.
	Run func(args []string, out, errs io.Writer) int
	// Export writes a session as a test, or as a case of a dataset.
	Export func(ctx context.Context, store session.Store, out io.Writer, e Export) error
	// Scores says on a line how a session was scored. It is empty if it was not.
	Scores func(ctx context.Context, store session.Store, id string) (string, error)
}

// Encryption is set by package encryption of app when it is initialized.
var Encryption *WithEncryption

// WithEncryption is what programs do with the keys of sessions: see package session.
type WithEncryption struct {
	Encrypted func(session.Store, session.Keyring) (session.Store, error)
	Parse     func(text string) (session.Keyring, error)
	Rotated   func(k session.Keyring, id string) (session.Keyring, error)
}

// Export says what becomes of a session.
type Export struct {
	ID string
	// Beside is the directory of what is kept of the session's files, empty if there is none. It is
	// encrypted with Keyring, unless that is nil.
	Beside  string
	Keyring *session.Keyring
	// Case selects a case of a dataset. Otherwise it is a test in the directory Dir, in a package
	// and with a function that returns the agent.
	Case                bool
	Dir, Package, Setup string
}
