// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
)

// runnerOf returns the runner of a store that has one. Nil is the native runner.
func runnerOf(s session.Store) host.Runner {
	if s, ok := s.(interface{ Runner() host.Runner }); ok {
		return s.Runner()
	}
	return nil
}
