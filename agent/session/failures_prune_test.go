// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

// TestPruneLeavesWhatChanges is about sessions that others use meanwhile.
func TestPruneLeavesWhatChanges(t *testing.T) {
	for name, c := range map[string]struct {
		change func(i *session.Info) error
		says   string
	}{
		"appended":     {func(i *session.Info) error { i.Head++; return nil }, "0 removed, 0 held"},
		"updated":      {func(i *session.Info) error { i.Updated = i.Updated.Add(1); return nil }, "0 removed, 0 held"},
		"a prompt":     {func(i *session.Info) error { i.Waiting = 1; return nil }, "0 removed, 0 held"},
		"gone already": {func(*session.Info) error { return session.ErrNotFound }, "0 removed, 0 held"},
		"as it was":    {func(*session.Info) error { return nil }, "1 removed, 0 held"},
	} {
		m := new(session.Memory)
		for i, id := range []string{"old", "new"} {
			_, err := m.Create(t.Context(), session.New{ID: id, Created: time.Unix(int64(i), 0)})
			require.NoError(t, err)
		}
		done, err := session.Prune(t.Context(), meddling{m, c.change}, session.Retention{MaxSessions: 1})
		require.NoError(t, err, name)
		require.Equal(t, c.says, fmt.Sprintf("%d removed, %d held", len(done.Removed), done.Held), name)
	}
}

// TestPruneCountsWhatItLeaves has a session that is too large, and stays because it has changed.
func TestPruneCountsWhatItLeaves(t *testing.T) {
	m := new(session.Memory)
	for i, c := range []struct {
		id   string
		size int
	}{{"old", 50}, {"changed", 300}, {"new", 100}} {
		at := time.Unix(int64(i+1), 0)
		_, err := m.Create(t.Context(), session.New{ID: c.id, Created: at})
		require.NoError(t, err)
		l, err := m.Acquire(t.Context(), c.id, session.Claim{})
		require.NoError(t, err)
		data := json.RawMessage(`"` + strings.Repeat("x", c.size-2) + `"`)
		_, err = m.Append(t.Context(), l, 0, session.Batch{Entries: []session.Entry{{Kind: "view", Time: at, Data: data}}})
		require.NoError(t, err)
		require.NoError(t, m.Release(t.Context(), l))
	}
	changes := meddling{m, func(i *session.Info) error {
		if i.ID == "changed" {
			i.Head++
		}
		return nil
	}}
	done, err := session.Prune(t.Context(), changes, session.Retention{MaxBytes: 200})
	require.NoError(t, err)
	require.Len(t, done.Removed, 1)
	require.Equal(t, "old", done.Removed[0].ID)
}

// TestPruneKeepsWhatWaits has old sessions with a prompt, which is run once, and with a note.
func TestPruneKeepsWhatWaits(t *testing.T) {
	m := new(session.Memory)
	for _, kind := range []session.ItemKind{session.ItemPrompt, session.ItemNote} {
		_, err := m.Create(t.Context(), session.New{ID: string(kind), Created: time.Unix(1, 0)})
		require.NoError(t, err)
		item := session.Item{ID: "1", Kind: kind, Data: json.RawMessage(`1`)}
		_, err = m.Put(t.Context(), string(kind), item)
		require.NoError(t, err)
	}
	for _, dry := range []bool{true, false} {
		r := session.Retention{MaxAge: time.Hour, MaxBytes: 1, DryRun: dry}
		done, err := session.Prune(t.Context(), m, r)
		require.NoError(t, err)
		require.Len(t, done.Removed, 1)
		require.Equal(t, "note", done.Removed[0].ID)
		require.Zero(t, done.Held)
	}
	waiting, err := session.Waiting(t.Context(), m, "prompt")
	require.NoError(t, err)
	require.Len(t, waiting, 1)
	done, err := session.Purge(t.Context(), m, session.Query{})
	require.NoError(t, err)
	require.Len(t, done.Removed, 1, "who erases means all of it")
}
