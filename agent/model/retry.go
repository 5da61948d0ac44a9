// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"time"
)

// RetryPolicy determines how often and when a failed request is sent again. Adapters take it in
// their configuration and in [OpenOptions], and modelwrap.Retry takes it for any model. Its meaning
// is the same everywhere. In the zero value, every field has its default.
//
// Policies never multiply. If several apply to a request, only the outermost is used:
// modelwrap.Retry passes on a context made by [WithoutRetries], and everything inside makes a
// single attempt.
//
// A request is never sent again once a delta has been passed to the sink, or after its context has
// ended.
type RetryPolicy struct {
	// Attempts is the maximum number of times a request is sent. The default is 3. 1 means no
	// retries.
	Attempts int
	// Base is the first wait. The default is 500 ms. Each further wait is twice as long, up to Max
	// (30 s by default), and then shortened at random by up to a quarter, to keep clients that
	// failed together from retrying together. A wait requested by the provider
	// ([APIError.RetryAfter]) is used instead. If it is longer than Max, the error is returned at
	// once.
	Base, Max time.Duration
	// Total limits the sum of all waits for a request. The default is 2 minutes. If the next wait
	// would exceed it, the error is returned instead.
	Total time.Duration
	// On reports whether to send a request again after an error. The default is to do so if
	// [APIError.Retryable] is set. If there are several errors, as from modelwrap.Fallback, one is
	// enough. Adapters set Retryable for failed or broken connections, for HTTP 408, 409, 425, 429
	// and 5xx except 501 (529 means overloaded), and for responses that break off or are empty, but
	// not for an exhausted quota.
	On func(error) bool
	// Observe, if not nil, is called before each wait with the error and the length of the wait. On
	// and Observe must be safe for concurrent use.
	Observe func(ctx context.Context, err error, wait time.Duration)
}

type withoutRetries struct{}

// WithoutRetries returns a context in which adapters and modelwrap.Retry make a single attempt,
// whatever their policy. Use it if the caller itself retries failed requests.
func WithoutRetries(ctx context.Context) context.Context {
	if !RetriesAllowed(ctx) {
		return ctx
	}
	return context.WithValue(ctx, withoutRetries{}, withoutRetries{})
}

// RetriesAllowed reports whether a model may retry a failed request. It returns false if ctx was
// made by [WithoutRetries]. A [Model] with its own retries must call it with the context of each
// request.
func RetriesAllowed(ctx context.Context) bool { return ctx.Value(withoutRetries{}) == nil }
