// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// An output that is read on is shown from a position: up to a limit, in whole characters, and in
// whole lines unless they are long. Programs are told whether that is all of it.
func TestOutputsAreReadOn(t *testing.T) {
	const more = "\n[%d bytes more. To read on, call get_terminal_output with from %d.]\n[exit code 0]"
	const end = "[exit code 0]"
	for _, c := range []struct {
		text      string
		from      int64
		limit     int
		want      string
		truncated bool
	}{
		{"abcdef", 0, 6, "abcdef\n" + end, false},
		{"abcdef", 0, 7, "abcdef\n" + end, false},
		{"abcdef", 0, 5, "abcde" + fmt.Sprintf(more, 1, 5), true},
		{"abcdef", 1, 5, "bcdef\n" + end, true},
		{"abcdef", 5, 5, "f\n" + end, true},
		{"abcdef", 6, 5, "[No output after position 6.]\n" + end, true},
		{"abcdef", 9, 5, "[No output after position 6.]\n" + end, true},
		{"", 0, 5, "[No output after position 0.]\n" + end, false},
		{"abc\ndef", 0, 6, "abc" + fmt.Sprintf(more, 3, 4), true},
		{"a\nbcdef", 0, 6, "a\nbcde" + fmt.Sprintf(more, 1, 6), true},
		{"abäcd", 0, 3, "ab" + fmt.Sprintf(more, 4, 2), true},
		{"aäbcd", 2, 3, "bc" + fmt.Sprintf(more, 1, 5), true},
		{"a€bcd", 2, 4, "bc" + fmt.Sprintf(more, 1, 6), true},
		{"a😀bc", 2, 9, "bc\n" + end, true},
		{"\x80\x80\x80\x80\x80", 0, 9, "\ufffd\n" + end, false},
	} {
		scripts := map[string]MemoryScript{"print": MemoryPrint(c.text, 0)}
		w, err := NewMemory(MemoryConfig{Commands: scripts})
		require.NoError(t, err)
		p, err := w.Start(t.Context(), Command{Line: "print"})
		require.NoError(t, err)
		_, err = p.Wait(t.Context())
		require.NoError(t, err)
		of := &call{Session: NewSession(w), ws: w, options: &options{outputLimit: c.limit}}
		res, err := of.readOn(t.Context(), &Terminal{ID: "t", Process: p}, c.from)
		require.NoError(t, err)
		require.Equal(t, c.want, res.Text, "%q from %d", c.text, c.from)
		var state CommandState
		require.NoError(t, json.Unmarshal(res.Meta, &state))
		require.Equal(t, CommandState{Terminal: "t", Exit: &Exit{}, Truncated: c.truncated}, state)
		require.NoError(t, p.Close(t.Context()))
	}
}
