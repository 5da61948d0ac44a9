// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"fmt"
	"time"
)

// maxNoise bounds what an endpoint may send beside an event, in bytes. OpenRouter's keep-alives add
// up to less than 100 KiB in an hour.
const maxNoise = 1 << 20

// Stream marks the response as a stream whose events have at most maxEvent bytes. From now on,
// reading fails with a [*FloodError] after that many bytes and another 1 MiB without a call of
// Event.
func (w *Watchdog) Stream(maxEvent int64) { w.read, w.maxRead = 0, maxEvent+maxNoise }

// Event records that an event of the stream has advanced the response. Comments, empty lines and
// pings do not: they only keep the connection alive.
func (w *Watchdog) Event() { w.waited, w.read = 0, 0 }

// SetIdle changes the bound on the silence within an answer, and on the wait for the next event,
// from the next read on. An adapter shortens it when the response is complete and only the
// connection's end, or usage, is missing.
func (w *Watchdog) SetIdle(d time.Duration) { w.bounds.Idle, w.bounds.Stall = d, d }

// FloodError means that a stream sent too much data without an event, or within one.
type FloodError struct{ Bytes int64 }

// Error implements error.
func (e *FloodError) Error() string {
	return fmt.Sprintf("the endpoint sent more than %d MiB without a complete event", e.Bytes>>20)
}
