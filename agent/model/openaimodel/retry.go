package openaimodel

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// wait returns how long to wait after the attempt-th attempt (from 1) failed, and false if that is longer than the
// policy allows. asked is what the endpoint asked for, or 0.
func (r Retry) wait(attempt int, asked time.Duration) (time.Duration, bool) {
	if asked > 0 {
		return asked, asked <= r.Max
	}
	d := r.Base
	for ; attempt > 1 && d < r.Max; attempt-- {
		d *= 2
	}
	d = min(d, r.Max)
	return d - time.Duration(rand.Float64()*float64(d)/4), true
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

// retryAfter reads how long an answer asks to wait: Retry-After-Ms in milliseconds, or Retry-After as seconds or as a
// date (RFC 9110, section 10.2.3). It returns 0 if the answer does not ask, or asks for nonsense.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return duration(ms, time.Millisecond)
	}
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return duration(seconds, time.Second)
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(date.Sub(now), 0)
	}
	return 0
}

// duration returns n units, or 0 for what is no duration of use.
func duration(n float64, unit time.Duration) time.Duration {
	const longest = 365 * 24 * time.Hour
	if !(n > 0) {
		return 0
	}
	if n > float64(longest/unit) {
		return longest
	}
	return time.Duration(n * float64(unit))
}
