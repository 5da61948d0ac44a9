//go:build unix

package realmodel_test

import (
	"os"
	"testing"
)

// TestMain stops the server, if a test has started it.
func TestMain(m *testing.M) {
	code := m.Run()
	if started {
		if s, err := theServer(); err == nil {
			_ = s.stop() // it ends with the code of the signal
		}
	}
	os.Exit(code)
}
