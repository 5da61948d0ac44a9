// SPDX-License-Identifier: Apache-2.0

package enginetest

// JournalRules are the names of what [JournalConformance] checks.
func JournalRules() (names []string) {
	for _, r := range journalRules {
		names = append(names, r.name)
	}
	return names
}
