// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/model"
)

// Rate is the rate of a [RateLimit]. At least one of Requests and Tokens must be set.
type Rate struct {
	// Requests is the number of requests that may start in an interval. 0 means no limit. Retries
	// of the inner model are not counted.
	Requests int
	// Tokens is the number of input and output tokens that responses may use in an interval. 0
	// means no limit. The usage of a request is known only afterwards. It is then subtracted, which
	// may leave a debt, and the next request waits until the debt is paid. Concurrent requests can
	// therefore exceed the rate for a while. A failed request uses no tokens.
	Tokens int64
	// Per is the interval. The default is a minute.
	Per time.Duration
	// Burst is the number of requests that may start at once after a pause. The default is
	// Requests. Places become free one by one over the interval, so up to Burst plus Requests
	// requests may start within one interval. Providers that count in fixed windows need a smaller
	// Burst.
	Burst int
}

// RateLimit returns a model that limits the rate of requests and tokens with a token bucket for
// each, which is full at first. Requests that must wait are served in order, until their context
// ends. A request that gives up uses nothing. The buckets belong to the returned value and are
// shared by all agents that use it.
//
// RateLimit panics if m is nil, or if the rate has a negative value or no limit.
func RateLimit(m model.Model, rate Rate) model.Model {
	mustWrap("RateLimit", m)
	if rate.Requests < 0 || rate.Tokens < 0 || rate.Per < 0 || rate.Burst < 0 || rate.Requests == 0 && rate.Tokens == 0 {
		panic(fmt.Sprintf("modelwrap: RateLimit: Requests %d, Tokens %d, Per %s and Burst %d must not be negative, and Requests or Tokens must be set",
			rate.Requests, rate.Tokens, rate.Per, rate.Burst))
	}
	if rate.Per == 0 {
		rate.Per = time.Minute
	}
	if rate.Burst == 0 {
		rate.Burst = rate.Requests
	}
	l := &rateLimit{Model: m, turn: make(chan struct{}, 1)}
	l.requests.init(rate.Per, int64(rate.Requests), int64(rate.Burst))
	l.tokens.init(rate.Per, rate.Tokens, rate.Tokens)
	return l
}

type rateLimit struct {
	model.Model

	// turn is held by the next request. Goroutines that wait to send on a channel are served in
	// order.
	turn chan struct{}

	mu               sync.Mutex // guards the buckets
	requests, tokens bucket
}

func (l *rateLimit) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	if !l.begin(ctx) {
		model.Unsent(ctx)
		return nil, ended(ctx, nil)
	}
	resp, err := model.Ask(ctx, l.Model, req, sink)
	if err == nil {
		l.mu.Lock()
		l.tokens.take(time.Now(), resp.Usage.TotalTokens())
		l.mu.Unlock()
	}
	return resp, err
}

// begin waits until a request may start. It returns false if ctx ends first.
func (l *rateLimit) begin(ctx context.Context) bool {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-l.turn }()
	for {
		wait := l.take()
		if wait <= 0 {
			return true
		}
		// Other requests can make the wait longer, never shorter.
		if sleep(ctx, wait); ctx.Err() != nil {
			return false
		}
	}
}

// take takes a request from the bucket, or returns how long to wait for one.
func (l *rateLimit) take() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	wait := max(l.requests.wait(now), l.tokens.wait(now))
	if wait <= 0 {
		l.requests.take(now, 1)
	}
	return wait
}

// bucket is a token bucket, measured in time: taking something moves the time at which the bucket
// is full again.
type bucket struct {
	unit float64       // nanoseconds per token; 0 means no limit
	span time.Duration // time in which an empty bucket becomes full
	full time.Time     // when it is full if nothing more is taken
}

func (b *bucket) init(per time.Duration, limit, size int64) {
	if limit > 0 {
		b.unit = float64(per) / float64(limit)
		b.span = time.Duration(b.unit * float64(size))
	}
}

// wait returns how long to wait until the bucket has a token. It is 0 or negative if it has one.
func (b *bucket) wait(now time.Time) time.Duration {
	if b.unit == 0 {
		return 0
	}
	return max(b.full.Sub(now), 0) + time.Duration(b.unit) - b.span
}

func (b *bucket) take(now time.Time, n int64) {
	if b.unit == 0 {
		return
	}
	if b.full.Before(now) {
		b.full = now
	}
	b.full = b.full.Add(time.Duration(b.unit * float64(n)))
}
