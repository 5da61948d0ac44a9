// SPDX-License-Identifier: Apache-2.0

//go:build unix

package realmodel_test

import (
	"fmt"
	"os"
	"testing"
)

// TestMain stops the server, if a test has started it.
func TestMain(m *testing.M) {
	code := m.Run()
	if started {
		if s, err := theServer(); err == nil {
			if err := s.stop(); err != nil {
				fmt.Fprintln(os.Stderr, "realmodel: stopping the server:", err)
			}
		}
	}
	os.Exit(code)
}
