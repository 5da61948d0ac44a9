// SPDX-License-Identifier: Apache-2.0

package adapter_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/adapter"
)

// FuzzEventReader reads anything. How the bytes arrive does not matter, nor how lines end; what is read is what was sent.
func FuzzEventReader(f *testing.F) {
	for _, seed := range []string{
		"data: a\n\n", "\ufeffdata: a\r\rdata:b\r\n\nerror: x\nevent: error\n\n: c", "event: ping\ndata: {}\n\ndata: [DONE]",
		"data: {\ndata: \"a\":1}\n\n{\n \"error\": {}\n}\n\n<html>", "data\n\nid: 1\nretry: 2\n\n\n", "data: a\r\n\r", strings.Repeat("data: x\n", 5000),
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	const limit = 1 << 15
	f.Fuzz(func(t *testing.T, in []byte, stray bool) {
		in = in[:min(len(in), 2*limit)]
		read := func(r io.Reader, limit int) ([]event, error) {
			events := adapter.NewEventReader(r, limit)
			events.Stray = stray
			return readWith(events)
		}
		whole, err := read(bytes.NewReader(in), limit)
		require.Error(t, err)
		for name, r := range map[string]io.Reader{
			"one byte at a time": iotest.OneByteReader(bytes.NewReader(in)), "in halves": iotest.HalfReader(bytes.NewReader(in)),
			"with the end": iotest.DataErrReader(bytes.NewReader(in)),
		} {
			pieces, again := read(r, limit)
			require.Equal(t, whole, pieces, name)
			require.Equal(t, err, again, name)
		}
		for _, e := range whole {
			require.LessOrEqual(t, len(e.Data), limit)
			for line := range strings.SplitSeq(e.Data, "\n") {
				if !strings.Contains(string(in), line) {
					t.Fatalf("%q was read, but not sent", line)
				}
			}
		}
		if err == io.EOF && !bytes.ContainsRune(in, '\r') {
			for _, end := range []string{"\r\n", "\r"} {
				other, err := read(bytes.NewReader(bytes.ReplaceAll(in, []byte("\n"), []byte(end))), 2*limit)
				require.Equal(t, io.EOF, err)
				require.Equal(t, whole, other, "%q", end)
			}
		}
	})
}
