// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/journal"
)

// FuzzParseFile: whatever is in a file, what is read of it is its beginning, and reading that again gives the same.
func FuzzParseFile(f *testing.F) {
	whole := journal.HeaderLine("run")
	for i, r := range three {
		whole = append(whole, journal.Line(i+1, []byte(r))...)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-4])
	f.Add(append(bytes.Clone(whole), 0, 0, 0))
	f.Add(journal.HeaderLine("other"))
	f.Add([]byte(`{"n":0,"sum":"00000000","rec":{}}` + "\n"))
	f.Add([]byte(`{"n":-1,"sum":"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		records, good, err := journal.ParseFile(data, "run")
		if err != nil {
			require.Zero(t, good)
			return
		}
		require.LessOrEqual(t, good, len(data))
		if good == 0 {
			require.Empty(t, records)
			return
		}
		written := bytes.Clone(data[:bytes.IndexByte(data, '\n')+1])
		for i, r := range records {
			written = append(written, journal.Line(i+1, r)...)
		}
		require.Equal(t, string(data[:good]), string(written))
		again, good2, err := journal.ParseFile(written, "run")
		require.NoError(t, err)
		require.Equal(t, good, good2)
		require.Equal(t, records, again)
		if tail := data[good:]; len(tail) > 0 {
			first, _, _ := bytes.Cut(tail, []byte("\n"))
			require.True(t, bytes.IndexByte(first, 0) >= 0 || len(first) == len(tail), "only what was cut off is dropped")
		}
	})
}

// FuzzLine: a document comes back as it was, and no other byte will do.
func FuzzLine(f *testing.F) {
	f.Add(0, []byte(`{}`), 3)
	f.Add(7, []byte(`{"a":"\","}`), 20)
	f.Fuzz(func(t *testing.T, n int, body []byte, at int) {
		if n < 0 || bytes.IndexByte(body, '\n') >= 0 {
			return
		}
		file := append(journal.HeaderLine("run"), journal.Line(1, body)...)
		records, good, err := journal.ParseFile(file, "run")
		require.NoError(t, err)
		require.Equal(t, len(file), good)
		require.Equal(t, [][]byte{body}, records)
		if at < 0 || at >= len(file) {
			return
		}
		file[at] ^= 0x10
		records, _, err = journal.ParseFile(file, "run")
		require.False(t, err == nil && len(records) > 0, "a line with another byte passes")
	})
}
