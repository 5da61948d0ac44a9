// SPDX-License-Identifier: Apache-2.0

// Package journaltest checks implementations of [journal.Journal], in the manner of testing/slogtest.
package journaltest
