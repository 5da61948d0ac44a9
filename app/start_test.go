// SPDX-License-Identifier: Apache-2.0

package app

import (
	"math"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestGarbageIsCollectedAfterTheStart keeps hurry from lasting.
func TestGarbageIsCollectedAfterTheStart(t *testing.T) {
	before := debug.SetGCPercent(100)
	limit := debug.SetMemoryLimit(math.MaxInt64)
	t.Cleanup(func() { debug.SetGCPercent(before); debug.SetMemoryLimit(limit) })
	percent := func() int {
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	synctest.Test(t, func(t *testing.T) {
		hurry()
		require.Equal(t, -1, percent())
		require.EqualValues(t, 64<<20, debug.SetMemoryLimit(-1), "a start that needs much")
		time.Sleep(250*time.Millisecond - 1)
		synctest.Wait()
		require.Equal(t, -1, percent())
		require.EqualValues(t, 64<<20, debug.SetMemoryLimit(-1))
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Equal(t, 100, percent())
		require.EqualValues(t, math.MaxInt64, debug.SetMemoryLimit(-1))

		debug.SetMemoryLimit(32 << 20)
		hurry()
		require.EqualValues(t, 32<<20, debug.SetMemoryLimit(-1), "the user's GOMEMLIMIT")
		time.Sleep(250 * time.Millisecond)
		synctest.Wait()
		require.EqualValues(t, 32<<20, debug.SetMemoryLimit(-1))
	})
}
