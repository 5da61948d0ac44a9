// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Reasons why [FetchMedia] does not download something. A [*FetchError] wraps one of them.
var (
	// ErrPrivateAddress means that a URL leads to an address that is not public.
	ErrPrivateAddress = errors.New("address is not public")
	// ErrHostNotAllowed means that a URL, or a redirect, leads to a host that is not listed in the policy.
	ErrHostNotAllowed = errors.New("host is not allowed")
	// ErrMediaTooLarge means that the size exceeds a limit of the policy.
	ErrMediaTooLarge = errors.New("too large")
)

// maxRedirects is the maximum number of redirects.
const maxRedirects = 5

// guardedClient returns a client that connects only to public addresses and those allowed by the policy.
func guardedClient(p FetchPolicy) *http.Client {
	dialer := &net.Dialer{
		Timeout: p.Timeout,
		// Called with the resolved address, just before the connection is made.
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			return p.checkAddress(address)
		},
	}
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    10 * time.Second,
			ForceAttemptHTTP2:      true,
			DisableKeepAlives:      true, // no connection outlives the request
			DisableCompression:     true, // media is compressed already; avoids decompression bombs
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			if req.URL.Scheme != "https" && via[len(via)-1].URL.Scheme == "https" {
				return errors.New("redirected from HTTPS to HTTP")
			}
			if req.URL.Host != via[0].URL.Host {
				for name := range p.Header {
					req.Header.Del(name)
				}
				req.Header.Set("User-Agent", userAgent)
			}
			req.Header.Del("Referer")
			return p.checkURL(req.URL)
		},
	}
}

// checkURL returns an error if the policy forbids a URL, as far as can be told without resolving it.
func (p *FetchPolicy) checkURL(u *url.URL) error {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("scheme %q is not supported; use http, https or data", u.Scheme)
	case host == "":
		return errors.New("URL has no host")
	case u.User != nil:
		return errors.New("URL contains credentials")
	case len(p.Hosts) > 0 && !slices.ContainsFunc(p.Hosts, func(allowed string) bool {
		allowed = strings.ToLower(allowed)
		return host == strings.TrimPrefix(allowed, ".") || strings.HasPrefix(allowed, ".") && strings.HasSuffix(host, allowed)
	}):
		return fmt.Errorf("%w: %s", ErrHostNotAllowed, host)
	}
	// The dialer checks addresses too, but it sees ::ffff:192.0.2.1 as 192.0.2.1.
	if ip, err := netip.ParseAddr(host); err == nil {
		return p.checkIP(ip)
	}
	return nil
}
