// SPDX-License-Identifier: Apache-2.0

package model

import "time"

// Timeouts limits the time spent waiting for a provider. Zero means the default given below, and a
// negative value means no limit. A request that exceeds a limit fails with a retryable [*APIError]
// that wraps [os.ErrDeadlineExceeded].
type Timeouts struct {
	// Total limits a call of Generate: all attempts, the waits between them, and the time spent in
	// the sink. By default, only the caller's context limits it.
	Total time.Duration
	// FirstByte limits the time from sending one attempt to the first byte of the response body.
	// The default is 10 minutes, because an unstreamed response arrives when it is complete, and
	// local servers read the whole prompt first.
	FirstByte time.Duration
	// Idle limits silence within a response. The default is 5 minutes, because models pause to
	// think, and some local servers start to respond before they have read the prompt. Keep-alives
	// such as comments and pings do not count as silence.
	Idle time.Duration
	// Stall limits the wait for the next event of a stream, or for the rest of an unstreamed
	// response, while the endpoint sends only keep-alives. The default is 30 minutes, because slow
	// providers send them for many minutes before the model starts. Each event restarts it.
	Stall time.Duration
}
