// SPDX-License-Identifier: Apache-2.0

package spend_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/capability/spend"
	"github.com/ponte-go/ponte/agent/session"
)

// prune removes whatever retention allows, and returns how many sessions are left.
func prune(t *testing.T, store session.Store) int {
	t.Helper()
	_, err := session.Prune(t.Context(), store, session.Retention{MaxAge: 1, MaxSessions: 1, MaxBytes: 1})
	require.NoError(t, err)
	page, err := store.List(t.Context(), session.Query{})
	require.NoError(t, err)
	return len(page.Sessions)
}

func TestRetentionKeepsLedgersOfOpenWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(session.Memory)
		a := spender(100, hourly(store, 100, 100))
		for _, name := range []string{"ada", "bob"} {
			_, err := a.Run(t.Context(), user{name}, "Hello.")
			require.NoError(t, err)
		}
		time.Sleep(time.Hour)
		require.Equal(t, 2, prune(t, store))
		_, err := a.Run(t.Context(), user{"ada"}, "Hello.")
		require.ErrorIs(t, err, spend.ErrSpent, "what ada spent still counts")
		time.Sleep(2 * time.Minute)
		_, err = a.Run(t.Context(), user{"ada"}, "Hello.")
		require.NoError(t, err)
		time.Sleep(5 * time.Minute)
		require.Equal(t, 1, prune(t, store), "nothing is left in bob's window")
		_, err = a.Run(t.Context(), user{"bob"}, "Hello.")
		require.NoError(t, err, "a ledger that was removed is made again")
		time.Sleep(3 * time.Hour)
		require.Zero(t, prune(t, store))
	})
}

func TestLedgerOfALongerWindowIsKeptLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(session.Memory)
		run := func(length time.Duration) error {
			o := hourly(store, 100, 50)
			o.Windows[0].Length = length
			_, err := spender(50, o).Run(t.Context(), user{}, "Hello.")
			return err
		}
		require.NoError(t, run(time.Hour))
		require.NoError(t, run(24*time.Hour))
		require.ErrorIs(t, run(time.Hour), spend.ErrSpent)
		time.Sleep(24 * time.Hour)
		require.Equal(t, 1, prune(t, store))
		require.ErrorIs(t, run(24*time.Hour), spend.ErrSpent)
		time.Sleep(2 * time.Hour)
		require.Zero(t, prune(t, store))
	})
}
