// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"time"
)

// RetryPolicy says how often and when a failed request is sent again. The adapters take it in their configuration and in
// [OpenOptions], and modelwrap.Retry takes it for any model. It means the same everywhere. In the zero value, every field has its
// default.
//
// Policies never multiply. Where several apply to a request, only the outermost does: modelwrap.Retry marks its context with
// [WithoutRetries], and everything inside makes a single attempt.
//
// A request is never sent again once a delta has been passed to the sink, or when its context has ended.
type RetryPolicy struct {
	// Attempts is how often a request is sent at most: 3 by default, 1 for no retries.
	Attempts int
	// Base is the first wait, 500 ms by default. Each further one is twice as long, up to Max (30 s by default), and then
	// shortened at random by up to a quarter, so that clients that failed together do not come back together. If the provider
	// asks for a certain wait ([APIError.RetryAfter]), that is kept instead. If it asks for more than Max, the error is
	// returned at once.
	Base, Max time.Duration
	// Total bounds all waits of a request together: 2 minutes by default. The error is returned instead of beginning a wait
	// that would exceed it.
	Total time.Duration
	// On reports whether a request is sent again after an error. By default it is if [APIError.Retryable] is set; of several
	// errors, such as those of modelwrap.Fallback, one is enough. Adapters set Retryable after failed or broken connections,
	// after HTTP 408, 409, 425, 429 and 5xx but 501 (529 means overloaded), and after answers that break off or hold nothing,
	// but not for a quota that is used up.
	On func(error) bool
	// Observe, if not nil, is called before each wait with the error and the length of the wait. Like On, it may be called by
	// several requests at the same time.
	Observe func(ctx context.Context, err error, wait time.Duration)
}

type withoutRetries struct{}

// WithoutRetries returns a context in which adapters and modelwrap.Retry make a single attempt, whatever their policy. Use it
// around a model where the caller itself sends failed requests again.
func WithoutRetries(ctx context.Context) context.Context {
	if !RetriesAllowed(ctx) {
		return ctx
	}
	return context.WithValue(ctx, withoutRetries{}, withoutRetries{})
}

// RetriesAllowed reports whether a model may send a failed request again itself. It returns false if ctx was made by
// [WithoutRetries]. A [Model] that has retries of its own must ask it with the context of each request.
func RetriesAllowed(ctx context.Context) bool { return ctx.Value(withoutRetries{}) == nil }
