// SPDX-License-Identifier: Apache-2.0

package journaltest

// Rules are the names of what [Conformance] checks.
func Rules() (names []string) {
	for _, r := range rules {
		names = append(names, r.name)
	}
	return names
}
