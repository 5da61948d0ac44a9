// SPDX-License-Identifier: Apache-2.0

// Package sealing encrypts what is kept beside sessions like the sessions.
package sealing

import (
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

// With returns the cipher of a keyring. It is nil without one.
func With(ring *session.Keyring) *checkpoint.Cipher {
	if ring == nil {
		return nil
	}
	return &checkpoint.Cipher{Seal: ring.Seal, Open: ring.Open, Hide: ring.Hide}
}
