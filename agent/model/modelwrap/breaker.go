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

// BreakPolicy says when [Break] stops asking a model. The zero value is useful: fields that are 0 have the default that is
// named.
type BreakPolicy struct {
	// Failures is how many requests in a row must fail before the model is not asked any more: 5 by default.
	Failures int
	// CoolDown is how long the model is not asked then, 30 seconds by default, or as long as the provider asks for if that is
	// longer ([model.APIError.RetryAfter]). It doubles each time that the request after it fails as well, up to MaxCoolDown:
	// 10 minutes by default.
	CoolDown, MaxCoolDown time.Duration
	// AuthCoolDown is how long the model is not asked after a single answer that says that the key is wrong ([model.ErrAuth]), or
	// that there is no money left: 10 minutes by default. Waiting does not mend that; somebody has to.
	AuthCoolDown time.Duration
	// Observe, if not nil, is told of every change of state, after it.
	Observe func(ctx context.Context, m model.Info, s BreakerStatus)
}

// BreakerState is whether a [Breaker] asks its model.
type BreakerState string

const (
	// BreakerClosed means that the model is asked.
	BreakerClosed BreakerState = "closed"
	// BreakerOpen means that the model is not asked until the cool-down is over.
	BreakerOpen BreakerState = "open"
	// BreakerHalfOpen means that the cool-down is over. One request is let through; the others are refused until its end.
	BreakerHalfOpen BreakerState = "half-open"
)

// BreakerStatus says how things are with a [Breaker].
type BreakerStatus struct {
	// State says whether the model is asked.
	State BreakerState
	// Failures counts the failures in a row.
	Failures int
	// Until is when the cool-down is over. It is zero unless State is [BreakerOpen].
	Until time.Time
	// Err is the last failure, or nil if there was none since the last success.
	Err error
}

// Breaker is a model that is not asked while it keeps failing. Make one with [Break].
type Breaker struct {
	model.Model

	policy BreakPolicy

	mu     sync.Mutex
	status BreakerStatus
	// coolDown is the next one, era counts changes of state: what a request says about an earlier era does not count.
	coolDown time.Duration
	era      int
	trying   bool // half-open: the one request is under way
}

var _ model.Model = (*Breaker)(nil)

// Break returns a model that refuses requests while the model behind it keeps failing, with an [*OpenError], at once. Within a
// [Fallback] the next model is asked then, without the wait for one that does not work:
//
//	modelwrap.Fallback([]model.Model{
//		modelwrap.Break(large, modelwrap.BreakPolicy{}),
//		modelwrap.Break(small, modelwrap.BreakPolicy{}),
//	}, modelwrap.FallbackPolicy{})
//
// A failure is a [*model.APIError] that is not the request's own: no connection, a timeout or an answer that breaks off, HTTP
// 401, 402, 403, 404, 408, 429 and 5xx. What the provider has against the request (HTTP 400, a conversation that is too long), what
// the model cannot take, an error of the sink and the end of the context neither count nor end a row of failures. After a cool-down
// one request is let through; if it succeeds, all are. An error that joins those of several models, such as a
// [*FallbackError], is a failure if all of them are.
//
// Put [Retry] within it, so that a failure is one that remained. The state belongs to the value: wrap a model once, and
// share it. It panics if m is nil or a number in the policy is negative.
func Break(m model.Model, policy BreakPolicy) *Breaker {
	mustWrap("Break", m)
	p := policy
	if p.Failures < 0 || p.CoolDown < 0 || p.MaxCoolDown < 0 || p.AuthCoolDown < 0 {
		panic("modelwrap: Break: the policy has a negative value")
	}
	p.Failures = cmp.Or(p.Failures, 5)
	p.CoolDown = cmp.Or(p.CoolDown, 30*time.Second)
	p.MaxCoolDown = max(cmp.Or(p.MaxCoolDown, 10*time.Minute), p.CoolDown)
	p.AuthCoolDown = cmp.Or(p.AuthCoolDown, 10*time.Minute)
	return &Breaker{Model: m, policy: p, status: BreakerStatus{State: BreakerClosed}, coolDown: p.CoolDown}
}

// Status returns how things are. A cool-down that is over is [BreakerHalfOpen], whether there was a request since or not.
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
		return nil, err
	}
	outcome := neutral
	var failure error
	defer func() { b.settle(ctx, era, outcome, failure) }() // also if the model panics
	resp, err := b.Model.Generate(ctx, req, sink)
	switch {
	case err == nil:
		outcome = succeeded
	case ctx.Err() == nil:
		outcome, failure = judge(err), err
	}
	return resp, err
}

// admit lets a request pass, or returns an [*OpenError].
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

// settle takes note of what became of a request.
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

// become changes the state; b is locked.
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

// outcome is what a request says about the model.
type outcome int

const (
	neutral outcome = iota
	succeeded
	failed
	locked // a failure that will not pass by itself
)

// judge returns what an error says about the model that it came from.
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

// OpenError says that [Break] has not asked a model, because it kept failing. It wraps the last failure.
type OpenError struct {
	// Until is when the model is asked again. It is zero if that is being done by another request.
	Until time.Time
	// Wait is how long that was from the refused request on.
	Wait time.Duration
	// Failures is how many requests in a row have failed.
	Failures int
	// Err is the last failure.
	Err error
}

// Error implements error.
func (e *OpenError) Error() string {
	when := "while another request tries it"
	if e.Wait > 0 {
		when = fmt.Sprintf("for another %s", e.Wait.Round(time.Millisecond))
	}
	return fmt.Sprintf("modelwrap: the model is not asked %s, after failure %d in a row: %v", when, e.Failures, e.Err)
}

// Unwrap returns the last failure. If that is a single [*model.APIError] that may pass, it asks for a wait until the model is
// asked again, which [Retry] keeps.
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
