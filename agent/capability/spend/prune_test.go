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

// Windows of one name that differ in their length or unit are different windows: what has left the
// shorter one still counts in the longer one, and tokens are no dollars.
func TestWindowsOfAnotherLengthOrUnitCountAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(session.Memory)
		run := func(length time.Duration, cost bool) error {
			o := hourly(store, 100, 50)
			if o.Windows[0].Length = length; cost {
				o.Prices, o.Windows[0].Cost, o.Windows[0].Tokens = table{}, 100, 0
			}
			_, err := spender(50, o).Run(t.Context(), user{}, "Hello.")
			return err
		}
		for range 2 {
			for _, length := range []time.Duration{time.Hour, 24 * time.Hour} {
				for _, cost := range []bool{false, true} {
					require.NoError(t, run(length, cost))
				}
			}
		}
		time.Sleep(2 * time.Hour)
		require.NoError(t, run(time.Hour, false))
		require.ErrorIs(t, run(24*time.Hour, false), spend.ErrSpent)
		require.ErrorIs(t, run(24*time.Hour, true), spend.ErrSpent)
		time.Sleep(22 * time.Hour)
		require.Equal(t, 2, prune(t, store), "the long ones are kept longer")
		time.Sleep(2 * time.Hour)
		require.Zero(t, prune(t, store))
	})
}
