// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

// TestImportSaysWhatIsWrongWithALine has a damaged line of each kind, at its place.
func TestImportSaysWhatIsWrongWithALine(t *testing.T) {
	const begin = `{"v":1,"session":{"id":"a","created":"2024-01-01T00:00:00Z","updated":"2024-01-01T00:00:00Z","head":0,"size":0}}` + "\n"
	entry := func(seq int) string { return fmt.Sprintf(`{"v":1,"seq":%d,"kind":"view","data":%d}`, seq, seq) }
	for name, c := range map[string]struct {
		lines string
		max   int
		says  string
	}{
		"no JSON":             {begin + "{", 0, "session: import: line 2: the data is damaged: unexpected end of JSON input"},
		"a newer version":     {begin + `{"v":2}`, 0, "session: import: line 2: written by a newer version of this program: version 2, this program reads versions up to 1"},
		"nothing":             {begin + `{"v":1}`, 0, "session: import: line 2: the data is damaged: it is neither a session nor an entry nor an item"},
		"an entry before":     {entry(1), 0, "session: import: line 1: the data is damaged: an entry of no session"},
		"an item before":      {"\n \t\n" + `{"v":1,"item":{"id":"1","kind":"prompt"}}`, 0, "session: import: line 3: the data is damaged: an item of no session"},
		"no number":           {begin + `{"v":1,"kind":"view"}`, 0, "session: import a: line 2: the data is damaged: an entry without a number"},
		"a number again":      {begin + entry(1) + "\n" + entry(1), 0, "session: import a: line 3: the data is damaged: invalid argument: entry 0 has the number 1, must be greater than 1"},
		"text that is none":   {begin + `{"v":1,"seq":1,"kind":"view","text":"{"}`, 0, "session: import a: line 2: the data is damaged: invalid argument: the data of entry 0 is not a JSON document"},
		"an item without id":  {begin + `{"v":1,"item":{"id":"1"}}`, 0, "session: import a: line 2: the data is damaged: the item is not valid: invalid argument: the item has no kind"},
		"an item that waits":  {begin + `{"v":1,"item":{"id":"1","kind":"prompt","state":"consumed"}}`, 0, "session: import a: line 2: the data is damaged: the item is not valid: <nil>"},
		"a session no id":     {`{"v":1,"session":{"id":""}}`, 0, "session: import: line 1: the data is damaged: the session is not valid: <nil>"},
		"a session bad id":    {`{"v":1,"session":{"id":"a\nb"}}`, 0, "session: import: line 1: the data is damaged: the session is not valid: invalid argument: the id \"a\\nb\" must have at most 256 bytes of UTF-8 and no control characters"},
		"a session bad head":  {`{"v":1,"session":{"id":"a","head":-1}}`, 0, "session: import: line 1: the data is damaged: the session is not valid: <nil>"},
		"a session cut off":   {`{"v":1,"session":{"id":"a","head":2}}` + "\n" + entry(1), 0, "session: import a: line 1: the data is damaged: the session has entries up to 2, and the last line is entry 1: the file was cut off"},
		"a session all there": {`{"v":1,"session":{"id":"a","head":2}}` + "\n" + entry(1) + "\n" + entry(2), 0, ""},
		"a line of the limit": {begin + entry(1) + "\n", len(begin), ""},
		"a line too long":     {begin + entry(1) + "\n", len(begin) - 1, fmt.Sprintf("session: import: line 1: the data is damaged: %d bytes, more than %d", len(begin), len(begin)-1)},
	} {
		t.Run(name, func(t *testing.T) {
			m := new(session.Memory)
			_, err := session.Import(t.Context(), m, strings.NewReader(c.lines), session.ImportOptions{MaxLine: c.max})
			page, listErr := m.List(t.Context(), session.Query{})
			require.NoError(t, listErr)
			if c.says == "" {
				require.NoError(t, err)
				require.Len(t, page.Sessions, 1)
				return
			}
			require.EqualError(t, err, c.says)
			kept := 0
			if strings.HasPrefix(c.says, "session: import: line 2: ") { // which may be another session
				kept = 1
			}
			require.Len(t, page.Sessions, kept, "what was begun is not kept, what was complete is")
			m = new(session.Memory)
			if name == "a newer version" {
				_, err = session.Import(t.Context(), m, strings.NewReader(c.lines), session.ImportOptions{SkipDamaged: true})
				require.EqualError(t, err, c.says)
				return
			}
			done, err := session.Import(t.Context(), m, strings.NewReader(c.lines+"\n"+strings.ReplaceAll(begin, `"a"`, `"next"`)+entry(7)),
				session.ImportOptions{MaxLine: c.max, SkipDamaged: true})
			require.NoError(t, err)
			if name != "a line too long" {
				require.Equal(t, "next", done.Sessions[len(done.Sessions)-1])
			}
			require.NotEmpty(t, done.Damaged)
			require.Contains(t, c.says, done.Damaged[0].Error())
		})
	}
}

// TestImportKeepsAThousandDamagedLines is about a file that is damaged throughout.
func TestImportKeepsAThousandDamagedLines(t *testing.T) {
	for _, n := range []int{999, 1000, 1001} {
		done, err := session.Import(t.Context(), new(session.Memory), strings.NewReader(strings.Repeat("{\n", n)), session.ImportOptions{SkipDamaged: true})
		require.NoError(t, err)
		require.Len(t, done.Damaged, min(n, 1000))
		require.Equal(t, min(n, 1000), done.Damaged[len(done.Damaged)-1].Line)
	}
}

// TestImportAppendsInBatches has how many entries and bytes are appended at a time.
func TestImportAppendsInBatches(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"v":1,"session":{"id":"a"}}` + "\n")
	for i := range 600 {
		fmt.Fprintf(&b, `{"v":1,"seq":%d,"kind":"view","data":1}`+"\n", i+1)
	}
	large := `"` + strings.Repeat("x", 1<<19-2) + `"`
	for i := range 3 {
		fmt.Fprintf(&b, `{"v":1,"seq":%d,"kind":"view","data":%s}`+"\n", i+601, large)
	}
	s := &failing{Memory: new(session.Memory), at: -1}
	done, err := session.Import(t.Context(), s, strings.NewReader(b.String()), session.ImportOptions{})
	require.NoError(t, err)
	require.Equal(t, 603, done.Entries)
	require.Equal(t, []string{
		"Create a", "Acquire a for import", "Append 256 entries to a", "Append 256 entries to a",
		"Append 90 entries to a", "Append 1 entries to a", "Release a",
	}, s.calls)
}

// TestImportTellsThatItCouldNotTidyUp has a store that fails twice.
func TestImportTellsThatItCouldNotTidyUp(t *testing.T) {
	bad := errors.New("cannot release")
	s := unreleased{failing: &failing{Memory: new(session.Memory), at: 2}, err: bad}
	lines := `{"v":1,"session":{"id":"a"}}` + "\n" + `{"v":1,"seq":1,"kind":"view"}` + "\n"
	_, err := session.Import(t.Context(), s, strings.NewReader(lines), session.ImportOptions{})
	require.ErrorIs(t, err, errStore)
	require.ErrorIs(t, err, bad)
	require.Equal(t, []string{"Create a", "Acquire a for import", "Append 1 entries to a"}, s.calls)
}
