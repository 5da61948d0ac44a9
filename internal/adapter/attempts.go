// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Backoff returns the wait after failed attempt number attempt, counted from 1, or false if it
// exceeds most. asked is the wait that the endpoint asked for, or 0. Without it the waits double
// from base up to most, each shortened at random by up to a quarter.
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
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// SharedClient returns the HTTP client of models without their own. Unlike [http.DefaultClient] it
// keeps enough idle connections for many runs that talk to one endpoint.
var SharedClient = sync.OnceValue(func() *http.Client {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if ok {
		transport = transport.Clone()
	} else { // the default has been replaced
		transport = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: 90 * time.Second}
	}
	transport.MaxIdleConns = 0 // no bound
	transport.MaxIdleConnsPerHost = 256
	return &http.Client{Transport: transport, CheckRedirect: checkRedirect}
})

// Client returns the client of a model: the program's client, or the shared one. A client without a
// redirect policy gets the shared client's policy.
func Client(own *http.Client) *http.Client {
	if own == nil {
		return SharedClient()
	}
	if own.CheckRedirect == nil {
		c := *own
		c.CheckRedirect = checkRedirect
		return &c
	}
	return own
}

// checkRedirect has a redirect reported instead of followed if it would turn a request into a GET
// without its body, or take the key and the conversation to another scheme, host or port. Package
// net/http would drop the key from Authorization only, and only at another host.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if req.Method != via[0].Method || !SameOrigin(req.URL, via[0].URL) || len(via) >= 10 {
		return http.ErrUseLastResponse
	}
	return nil
}

// SameOrigin reports whether two URLs have the same scheme, host and port.
func SameOrigin(a, b *url.URL) bool { return origin(a) == origin(b) }

func origin(u *url.URL) string {
	usual := ":80"
	if u.Scheme == "https" {
		usual = ":443"
	}
	return u.Scheme + "://" + strings.TrimSuffix(strings.ToLower(u.Host), usual)
}
