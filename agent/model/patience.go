// SPDX-License-Identifier: Apache-2.0

package model

import "time"

// Timeouts bound the waiting for a provider. Zero is the default that is named, a negative value no bound. A request that
// runs into one fails with a retryable [*APIError] that wraps [os.ErrDeadlineExceeded].
type Timeouts struct {
	// Total bounds a call of Generate: all attempts, the waits between them, and the time that the sink takes. By default
	// there is no bound but the caller's context.
	Total time.Duration
	// FirstByte bounds one attempt from sending it to the first byte of the answer's body: 10 minutes by default, because
	// unstreamed answers come when they are complete and local servers first read the whole prompt.
	FirstByte time.Duration
	// Idle bounds the silence within an answer: 5 minutes by default, because models think between two pieces, and some
	// local servers begin to answer before they have read the prompt. What only keeps the connection alive, such as comments
	// and pings, is not silence.
	Idle time.Duration
	// Stall bounds the wait for the next event of a stream, or for the rest of an unstreamed answer, while the endpoint
	// sends nothing but such keep-alives: 30 minutes by default, because slow providers send them for many minutes before
	// the model begins. It starts anew with each event.
	Stall time.Duration
}
