// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// Backoff returns the wait after failed attempt number attempt, counted from 1, or false if it exceeds most. asked is the
// wait that the endpoint asked for, or 0. Without it the waits double from base up to most, each shortened at random by up
// to a quarter.
func Backoff(attempt int, base, most, asked time.Duration) (time.Duration, bool) {
	if asked > 0 {
		return asked, asked <= most
	}
	d := base
	for ; attempt > 1 && d < most; attempt-- {
		d *= 2
	}
	d = min(d, most)
	return d - time.Duration(rand.Float64()*float64(d)/4), true
}

// Sleep waits for d or for ctx.
func Sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// SharedClient returns the HTTP client of models that have none of their own. Unlike [http.DefaultClient] it keeps enough
// idle connections for many runs that talk to one endpoint.
var SharedClient = sync.OnceValue(func() *http.Client {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if ok {
		transport = transport.Clone()
	} else { // the default has been replaced
		transport = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: 90 * time.Second}
	}
	transport.MaxIdleConns = 0 // no bound
	transport.MaxIdleConnsPerHost = 256
	return &http.Client{
		Transport: transport,
		// A redirect is reported instead of followed if it would turn a request into a GET without its body, or take the key,
		// which net/http drops only from Authorization, and the conversation to another host or out of TLS.
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			from := via[0].URL
			if req.Method != via[0].Method || req.URL.Hostname() != from.Hostname() || from.Scheme == "https" && req.URL.Scheme != "https" || len(via) >= 10 {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
})
