// SPDX-License-Identifier: Apache-2.0

// Package encryption has programs of package app encrypt their sessions, with the flag -encrypt and
// the command "sessions key". Import it for that effect:
//
//	import _ "github.com/ponte-go/ponte/app/encryption"
//
// Without it, a program refuses a configuration that has sessions encrypted, and stores that are.
package encryption

import (
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/app/internal/linked"
)

func init() {
	linked.Encryption = &linked.WithEncryption{
		Encrypted: session.Encrypted, Parse: session.ParseKeyring, Rotated: session.Keyring.Rotated,
	}
}
