// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"os"
	"testing"

	"github.com/ponte-go/ponte/internal/leaktest"
)

// TestMain also makes the test binary the agents that the tests start.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "agent" {
		processMain(os.Args[2])
		return
	}
	leaktest.Main(m)
}
