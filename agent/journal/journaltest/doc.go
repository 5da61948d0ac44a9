// Package journaltest checks implementations of [journal.Journal], in the manner of testing/slogtest.
package journaltest
