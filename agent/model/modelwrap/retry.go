// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"context"
	"fmt"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// Retry returns a model that retries requests after errors that may pass, according to policy. It
// retries only while no delta has reached the caller's sink. A wait ends at once when ctx does.
// After several attempts the error states their number.
//
// Inside Retry, every model makes a single attempt, including adapters and an inner Retry, because
// Retry passes on a context made by [model.WithoutRetries]. Attempts therefore never multiply: the
// outermost policy is used.
//
// Retry panics if m is nil or a number in the policy is negative.
func Retry(m model.Model, policy model.RetryPolicy) model.Model {
	mustWrap("Retry", m)
	if field := adapter.NegativeRetry(&policy); field != "" {
		panic("modelwrap: Retry: " + field + " of the policy is negative")
	}
	p := adapter.RetryPolicy(policy)
	if p.On == nil {
		p.On = retryable
	}
	return &retry{m, p}
}

type retry struct {
	model.Model

	policy model.RetryPolicy
}

func (r *retry) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	if !model.RetriesAllowed(ctx) {
		return model.Ask(ctx, r.Model, req, sink)
	}
	seen, sink := watch(sink)
	inner := model.WithoutRetries(ctx)
	left := r.policy.Total
	for n := 1; ; n++ {
		resp, err := model.Ask(inner, r.Model, req, sink)
		if err == nil || seen.saw() {
			return resp, err
		}
		if ctx.Err() != nil {
			return nil, ended(ctx, err)
		}
		if n < r.policy.Attempts && r.policy.On(err) {
			if wait, ok := adapter.Backoff(n, r.policy.Base, r.policy.Max, retryAfter(err)); ok && wait <= left {
				left -= wait
				if r.policy.Observe != nil {
					r.policy.Observe(ctx, err, wait)
				}
				if sleep(ctx, wait); ctx.Err() != nil {
					return nil, ended(ctx, err)
				}
				continue
			}
		}
		if n > 1 {
			err = fmt.Errorf("modelwrap: after %d attempts: %w", n, err)
		}
		return nil, err
	}
}

func retryable(err error) bool {
	for e := range apiErrors(err) {
		if e.Retryable {
			return true
		}
	}
	return false
}

// retryAfter returns the shortest wait that any of the failed models asks for.
func retryAfter(err error) time.Duration {
	asked := time.Duration(-1)
	for e := range apiErrors(err) {
		if e.Retryable && (asked < 0 || e.RetryAfter < asked) {
			asked = max(e.RetryAfter, 0)
		}
	}
	return max(asked, 0)
}

// sleep waits until d has passed or ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
