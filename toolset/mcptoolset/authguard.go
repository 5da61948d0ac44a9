// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ponte-go/ponte/internal/adapter"
	"github.com/ponte-go/ponte/internal/fetch"
)

// authGuard sends the requests of a sign-in. An MCP server names the addresses, so they could be
// anything that this machine reaches: requests go to the server's own origin, or with https to
// public addresses. If the server itself is not at a public address, others that are not public are
// allowed too, and http to this machine.
type authGuard struct {
	server *url.URL
	home   *place
	// next makes the requests that are allowed. direct makes those to public addresses if no proxy
	// does; it checks the address when the connection is made. It is nil if the program has set a
	// client.
	next, direct http.RoundTripper
}

// public allows public addresses only.
var public fetch.Policy

// errAuthAddress reports a sign-in address that may not be used.
var errAuthAddress = errors.New("the server names a sign-in address that is not allowed")

// place notes where a server is: whoever owns its name can change what that resolves to.
type place struct{ known, public atomic.Bool }

// trace returns a context for a request to the server, which notes the address that answers.
func (p *place) trace(ctx context.Context, by http.RoundTripper, r *http.Request) context.Context {
	if t, ok := by.(*http.Transport); ok && t.Proxy != nil {
		if proxy, err := t.Proxy(r); proxy != nil || err != nil { // its address is not the server's
			p.known.Store(true)
			p.public.Store(true)
			return ctx
		}
	}
	connected := func(info httptrace.GotConnInfo) {
		if at, err := netip.ParseAddrPort(info.Conn.RemoteAddr().String()); err == nil {
			p.known.Store(true)
			if public.CheckIP(at.Addr().Unmap()) == nil {
				p.public.Store(true)
			}
		}
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: connected})
}

// near reports whether the server is not at a public address. A name counts as public once a public
// address, or a proxy, has answered for it.
func (g *authGuard) near(ctx context.Context) bool {
	host := g.server.Hostname()
	if _, err := netip.ParseAddr(host); err != nil && !isLoopback(host) && g.home.known.Load() {
		return !g.home.public.Load()
	}
	return !isPublic(ctx, host)
}

// authClient returns the client for the requests of a sign-in with a server.
func authClient(base *http.Client, server *url.URL, home *place) *http.Client {
	g := &authGuard{server: server, home: home}
	c := &http.Client{Timeout: 30 * time.Second}
	if base != nil {
		*c = *base
	}
	if g.next = c.Transport; g.next == nil {
		g.next = http.DefaultTransport
		direct := http.DefaultTransport.(*http.Transport).Clone()
		direct.Proxy, direct.DisableKeepAlives = nil, true
		dialer := &net.Dialer{Timeout: 30 * time.Second, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err == nil {
				err = public.CheckIP(at.Addr())
			}
			return err
		}}
		direct.DialContext = dialer.DialContext
		g.direct = direct
	}
	c.Transport = g
	c.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		switch {
		case len(via) >= 5:
			return errors.New("too many redirects")
		case !sameOrigin(r.URL, via[0].URL): // what is sent may be secret
			from, to := shownOrigin(via[0].URL), shownOrigin(r.URL)
			return fmt.Errorf("%w: %s redirects to %s", errAuthAddress, from, to)
		}
		return nil
	}
	return c
}

// RoundTrip implements [http.RoundTripper].
func (g *authGuard) RoundTrip(r *http.Request) (*http.Response, error) {
	next, err := g.route(r)
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	return next.RoundTrip(r)
}

// route returns what makes a request.
func (g *authGuard) route(r *http.Request) (http.RoundTripper, error) {
	if sameOrigin(r.URL, g.server) {
		return g.next, nil
	}
	near := g.near(r.Context())
	if err := checkAuthURL(r.URL, near); err != nil {
		return nil, err
	}
	if near {
		return g.next, nil
	}
	if !isPublic(r.Context(), r.URL.Hostname()) {
		return nil, fmt.Errorf("%w: %s is not public", errAuthAddress, shownOrigin(r.URL))
	}
	if proxy, err := http.ProxyFromEnvironment(r); g.direct != nil && proxy == nil && err == nil {
		return g.direct, nil
	}
	return g.next, nil
}

// checkAuthURL checks an address by itself. near reports that the server is not public.
func checkAuthURL(u *url.URL, near bool) error {
	if u.Scheme == "https" && u.Host != "" && u.User == nil || near && u.Scheme == "http" && isLoopback(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("%w: %s must be an https address", errAuthAddress, shownOrigin(u))
}

// checkVisit checks the address that the user is sent to.
func (g *authGuard) checkVisit(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("%w: it is not valid", errAuthAddress)
	}
	if sameOrigin(u, g.server) {
		return nil
	}
	near := g.near(ctx)
	if err := checkAuthURL(u, near); err != nil {
		return err
	}
	if !near && !isPublic(ctx, u.Hostname()) {
		return fmt.Errorf("%w: %s is not public", errAuthAddress, shownOrigin(u))
	}
	return nil
}

// sameOrigin reports whether two addresses have the same scheme, host and port, and the first has
// no user.
func sameOrigin(a, b *url.URL) bool { return a.User == nil && adapter.SameOrigin(a, b) }

func shownOrigin(u *url.URL) string { return visible(u.Scheme+"://"+u.Host, 200) }

// isLoopback reports whether a host is this machine by its name.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// isPublic reports whether a host is at public addresses only. One that cannot be resolved counts
// as public: nothing is reached.
func isPublic(ctx context.Context, host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return public.CheckIP(ip) == nil
	}
	if host = strings.ToLower(strings.TrimSuffix(host, ".")); host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return false
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return true
	}
	for _, ip := range ips {
		if public.CheckIP(ip.Unmap()) != nil {
			return false
		}
	}
	return true
}
