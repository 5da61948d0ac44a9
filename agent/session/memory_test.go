// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"testing"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sessiontest"
	"github.com/ponte-go/ponte/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestMemoryConforms(t *testing.T) {
	sessiontest.Run(t, func(*testing.T) *sessiontest.Target { return memory() })
}

func memory() *sessiontest.Target {
	m := new(session.Memory)
	return &sessiontest.Target{Open: func() (session.Store, error) { return m, nil }}
}
