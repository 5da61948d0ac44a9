// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ponte-go/ponte/agent/model"
)

// RetryPolicy says how often and when [Retry] asks again. The zero value is useful: fields that are 0 have the default
// that is named.
type RetryPolicy struct {
	// Attempts is how often a request is made at most: 3 by default, 1 for no retries.
	Attempts int
	// Base is the longest first wait, 500 ms by default. Each further one may be twice as long, up to Max (30 s by
	// default); how long it is within these bounds is left to chance, so that clients which failed together do not
	// come back together ("full jitter").
	//
	// If the provider asks for a certain wait ([model.APIError.RetryAfter]), the wait is that, and at most Base more;
	// if it asks for more than Max, the error is returned at once.
	Base, Max time.Duration
	// Total bounds all waits of a request together: 2 minutes by default. A wait that would exceed it is not begun;
	// the error is returned instead.
	Total time.Duration
	// On says whether an error is worth another attempt. Nil means what a [*model.APIError] says with Retryable; of
	// several errors, as those of a [*FallbackError], one is enough.
	On func(error) bool
	// Observe, if not nil, is told of every failure after which Retry waits, and how long it will.
	Observe func(ctx context.Context, err error, wait time.Duration)
}

// Retry returns a model that makes a request again after errors which may pass. It does so only while no delta has reached
// the caller's sink. When ctx ends, so does a wait, at once. After several attempts the error says how many there were.
//
// Adapters that have retries of their own, as openaimodel does, multiply with it: tell one of the two to make a single
// attempt. It panics if m is nil or a number in the policy is negative.
func Retry(m model.Model, policy RetryPolicy) model.Model {
	mustWrap("Retry", m)
	if policy.Attempts < 0 || policy.Base < 0 || policy.Max < 0 || policy.Total < 0 {
		panic("modelwrap: Retry: the policy has a negative value")
	}
	p := policy
	if p.Attempts == 0 {
		p.Attempts = 3
	}
	if p.Base == 0 {
		p.Base = 500 * time.Millisecond
	}
	if p.Max == 0 {
		p.Max = 30 * time.Second
	}
	if p.Total == 0 {
		p.Total = 2 * time.Minute
	}
	if p.On == nil {
		p.On = retryable
	}
	return &retry{m, p}
}

type retry struct {
	model.Model

	policy RetryPolicy
}

func (r *retry) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	seen, sink := watch(sink)
	left := r.policy.Total
	for n := 1; ; n++ {
		resp, err := r.Model.Generate(ctx, req, sink)
		if err == nil || seen.saw() {
			return resp, err
		}
		if ctx.Err() != nil {
			return nil, ended(ctx, err)
		}
		if n < r.policy.Attempts && r.policy.On(err) {
			if wait, ok := r.policy.wait(n, err); ok && wait <= left {
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

// wait returns how long to wait after the n-th attempt (from 1) failed, and false if the provider asks for too much.
func (p *RetryPolicy) wait(n int, err error) (time.Duration, bool) {
	if asked := retryAfter(err); asked > 0 {
		return asked + chance(p.Base), asked <= p.Max
	}
	longest := min(p.Base, p.Max)
	for ; n > 1; n-- {
		longest = min(longest, p.Max/2) * 2
	}
	return chance(longest), true
}

// chance returns a duration between 0 and longest.
func chance(longest time.Duration) time.Duration {
	return time.Duration(rand.Float64() * float64(longest))
}

func retryable(err error) bool {
	for e := range apiErrors(err) {
		if e.Retryable {
			return true
		}
	}
	return false
}

// retryAfter returns how long to wait until the first of those who failed will listen again.
func retryAfter(err error) time.Duration {
	asked := time.Duration(-1)
	for e := range apiErrors(err) {
		if e.Retryable && (asked < 0 || e.RetryAfter < asked) {
			asked = max(e.RetryAfter, 0)
		}
	}
	return max(asked, 0)
}

// sleep waits for d or for ctx.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
