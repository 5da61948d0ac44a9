// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/model"
)

// BreakPolicy determines when [Break] stops sending requests to a model. The zero value is usable:
// fields that are 0 have the defaults given below.
type BreakPolicy struct {
	// Failures is the number of consecutive failures that opens the breaker. The default is 5.
	Failures int
	// CoolDown is how long no requests are sent after that. The default is 30 seconds, or longer if
	// the provider asks for more ([model.APIError.RetryAfter]). It doubles each time the first
	// request after a cool-down fails too, up to MaxCoolDown, which is 10 minutes by default.
	CoolDown, MaxCoolDown time.Duration
	// AuthCoolDown is how long no requests are sent after a single response that the key is invalid
	// ([model.ErrAuth]) or that the account has no credit. The default is 10 minutes. Someone has
	// to fix such a failure.
	AuthCoolDown time.Duration
	// Observe, if not nil, is called after every change of state.
	Observe func(ctx context.Context, m model.Info, s BreakerStatus)
}

// BreakerState is the state of a [Breaker].
type BreakerState string

const (
	// BreakerClosed means that requests are sent to the model.
	BreakerClosed BreakerState = "closed"
	// BreakerOpen means that no requests are sent until the cool-down is over.
	BreakerOpen BreakerState = "open"
	// BreakerHalfOpen means that the cool-down is over. One request is sent. Others fail until it
	// has ended.
	BreakerHalfOpen BreakerState = "half-open"
)

// BreakerStatus describes the state of a [Breaker].
type BreakerStatus struct {
	// State tells whether requests are sent.
	State BreakerState
	// Failures is the number of consecutive failures.
	Failures int
	// Until is the end of the cool-down. It is zero unless State is [BreakerOpen].
	Until time.Time
	// Err is the last failure, or nil if there was none since the last success.
	Err error
}

// Breaker is a model that gets no requests while it keeps failing. [Break] makes one.
type Breaker struct {
	model.Model

	policy BreakPolicy

	mu     sync.Mutex
	status BreakerStatus
	// coolDown is the next cool-down. era counts changes of state: results of requests from an
	// earlier era are ignored.
	coolDown time.Duration
	era      int
	trying   bool // half-open: a trial request is in progress
}

var _ model.Model = (*Breaker)(nil)

// Break returns a model that fails at once with an [*OpenError] while m keeps failing. Within a
// [Fallback], the next model is then asked without waiting for one that does not work:
//
//	modelwrap.Fallback([]model.Model{
//		modelwrap.Break(large, modelwrap.BreakPolicy{}),
//		modelwrap.Break(small, modelwrap.BreakPolicy{}),
//	}, modelwrap.FallbackPolicy{})
//
// A failure is a [*model.APIError] that is not caused by the request: a failed connection, a
// timeout, a response that breaks off, or HTTP 401, 402, 403, 404, 408, 429 or 5xx. Errors caused
// by the request (HTTP 400, a conversation that is too long, something the model does not support),
// errors of the sink and the end of the context do not count as failures and do not reset the
// count. After a cool-down one request is sent. If it succeeds, all are sent again. An error that
// joins those of several models, such as a [*FallbackError], is a failure if all of them are.
//
// Put [Retry] inside it, so that only the failures left after retrying count. The state belongs to
// the returned value. Wrap a model once, and share the result. Break panics if m is nil or a number
// in the policy is negative.
func Break(m model.Model, policy BreakPolicy) *Breaker {
	mustWrap("Break", m)
	p := policy
	if p.Failures < 0 || p.CoolDown < 0 || p.MaxCoolDown < 0 || p.AuthCoolDown < 0 {
		panic("modelwrap: Break: policy has a negative value")
	}
	p.Failures = cmp.Or(p.Failures, 5)
	p.CoolDown = cmp.Or(p.CoolDown, 30*time.Second)
	p.MaxCoolDown = max(cmp.Or(p.MaxCoolDown, 10*time.Minute), p.CoolDown)
	p.AuthCoolDown = cmp.Or(p.AuthCoolDown, 10*time.Minute)
	return &Breaker{Model: m, policy: p, status: BreakerStatus{State: BreakerClosed}, coolDown: p.CoolDown}
}

// Status returns the current status. A breaker whose cool-down is over is [BreakerHalfOpen], even
// if there was no request since.
func (b *Breaker) Status() BreakerStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.status
	if s.State == BreakerOpen && !time.Now().Before(s.Until) {
		s.State, s.Until = BreakerHalfOpen, time.Time{}
	}
	return s
}

