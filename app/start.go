// SPDX-License-Identifier: Apache-2.0

package app

import (
	"runtime/debug"
	"sync"
	"time"
)

// starting is how long a program may start without collecting garbage.
const starting = 250 * time.Millisecond

// hurry has a program start without collecting garbage, which takes a fifth of the time until an
// editor has its first answer. The function that it returns ends that; so does time.
func hurry() (end func()) {
	percent := debug.SetGCPercent(-1)
	end = sync.OnceFunc(func() { debug.SetGCPercent(percent) })
	time.AfterFunc(starting, end)
	return end
}
