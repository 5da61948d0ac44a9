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

// Why [FetchMedia] does not download something. A [*FetchError] wraps the one that fits.
var (
	// ErrPrivateAddress means that a URL leads to an address that is not public.
	ErrPrivateAddress = errors.New("the address is not public")
	// ErrHostNotAllowed means that a URL, or a redirect, leads to a host that the policy does not list.
	ErrHostNotAllowed = errors.New("the host is not allowed")
	// ErrMediaTooLarge means that there is more than the policy allows.
	ErrMediaTooLarge = errors.New("too large")
)

// maxRedirects is how often a server may send a download elsewhere.
const maxRedirects = 5

// guardedClient returns a client that connects to public addresses and those that the policy allows.
func guardedClient(p FetchPolicy) *http.Client {
	dialer := &net.Dialer{
		Timeout: p.Timeout,
		// It is told the address that the name was resolved to, just before the connection is made.
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			return p.checkAddress(address)
		},
	}
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    10 * time.Second,
			ForceAttemptHTTP2:      true,
			DisableKeepAlives:      true, // nothing outlives the request
			DisableCompression:     true, // media are compressed already; what unpacks to more is not asked for
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			if req.URL.Scheme != "https" && via[len(via)-1].URL.Scheme == "https" {
				return errors.New("it is redirected out of TLS")
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

// checkURL returns why the policy forbids a URL, as far as the URL tells.
func (p *FetchPolicy) checkURL(u *url.URL) error {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("the scheme is %q: only http, https and data can be fetched", u.Scheme)
	case host == "":
		return errors.New("it names no host")
	case u.User != nil:
		return errors.New("it has credentials in it")
	case len(p.Hosts) > 0 && !slices.ContainsFunc(p.Hosts, func(allowed string) bool {
		allowed = strings.ToLower(allowed)
		return host == strings.TrimPrefix(allowed, ".") || strings.HasPrefix(allowed, ".") && strings.HasSuffix(host, allowed)
	}):
		return fmt.Errorf("%w: %s", ErrHostNotAllowed, host)
	}
	// The dialer would check an address as well, but it sees ::ffff:192.0.2.1 as 192.0.2.1.
	if ip, err := netip.ParseAddr(host); err == nil {
		return p.checkIP(ip)
	}
	return nil
}
