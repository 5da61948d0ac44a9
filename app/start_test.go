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
		require.EqualValues(t, startingMemory, debug.SetMemoryLimit(-1), "a start that needs much")
		time.Sleep(starting)
		synctest.Wait()
		require.Equal(t, 100, percent())
		require.EqualValues(t, math.MaxInt64, debug.SetMemoryLimit(-1))

		debug.SetMemoryLimit(startingMemory / 2)
		hurry()
		require.EqualValues(t, startingMemory/2, debug.SetMemoryLimit(-1), "the user's GOMEMLIMIT")
		time.Sleep(starting)
		synctest.Wait()
		require.EqualValues(t, startingMemory/2, debug.SetMemoryLimit(-1))
	})
}