// Generate implements [model.Model].
func (b *Breaker) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	era, err := b.admit(ctx)
	if err != nil {
		model.Unsent(ctx)
		return nil, err
	}
	outcome := neutral
	var failure error
	defer func() { b.settle(ctx, era, outcome, failure) }() // even if the model panics
	resp, err := model.Ask(ctx, b.Model, req, sink)
	switch {
	case err == nil:
		outcome = succeeded
	case ctx.Err() == nil:
		outcome, failure = judge(err), err
	}
	return resp, err
}

// admit lets a request pass or returns an [*OpenError].
func (b *Breaker) admit(ctx context.Context) (era int, err error) {
	b.mu.Lock()
	now, changed := time.Now(), false
	if b.status.State == BreakerOpen && !now.Before(b.status.Until) {
		b.become(BreakerHalfOpen, time.Time{})
		changed = true
	}
	if b.status.State == BreakerOpen || b.trying {
		err = &OpenError{Until: b.status.Until, Wait: max(b.status.Until.Sub(now), 0), Failures: b.status.Failures, Err: b.status.Err}
	}
	b.trying = b.trying || b.status.State == BreakerHalfOpen
	era, status := b.era, b.status
	b.mu.Unlock()
	if changed {
		b.tell(ctx, status)
	}
	return era, err
}

// settle records the outcome of a request.
func (b *Breaker) settle(ctx context.Context, era int, o outcome, failure error) {
	b.mu.Lock()
	if era != b.era {
		b.mu.Unlock()
		return
	}
	s := &b.status
	before := s.State
	b.trying = false
	switch o {
	case succeeded:
		s.Failures, s.Err, b.coolDown = 0, nil, b.policy.CoolDown
		if before != BreakerClosed {
			b.become(BreakerClosed, time.Time{})
		}
	case failed, locked:
		s.Failures++
		s.Err = failure
		wait := max(b.coolDown, retryAfter(failure))
		if o == locked {
			wait = max(b.policy.AuthCoolDown, retryAfter(failure))
		}
		if o == locked || before == BreakerHalfOpen || s.Failures >= b.policy.Failures {
			b.coolDown = min(b.coolDown*2, b.policy.MaxCoolDown)
			b.become(BreakerOpen, time.Now().Add(wait))
		}
	}
	status := b.status
	b.mu.Unlock()
	if status.State != before {
		b.tell(ctx, status)
	}
}

// become changes the state. b must be locked.
func (b *Breaker) become(state BreakerState, until time.Time) {
	b.status.State, b.status.Until = state, until
	b.trying = false
	b.era++
}

func (b *Breaker) tell(ctx context.Context, s BreakerStatus) {
	if b.policy.Observe != nil {
		b.policy.Observe(ctx, b.Info(), s)
	}
}

// outcome is what the result of a request says about the model.
type outcome int

const (
	neutral outcome = iota
	succeeded
	failed
	locked // a failure that does not pass without intervention
)

// judge classifies an error of the model.
func judge(err error) outcome {
	o := neutral
	for e := range apiErrors(err) {
		switch this := judgeOne(e); {
		case this == neutral:
			return neutral
		case o == neutral, this == failed:
			o = this
		}
	}
	return o
}

func judgeOne(e *model.APIError) outcome {
	switch {
	case errors.Is(e, model.ErrContextLength), errors.Is(e, model.ErrUnsupported):
		return neutral
	case errors.Is(e, model.ErrAuth), errors.Is(e, model.ErrRateLimited) && !e.Retryable:
		return locked
	case e.Retryable, e.Status == 0, e.Status == http.StatusNotFound, e.Status >= 500:
		return failed
	}
	return neutral
}

// OpenError reports that [Break] did not send a request, because the model kept failing. It wraps
// the last failure.
type OpenError struct {
	// Until is when the next request will be sent. It is zero if a trial request is in progress.
	Until time.Time
	// Wait is the time from the failed request to Until.
	Wait time.Duration
	// Failures is the number of consecutive failures.
	Failures int
	// Err is the last failure.
	Err error
}

// Error implements error.
func (e *OpenError) Error() string {
	when := "while a trial request is in progress"
	if e.Wait > 0 {
		when = fmt.Sprintf("for %s", e.Wait.Round(time.Millisecond))
	}
	return fmt.Sprintf("modelwrap: circuit breaker is open %s (consecutive failures: %d): %v", when, e.Failures, e.Err)
}

// Unwrap returns the last failure. If it is a single retryable [*model.APIError], its RetryAfter is
// the time until the next request will be sent, so that [Retry] waits for it.
func (e *OpenError) Unwrap() error {
	var last *model.APIError
	for found := range apiErrors(e.Err) {
		if last != nil || !found.Retryable {
			return e.Err
		}
		last = found
	}
	if last == nil {
		return e.Err
	}
	again := *last
	again.RetryAfter = e.Wait
	return &again
}
