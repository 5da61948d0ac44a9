// SPDX-License-Identifier: Apache-2.0

package sessiontest_test

import (
	"testing"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sessiontest"
)

// A store's own tests run the suite.
func ExampleRun() {
	_ = func(t *testing.T) { // TestConformance
		sessiontest.Run(t, func(t *testing.T) *sessiontest.Target {
			store := new(session.Memory)
			return &sessiontest.Target{Open: func() (session.Store, error) { return store, nil }}
		})
	}
	// Output:
}
