// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
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
