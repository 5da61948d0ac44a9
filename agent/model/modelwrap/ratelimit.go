// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/model"
)

// Rate is how much [RateLimit] lets through in an interval. At least one of Requests and Tokens must be set.
type Rate struct {
	// Requests is how many requests may begin in an interval, 0 for any number. Retries within the inner model are
	// not seen.
	Requests int
	// Tokens is how many tokens, input and output, the responses of an interval may use, 0 for any number. What a
	// request will use is known only when it has been answered, so it is taken off then, into debt if need be, and the
	// next request waits until the debt is paid. Requests that run at the same time can exceed the rate, and then make
	// up for it. A request that fails takes no tokens.
	Tokens int64
	// Per is the interval, a minute if 0.
	Per time.Duration
	// Burst is how many requests may begin at once after a pause: Requests if 0. Requests come back one by one over
	// the interval, so that in the worst case Burst and Requests begin within one; providers that count fixed windows
	// want a smaller Burst.
	Burst int
}

// RateLimit returns a model that passes requests on at no more than a rate, by a token bucket each for requests and
// tokens that is full at first. Requests that must wait do so in the order in which they came, or until their context
// ends; one that gives up takes nothing. The bucket belongs to the value: all agents that use it share it.
//
// It panics if m is nil, or the rate has a negative value or none.
func RateLimit(m model.Model, rate Rate) model.Model {
	mustWrap("RateLimit", m)
	if rate.Requests < 0 || rate.Tokens < 0 || rate.Per < 0 || rate.Burst < 0 || rate.Requests == 0 && rate.Tokens == 0 {
		panic(fmt.Sprintf("modelwrap: RateLimit: Requests is %d, Tokens is %d, Per is %s, Burst is %d: all must be 0 or more, and one of Requests and Tokens set",
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

	// turn is held by the request that is next. Those who wait for room in a channel are served in order.
	turn chan struct{}

	mu               sync.Mutex // guards the buckets
	requests, tokens bucket
}

func (l *rateLimit) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	if !l.begin(ctx) {
		return nil, ended(ctx, nil)
	}
	resp, err := l.Model.Generate(ctx, req, sink)
	if err == nil {
		l.mu.Lock()
		l.tokens.take(time.Now(), resp.Usage.TotalTokens())
		l.mu.Unlock()
	}
	return resp, err
}

// begin waits until a request may begin. It returns false if ctx has ended before that.
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
		// What others take in the meantime makes the wait longer, never shorter.
		if sleep(ctx, wait); ctx.Err() != nil {
			return false
		}
	}
}

// take takes a request off, or returns how long there is none.
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

// bucket is a token bucket, in terms of time: what is taken off is the time that it takes to come back.
type bucket struct {
	unit float64       // nanoseconds in which one comes back; 0 means that there is no bound
	span time.Duration // in which an empty bucket is full again
	full time.Time     // when it is full again, if nothing more is taken
}

func (b *bucket) init(per time.Duration, limit, size int64) {
	if limit > 0 {
		b.unit = float64(per) / float64(limit)
		b.span = time.Duration(b.unit * float64(size))
	}
}

// wait returns how long it takes until the bucket has one, or 0 or less if it does.
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
