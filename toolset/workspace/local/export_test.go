// SPDX-License-Identifier: Apache-2.0

package local

import (
	"os"
	"time"
)

// SetSettled sets how long after a change a file gets a stamp for a version.
func SetSettled(d time.Duration) (restore func()) {
	old := settled
	settled = d
	return func() { settled = old }
}

// HasStamps says whether this system tells when a file was changed.
var HasStamps = func() bool {
	info, err := os.Stat(".")
	if err != nil {
		return false
	}
	_, _, ok := identity(info)
	return ok
}()
