// SPDX-License-Identifier: Apache-2.0

package app

import (
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestGarbageIsCollectedAfterTheStart keeps hurry from lasting.
func TestGarbageIsCollectedAfterTheStart(t *testing.T) {
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	current := func() int {
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	synctest.Test(t, func(t *testing.T) {
		end := hurry()
		require.Equal(t, -1, current())
		end()
		require.Equal(t, 100, current())
		hurry()
		time.Sleep(starting)
		synctest.Wait()
		require.Equal(t, 100, current(), "a program that makes no host")
	})
}
