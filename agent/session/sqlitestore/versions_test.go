// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sessiontest"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
)

// newColumn is a step to a version that does not exist.
const newColumn = "ALTER TABLE sessions ADD COLUMN colour TEXT NOT NULL DEFAULT 'red'"

// TestProgramsAreUpdatedOneByOne opens a store with the next version of the program while the version before is at work.
func TestProgramsAreUpdatedOneByOne(t *testing.T) {
	dir := t.TempDir()
	old := store(t, dir)
	_, err := old.Create(t.Context(), session.New{ID: "a"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), old, "a", session.Claim{Holder: "an older program"})
	require.NoError(t, err)
	_, err = w.Append(t.Context(), value("1"))
	require.NoError(t, err)

	mend := sqlitestore.AddStep(newColumn, 1)
	t.Cleanup(mend)
	newer := store(t, dir)
	_, err = database(t, dir).Exec("UPDATE sessions SET colour = 'blue'")
	require.NoError(t, err)
	_, err = w.Append(t.Context(), value("2"))
	require.NoError(t, err, "a program that had the store open goes on")
	_, err = old.Fork(t.Context(), "a", 1, session.New{ID: "b"})
	require.NoError(t, err)
	info, err := newer.Get(t.Context(), "a")
	require.NoError(t, err)
	require.EqualValues(t, 2, info.Head)
	require.Equal(t, "an older program", info.Holder)
	require.NoError(t, w.Close(t.Context()))
	require.NoError(t, old.Close())

	mend()
	again := store(t, dir)
	page, err := again.List(t.Context(), session.Query{})
	require.NoError(t, err, "an older program is started again")
	require.Len(t, page.Sessions, 2)
	w, err = session.Open(t.Context(), again, "b", session.Claim{})
	require.NoError(t, err)
	_, err = w.Append(t.Context(), value("3"))
	require.NoError(t, err)

	t.Cleanup(sqlitestore.AddStep(newColumn, 1))
	t.Cleanup(sqlitestore.AddStep("ALTER TABLE sessions DROP COLUMN colour", 2))
	store(t, dir) // version 3 takes away what version 2 does not use
	_, err = w.Append(t.Context(), value("4"))
	require.ErrorIs(t, err, session.ErrVersion, "version 3 does not serve version 1")
}

// TestConformanceOnNewerTables runs the suite as a program of this version does, on the tables of the next one, beside such a program.
func TestConformanceOnNewerTables(t *testing.T) {
	sessiontest.Run(t, func(t *testing.T) *sessiontest.Target {
		dir := t.TempDir()
		mend := sqlitestore.AddStep(newColumn, 1)
		newer, err := sqlitestore.Open(dir, sqlitestore.Options{})
		mend()
		require.NoError(t, err)
		opened := []*sqlitestore.Store{newer}
		return &sessiontest.Target{
			Open: func() (session.Store, error) {
				if len(opened)%2 == 0 { // programs of both versions
					opened = append(opened, newer)
					return newer, nil
				}
				s, err := sqlitestore.Open(dir, sqlitestore.Options{})
				if err == nil {
					opened = append(opened, s)
				}
				return s, err
			},
			Close: func() {
				for i, s := range opened {
					if i == 0 || s != newer {
						require.NoError(t, s.Close())
					}
				}
			},
		}
	})
}
