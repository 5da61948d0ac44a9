// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"testing"

	"github.com/ponte-go/ponte/agent/journal"
)

// CheckJournal checks one rule.
func CheckJournal(t testing.TB, rule string, j journal.Journal) {
	for _, r := range journalRules {
		if r.name == rule {
			r.check(&checker{t, j})
		}
	}
}

// JournalRules are the names of what [JournalConformance] checks.
func JournalRules() (names []string) {
	for _, r := range journalRules {
		names = append(names, r.name)
	}
	return names
}
