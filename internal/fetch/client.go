// SPDX-License-Identifier: Apache-2.0

package fetch

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

	"github.com/ponte-go/ponte/internal/adapter"
)

// Reasons why something is not downloaded.
var (
	// ErrPrivateAddress means that a URL leads to an address that is not public.
	ErrPrivateAddress = errors.New("address is not public")
	// ErrHostNotAllowed means that a URL, or a redirect, leads to a host that the policy does not
	// allow.
	ErrHostNotAllowed = errors.New("host is not allowed")
	// ErrTooLarge means that the size exceeds the limit of the policy.
	ErrTooLarge = errors.New("too large")
)

// DefaultUserAgent is sent if the policy has no User-Agent.
const DefaultUserAgent = "ponte-fetch"

// maxRedirects is the maximum number of redirects.
const maxRedirects = 5

// Policy determines what is downloaded. MaxBytes and Timeout are required.
type Policy struct {
	// Hosts, if not empty, lists the allowed hosts, as [MatchHost] reads them. Denied lists hosts
	// that are never allowed. Both apply to redirects too.
	Hosts, Denied []string
	// AllowPrivate lists address ranges that are allowed although they are not public.
	AllowPrivate []netip.Prefix
	// MaxBytes limits the size of the content, after decompression.
	MaxBytes int64
	// Partial returns the first MaxBytes of a longer content instead of an error.
	Partial bool
	// Gzip accepts compressed responses.
	Gzip bool
	// Timeout limits the duration of the download, redirects included.
	Timeout time.Duration
	// Header is sent with the request, and after a redirect only to the same scheme, host and port.
	Header http.Header
	// Redirect, if not nil, is asked about each redirect that would otherwise be followed. Its
	// error ends the download.
	Redirect func(ctx context.Context, from, to *url.URL) error
	// Resolver resolves names. If nil, it is the default.
	Resolver *net.Resolver
}

// guardedClient returns a client that connects only to public addresses and those allowed by the
// policy.
func guardedClient(p *Policy) *http.Client {
	dialer := &net.Dialer{
		Timeout:  p.Timeout,
		Resolver: p.Resolver,
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
			DisableCompression:     true, // decompressed by us, within the limit
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: p.checkRedirect,
	}
}

func (p *Policy) checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	from := via[len(via)-1].URL
	if req.URL.Scheme != "https" && from.Scheme == "https" {
		return errors.New("redirected from HTTPS to HTTP")
	}
	if !adapter.SameOrigin(req.URL, via[0].URL) {
		for name := range p.Header {
			req.Header.Del(name)
		}
		req.Header.Set("User-Agent", DefaultUserAgent)
	}
	req.Header.Del("Referer")
	if err := p.CheckURL(req.URL); err != nil {
		return err
	}
	if p.Redirect != nil {
		return p.Redirect(req.Context(), from, req.URL)
	}
	return nil
}

// CheckURL returns an error if the policy forbids a URL, without resolving it.
func (p *Policy) CheckURL(u *url.URL) error {
	host := HostOf(u)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("scheme %q is not supported; use http, https or data", u.Scheme)
	case host == "":
		return errors.New("URL has no host")
	case u.User != nil:
		return errors.New("URL contains credentials")
	case len(p.Hosts) > 0 && !MatchHost(p.Hosts, host), MatchHost(p.Denied, host):
		return fmt.Errorf("%w: %s", ErrHostNotAllowed, host)
	}
	// The dialer checks addresses too, but it sees ::ffff:192.0.2.1 as 192.0.2.1.
	if ip, err := netip.ParseAddr(host); err == nil {
		return p.CheckIP(ip)
	}
	return nil
}

// HostOf returns the host of a URL in lower case, without port and final dot.
func HostOf(u *url.URL) string { return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".") }

// MatchHost reports whether a list contains a host: "example.com" is that host, ".example.com" that
// domain and its subdomains.
func MatchHost(list []string, host string) bool {
	return slices.ContainsFunc(list, func(listed string) bool {
		listed = strings.ToLower(listed)
		return host == strings.TrimPrefix(listed, ".") || strings.HasPrefix(listed, ".") && strings.HasSuffix(host, listed)
	})
}
