// SPDX-License-Identifier: Apache-2.0

package spend_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/capability/spend"
	"github.com/ponte-go/ponte/agent/session"
)

// accountOf returns what the only ledger of a store has, with times since the beginning.
func accountOf(t *testing.T, store session.Store, begin time.Time) string {
	t.Helper()
	page, err := store.List(t.Context(), session.Query{Dir: spend.Dir})
	require.NoError(t, err)
	require.Len(t, page.Sessions, 1)
	text := ""
	for e, err := range store.Load(t.Context(), page.Sessions[0].ID, 0) {
		require.NoError(t, err)
		var content struct {
			Account struct {
				Spent, Held []struct {
					At    int64
					Value float64
				}
			}
		}
		require.NoError(t, json.Unmarshal(e.Data, &content))
		text = ""
		for _, s := range content.Account.Spent {
			text += fmt.Sprintf("%v at %v ", s.Value, time.UnixMilli(s.At).Sub(begin))
		}
		for _, h := range content.Account.Held {
			text += fmt.Sprintf("held %v at %v ", h.Value, time.UnixMilli(h.At).Sub(begin))
		}
	}
	return text
}

// Amounts are kept by sixtieths of the window, each at its end, and count for a whole window from then on.
func TestAmountsCountFromTheEndOfTheirSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		store := new(session.Memory)
		at := func(moment time.Duration, want string) {
			t.Helper()
			time.Sleep(moment - time.Since(begin))
			_, err := spender(10, hourly(store, 100, 10)).Run(t.Context(), user{}, "Hello.")
			require.NoError(t, err)
			require.Equal(t, want, accountOf(t, store, begin))
		}
		at(0, "10 at 1m0s ")
		at(time.Minute-time.Millisecond, "20 at 1m0s ")
		at(time.Minute, "20 at 1m0s 10 at 2m0s ")
		at(2*time.Minute-time.Nanosecond, "20 at 1m0s 20 at 2m0s ")
		at(10*time.Minute, "20 at 1m0s 20 at 2m0s 10 at 11m0s ")
		at(61*time.Minute-time.Millisecond, "20 at 1m0s 20 at 2m0s 10 at 11m0s 10 at 1h1m0s ")
		at(61*time.Minute, "20 at 2m0s 10 at 11m0s 10 at 1h1m0s 10 at 1h2m0s ")
		at(62*time.Minute, "10 at 11m0s 10 at 1h1m0s 10 at 1h2m0s 10 at 1h3m0s ")
		at(5*time.Hour, "10 at 5h1m0s ")
	})
}

// A window that is used up says so in these words, and when it is free.
func TestUsedUpWindowsSayWhenTheyAreFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(session.Memory)
		for range 3 {
			_, err := spender(30, hourly(store, 100, 30)).Run(t.Context(), user{}, "Hello.")
			require.NoError(t, err)
			time.Sleep(10 * time.Minute)
		}
		for reserve, free := range map[float64]string{10.5: "2000-01-01T01:01:00Z", 40: "2000-01-01T01:01:00Z", 40.5: "2000-01-01T01:11:00Z", 71: "2000-01-01T01:21:00Z"} {
			_, err := spender(1, hourly(store, 100, reserve)).Run(t.Context(), user{}, "Hello.")
			var spent *spend.Error
			require.ErrorAs(t, err, &spent)
			require.EqualError(t, spent, fmt.Sprintf("spend: the window is used up: %q has used 90 of 100 in 1h0m0s, and a request reserves %v; try again at %s", spent.Window, reserve, free))
		}
		_, err := spender(1, hourly(store, 100, 10)).Run(t.Context(), user{}, "Hello.")
		require.NoError(t, err, "what fits exactly is made")
	})
}
