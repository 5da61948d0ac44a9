// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package unprivtest

import (
	"os"
	"testing"
)

// Here reports whether permissions of files hold for this process. The test is skipped if they do
// not, as for root.
func Here(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() <= 0 {
		t.Skip("permissions of files do not hold here")
	}
	return true
}
