// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
)

// sinkError marks an error that came from the caller's sink. It is used as a pointer, like the
// other types that are looked for: then they share the code of errors.AsType.
type sinkError struct{ error }

// FromSink marks an error of the caller's sink, for [Call.Try] to return as it is.
func FromSink(err error) error { return &sinkError{err} }

// IsFromSink reports whether FromSink marked err.
func IsFromSink(err error) bool { return errs.As(err, new(*sinkError)) }

// ReadError marks an answer that broke off, as opposed to an invalid one.
type ReadError struct{ err error }

func (e *ReadError) Error() string { return "the answer broke off: " + e.err.Error() }
func (e *ReadError) Unwrap() error { return e.err }

// BrokeOff marks the error of a reader whose answer was not complete. The reader's end is
// [io.ErrUnexpectedEOF] there. A [*FloodError] is returned as it is: asking again would not help.
func BrokeOff(err error) error {
	if flood := (*FloodError)(nil); errs.As(err, &flood) {
		return flood
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &ReadError{err}
}

// Call bounds the attempts to have a request answered.
type Call struct {
	// Package begins errors of contexts that end.
	Package string
	Info    model.Info
	// Retry is the policy, as [RetryPolicy] returns it.
	Retry model.RetryPolicy
	// Total bounds all attempts; 0 means no bound.
	Total time.Duration
	// Headers are the caller's extra headers. Errors do not quote their values: see [HideHeaders].
	Headers map[string]string
}

// Bound returns the context of all attempts, which ends at the latest after Total. The caller calls
// stop at the end.
func (c *Call) Bound(caller context.Context) (ctx context.Context, stop context.CancelFunc) {
	if c.Total > 0 {
		return context.WithTimeout(caller, c.Total)
	}
	return caller, func() {}
}

// Try makes attempts until one succeeds or another would be useless: the error is permanent, the
// endpoint asks for too long a wait, or the sink has already received part of an answer, which
// final reports. ctx is the context that Bound derived from caller. The error comes from the last
// attempt or from the sink, or names the context that has ended.
func (c *Call) Try(caller, ctx context.Context, attempt func() error, final func() bool) error {
	policy, left := &c.Retry, c.Retry.Total
	for n := 1; ; n++ {
		if ctx.Err() != nil {
			return c.ended(caller, nil)
		}
		err := attempt()
		if err == nil {
			return nil
		}
		HideHeaders(err, c.Headers)
		if sink := (*sinkError)(nil); errs.As(err, &sink) {
			return sink.error
		}
		if ctx.Err() != nil {
			return c.ended(caller, err)
		}
		if final() || n >= policy.Attempts || !retried(policy, err) || !model.RetriesAllowed(caller) {
			return err
		}
		var asked time.Duration
		if failed, ok := errors.AsType[*model.APIError](err); ok {
			asked = failed.RetryAfter
		}
		wait, ok := Backoff(n, policy.Base, policy.Max, asked)
		if !ok || wait > left {
			return err
		}
		left -= wait
		if policy.Observe != nil {
			policy.Observe(ctx, err, wait)
		}
		if Sleep(ctx, wait); ctx.Err() != nil {
			return c.ended(caller, err)
		}
	}
}

// retried reports whether a policy retries after err.
func retried(policy *model.RetryPolicy, err error) bool {
	if policy.On != nil {
		return policy.On(err)
	}
	failed, ok := errors.AsType[*model.APIError](err)
	return ok && failed.Retryable
}

// ended returns the error for a call whose time is up, by the caller's context or by the bound on
// all attempts. last is how the last attempt failed, or nil.
func (c *Call) ended(caller context.Context, last error) error {
	var failed *model.APIError
	if !errs.As(last, &failed) || errors.Is(last, context.Canceled) || errors.Is(last, context.DeadlineExceeded) {
		last = nil // no more than the echo of the end
	}
	if caller.Err() != nil {
		return errs.Errorf("%s: %w", c.Package, Cancelled(caller, c.Info, last))
	}
	cause := errs.Errorf("no complete response within %s: %w", c.Total, os.ErrDeadlineExceeded)
	if last != nil {
		cause = errs.Errorf("%w; before that: %w", cause, last)
	}
	return &model.APIError{Provider: c.Info.Provider, Model: c.Info.Name, Retryable: true, Err: cause}
}
