package openaimodel

import (
	"context"
	"math/rand/v2"
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
