// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/pgstore"
	"github.com/ponte-go/ponte/agent/session/transcript"
)

// TestDamagedEntriesInPostgres keeps the turns before an entry that somebody has changed.
func TestDamagedEntriesInPostgres(t *testing.T) {
	url, schema := database(t)
	s := store(t, url, pgstore.Options{Schema: schema})
	_, err := s.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), s, "s", session.Claim{})
	require.NoError(t, err)
	for n, text := range []string{"first words", "second words"} {
		said, err := json.Marshal(map[string]any{"message": model.UserText(text)})
		require.NoError(t, err)
		end, err := json.Marshal(map[string]any{"v": 1, "reason": transcript.Done, "keep": n, "messages": []int{2*n + 1}})
		require.NoError(t, err)
		_, err = w.Append(t.Context(), session.Entry{Kind: session.KindMessage, Run: text[:5], Key: "prompt", Data: said}, session.Entry{Kind: session.KindEnd, Run: text[:5], Data: end})
		require.NoError(t, err)
	}
	require.NoError(t, w.Close(t.Context()))
	_, err = admin(t, url).Exec(t.Context(), "UPDATE "+pgx.Identifier{schema}.Sanitize()+`.entries SET data = '"nonsense"' WHERE seq = 3`)
	require.NoError(t, err)
	_, err = transcript.Read(t.Context(), s, "s", transcript.Options{})
	require.ErrorIs(t, err, session.ErrCorrupt)
	made, err := host.Salvage(t.Context(), s, "s", session.New{})
	require.NoError(t, err)
	require.EqualValues(t, 2, made.ForkedAt)
	h, err := transcript.Read(t.Context(), s, made.ID, transcript.Options{})
	require.NoError(t, err)
	require.Len(t, h.Messages(), 1)
}
