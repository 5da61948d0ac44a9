// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
)

// spoilt is a log of entries to which something was done.
type spoilt struct {
	name string
	log  []session.Entry
}

// spoil does one thing after another to the entries of a log: entries that are missing, that come twice or too early, that are another
// turn's or a call's, and whose data lack a member, up to those of the parts of messages.
func spoil(log []session.Entry) (all []spoilt) {
	with := func(n int, name string, change func(e *session.Entry)) {
		made := slices.Clone(log)
		change(&made[n])
		all = append(all, spoilt{fmt.Sprintf("entry %d %s", n+1, name), made})
	}
	for n := range log {
		all = append(all, spoilt{fmt.Sprintf("entry %d is missing", n+1), slices.Delete(slices.Clone(log), n, n+1)},
			spoilt{fmt.Sprintf("entry %d comes twice", n+1), slices.Insert(slices.Clone(log), n, log[n])})
		if n > 0 {
			made := slices.Clone(log)
			made[n], made[n-1] = made[n-1], made[n]
			all = append(all, spoilt{fmt.Sprintf("entry %d comes early", n+1), made})
		}
		with(n, "has other data", func(e *session.Entry) { e.Data = json.RawMessage(`7`) })
		with(n, "is another run's", func(e *session.Entry) { e.Run = "other" })
		with(n, "is a call's", func(e *session.Entry) { e.Run += "/1/x" })
		with(n, "has no run", func(e *session.Entry) { e.Run = "" })
		with(n, "has no key", func(e *session.Entry) { e.Key = "" })
		for _, kind := range []session.Kind{session.KindStep, session.KindView, session.KindMessage} {
			if log[n].Kind != kind {
				with(n, "is a "+string(kind), func(e *session.Entry) { e.Kind = kind })
			}
		}
		var data any
		if json.Unmarshal(log[n].Data, &data) != nil {
			continue
		}
		without(data, "", func(name string) {
			made, err := json.Marshal(data)
			if err != nil {
				panic(err)
			}
			with(n, "lacks "+name, func(e *session.Entry) { e.Data = made })
		})
	}
	return all
}

// without calls told for each member of objects, while it is not there.
func without(data any, path string, told func(path string)) {
	switch data := data.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(data)) {
			v := data[name]
			delete(data, name)
			told(path + name)
			data[name] = v
			without(v, path+name+".", told)
		}
	case []any:
		for n, v := range data {
			without(v, fmt.Sprint(path, n, "."), told)
		}
	}
}

// logged returns the entries of a conversation of random turns. They are kept in a file, because how
// many views there are depends on the moment. -update makes it if it is not there.
func logged(t *testing.T, d dice) (log []session.Entry) {
	t.Helper()
	path := filepath.Join("testdata", fmt.Sprintf("log%d.json", d))
	if _, err := os.Stat(path); *update && errors.Is(err, fs.ErrNotExist) {
		synctest.Test(t, func(t *testing.T) {
			store := &recorder{Memory: new(session.Memory)}
			_, err := store.Create(t.Context(), session.New{ID: "s"})
			require.NoError(t, err)
			cancel := new(func())
			p := (&play{dice: d, t: t, a: playAgent(d, cancel), cancel: cancel}).enter(store)
			for n := range 2 {
				p.turn(fmt.Sprint("t", n))
			}
			var all []session.Entry
			for _, batch := range store.batches {
				for _, e := range batch {
					e.Seq = 0
					all = append(all, e)
				}
			}
			data, err := json.MarshalIndent(all, "", "\t")
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, append(data, '\n'), 0o600))
		})
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &log))
	for n := range log { // the file has them indented
		var short bytes.Buffer
		require.NoError(t, json.Compact(&short, log[n].Data))
		log[n].Data = short.Bytes()
	}
	return log
}

// readSpoilt tells what a process makes of a log, as a sum with the first words of what is other than with the whole one.
func readSpoilt(t *testing.T, log []session.Entry) string {
	t.Helper()
	m := new(session.Memory)
	_, err := m.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), m, "s", session.Claim{})
	require.NoError(t, err)
	defer func() { require.NoError(t, w.Close(t.Context())) }()
	for _, e := range log {
		if _, err := w.Append(t.Context(), e); err != nil {
			return fmt.Sprintln("not stored:", err)
		}
	}
	c, err := transcript.Open(t.Context(), w, options)
	if err != nil {
		h, readErr := transcript.Read(t.Context(), m, "s", options)
		require.EqualError(t, err, readErr.Error())
		var b strings.Builder
		for e := range h.Fold().Snapshot().All() {
			data, err := json.Marshal(e)
			require.NoError(t, err)
			writeLine(&b, "shown", data)
		}
		return fmt.Sprintf("%v\n%s", err, b.String())
	}
	found := state(t, c)
	turns, err := transcript.Past(t.Context(), m, "s")
	if err != nil {
		return found + fmt.Sprintln("past:", err)
	}
	for _, one := range turns {
		found += fmt.Sprintln("turn", one.ID, one.Reason, len(one.Before), len(one.After), len(one.Messages), len(one.Decisions))
	}
	return found
}

// TestSpoiltEntries has processes read sessions whose entries were spoilt, and records what they make of it.
func TestSpoiltEntries(t *testing.T) {
	var b strings.Builder
	tell := func(t *testing.T, name string, log []session.Entry) {
		whole := readSpoilt(t, log)
		fmt.Fprintf(&b, "%s:\n%s", name, whole)
		same := 0
		for _, one := range spoil(log) {
			found := readSpoilt(t, one.log)
			if found == whole {
				same++
				continue
			}
			lines := strings.Split(strings.TrimSuffix(changes(whole, found), "\n"), "\n")
			for n := range lines {
				lines[n] = lines[n][:min(len(lines[n]), 60)]
			}
			fmt.Fprintf(&b, "%s: %08x: %d: %s\n", one.name, crc32.ChecksumIEEE([]byte(found)), len(lines), strings.Join(lines[:min(len(lines), 2)], " "))
		}
		fmt.Fprintln(&b, "the same:", same)
	}
	for _, seed := range []dice{5, 10, 17} {
		log := logged(t, seed)
		tell(t, fmt.Sprint("play ", seed), log)
		if seed == 10 { // as it is in the middle of a turn
			tell(t, fmt.Sprint("play ", seed, " cut off"), log[:len(log)-2])
		}
	}
	path := filepath.Join("testdata", "spoilt.txt")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}
