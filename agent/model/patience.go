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

// Retries say how often an adapter tries again what may succeed later: no connection, a broken one, HTTP 408, 409, 425, 429,
// 5xx but 501 (529 means overloaded), and an answer that breaks off or holds nothing. Nothing is tried again once a delta has
// been passed to the sink, nor is a quota that is used up.
type Retries struct {
	// Attempts is how often a request is sent at most: 3 by default, 1 for no retries.
	Attempts int
	// Base is the first wait, 500 ms by default. Each further one is twice as long, up to Max (30 s by default), and then
	// shortened at random by up to a quarter. If the provider asks for a certain wait, that is kept instead; if it asks for
	// more than Max, the error is returned at once, with [APIError.RetryAfter].
	Base, Max time.Duration
}
