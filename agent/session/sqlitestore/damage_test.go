// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/agent/session/transcript"
)

// TestFlippedBitLeavesTheTurnsBefore flips a bit of the second turn: the error says up to where the session can be kept.
func TestFlippedBitLeavesTheTurnsBefore(t *testing.T) {
	dir := t.TempDir()
	s := store(t, dir)
	_, err := s.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), s, "s", session.Claim{})
	require.NoError(t, err)
	for n, text := range []string{"first words", "second words", "third words"} {
		run := text[:5]
		said, err := json.Marshal(map[string]any{"message": model.UserText(text)})
		require.NoError(t, err)
		end, err := json.Marshal(map[string]any{"v": 1, "reason": transcript.Done, "keep": n, "messages": []int{2*n + 1}})
		require.NoError(t, err)
		_, err = w.Append(t.Context(), session.Entry{Kind: session.KindMessage, Run: run, Key: "prompt", Data: said}, session.Entry{Kind: session.KindEnd, Run: run, Data: end})
		require.NoError(t, err)
	}
	require.NoError(t, w.Close(t.Context()))
	h, err := transcript.Read(t.Context(), s, "s", transcript.Options{})
	require.NoError(t, err)
	require.Len(t, h.Messages(), 3)
	require.NoError(t, s.Compact(t.Context()))
	require.NoError(t, s.Close())

	path := filepath.Join(dir, "sessions.db")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	at := bytes.Index(data, []byte("second words"))
	require.Positive(t, at)
	data[at] ^= 1
	require.NoError(t, os.WriteFile(path, data, 0o600))

	s = store(t, dir)
	_, err = transcript.Read(t.Context(), s, "s", transcript.Options{})
	var damage *session.Error
	require.ErrorIs(t, err, session.ErrCorrupt)
	require.ErrorAs(t, err, &damage)
	require.EqualValues(t, 3, damage.Seq)
	require.EqualValues(t, 2, damage.Good)
	require.ErrorContains(t, err, "entry 3: the data is damaged")
	require.ErrorContains(t, err, "(up to entry 2 it can be kept as a fork)")
	_, err = s.Fork(t.Context(), "s", damage.Good, session.New{ID: "kept"})
	require.NoError(t, err)
	h, err = transcript.Read(t.Context(), s, "kept", transcript.Options{})
	require.NoError(t, err)
	require.Len(t, h.Messages(), 1)
	require.Equal(t, "first words", h.Messages()[0].Parts[0].Text)
	good, damaged, _ := count(t, s, "s")
	require.Equal(t, [2]int{5, 1}, [2]int{good, damaged}, "the rest is still there")
}

// TestDamagedItemLeavesTheOthers has a damaged item between others.
func TestDamagedItemLeavesTheOthers(t *testing.T) {
	dir := t.TempDir()
	s := store(t, dir)
	_, err := s.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	for _, id := range []string{"1", "2", "3"} {
		data := json.RawMessage(`"of ` + id + `"`)
		_, err := s.Put(t.Context(), "s", session.Item{ID: id, Kind: session.ItemPrompt, Data: data})
		require.NoError(t, err)
	}
	_, err = database(t, dir).Exec(`UPDATE items SET data = '"another"' WHERE id = '2'`)
	require.NoError(t, err)
	var found []string
	for i, err := range s.Items(t.Context(), "s", 0) {
		if err != nil {
			require.EqualError(t, err,
				"session: items s: item 2: the data is damaged: the checksum is wrong")
			require.ErrorIs(t, err, session.ErrCorrupt)
			require.Empty(t, i.Data)
		}
		found = append(found, i.ID+string(i.Data))
	}
	require.Equal(t, []string{`1"of 1"`, "2", `3"of 3"`}, found)
	waiting, err := session.Waiting(t.Context(), s, "s")
	require.ErrorIs(t, err, session.ErrCorrupt)
	require.Len(t, waiting, 2)
	var file strings.Builder
	require.ErrorContains(t, session.Export(t.Context(), s, &file), "item 2")
	require.Equal(t, 2, strings.Count(file.String(), `"of `), "the others are written")
}

// TestDamagedDescriptionLeavesTheOthers lists, exports and removes a session with damaged values.
func TestDamagedDescriptionLeavesTheOthers(t *testing.T) {
	dir := t.TempDir()
	s := store(t, dir)
	for i, id := range []string{"old", "damaged", "new"} {
		_, err := s.Create(t.Context(), session.New{ID: id, Created: time.Unix(int64(i), 0)})
		require.NoError(t, err)
	}
	_, err := database(t, dir).Exec("UPDATE sessions SET vals = '{' WHERE id = 'damaged'")
	require.NoError(t, err)
	_, err = s.Get(t.Context(), "damaged")
	require.ErrorIs(t, err, session.ErrCorrupt)
	var found []string
	q := session.Query{Limit: 1}
	for {
		page, err := s.List(t.Context(), q)
		require.Len(t, page.Sessions, 1)
		found = append(found, page.Sessions[0].ID)
		if page.Sessions[0].ID == "damaged" {
			require.ErrorIs(t, err, session.ErrCorrupt)
			require.ErrorContains(t, err, "session: list damaged: ")
		} else {
			require.NoError(t, err)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	require.Equal(t, []string{"new", "damaged", "old"}, found)
	var file strings.Builder
	require.ErrorIs(t, session.Export(t.Context(), s, &file), session.ErrCorrupt)
	require.Equal(t, 2, strings.Count(file.String(), "\n"), "the others are written")
	done, err := session.Purge(t.Context(), s, session.Query{})
	require.NoError(t, err)
	require.Len(t, done.Removed, 3)
}

// TestCompactTellsOfReaders deletes a session while another process reads what was there before.
func TestCompactTellsOfReaders(t *testing.T) {
	dir := t.TempDir()
	s, err := sqlitestore.Open(dir, sqlitestore.Options{Busy: 30 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	const secret = "a secret to be erased"
	fill(t, s, 1, 20)
	_, err = s.Create(t.Context(), session.New{ID: "s", Title: secret})
	require.NoError(t, err)
	reader, err := database(t, dir).Begin()
	require.NoError(t, err)
	var n int
	require.NoError(t, reader.QueryRow("SELECT count(*) FROM sessions").Scan(&n))
	_, err = session.Purge(t.Context(), s, session.Query{})
	require.ErrorIs(t, err, session.ErrBusy)
	require.NotEmpty(t, found(t, dir, []string{secret}))
	require.NoError(t, reader.Rollback())
	require.NoError(t, s.Compact(t.Context()))
	require.Empty(t, found(t, dir, []string{secret}))
}
