// SPDX-License-Identifier: Apache-2.0

package enginetest

import "time"

// HurryUp makes the suite wait for a short time only.
func HurryUp() { patience = time.Second / 10 }

// Rules returns the names of the rules.
func Rules() []string {
	var names []string
	for _, r := range rules {
		names = append(names, r.name)
	}
	return names
}
