// SPDX-License-Identifier: Apache-2.0

package acphttp

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/ponte-go/ponte/internal/hide"
)

// Guard decides which requests are served.
type Guard struct {
	// Token is required in every request, as "Authorization: Bearer TOKEN". It has at least 16
	// bytes: crypto/rand.Text makes one.
	Token string
	// Origins are the web pages whose scripts may connect, such as "https://editor.example".
	// Requests with any other Origin header are refused. Programs that are not browsers send none.
	Origins []string
	// Hosts are the names that requests may use for this server, without a port. By default they
	// are localhost and the loopback addresses. The check keeps pages away that have their own name
	// resolved to this machine.
	Hosts []string
}

var loopback = []string{"localhost", "127.0.0.1", "::1"}

// minToken is the least length of a token.
const minToken = 16

// Check returns the HTTP status to refuse a request with, or 0 if it is to be served. token is the
// request's token, if it is not in its Authorization header.
func (g *Guard) Check(r *http.Request, token string) int {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	hosts := g.Hosts
	if len(hosts) == 0 {
		hosts = loopback
	}
	if !slices.Contains(hosts, host) {
		return http.StatusMisdirectedRequest
	}
	for _, origin := range r.Header.Values("Origin") {
		if !slices.Contains(g.Origins, origin) {
			return http.StatusForbidden
		}
	}
	if given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		token = given
	}
	want, got := sha256.Sum256([]byte(g.Token)), sha256.Sum256([]byte(token))
	if len(g.Token) < minToken || subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
		return http.StatusUnauthorized
	}
	return 0
}

// check returns what is wrong with the guard.
func (g *Guard) check() error {
	var errs []error
	if len(g.Token) < minToken {
		errs = append(errs, errors.New("acphttp: Guard.Token has fewer than 16 bytes: "+
			"make one with crypto/rand.Text"))
	}
	if g.Token != strings.TrimSpace(g.Token) || strings.ContainsFunc(g.Token, unicode.IsControl) {
		errs = append(errs, errors.New("acphttp: Guard.Token begins or ends with white space, "+
			"or has control characters: no request can have it"))
	}
	for _, origin := range g.Origins {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || u.Scheme+"://"+u.Host != origin {
			errs = append(errs, fmt.Errorf("acphttp: Guard.Origins has %q: "+
				"use a scheme and a host, such as https://editor.example", origin))
		}
	}
	for _, name := range g.Hosts {
		if _, err := netip.ParseAddr(name); err == nil {
			continue
		}
		if name == "" || name != strings.ToLower(name) || strings.ContainsAny(name, "/: *[]") {
			errs = append(errs, fmt.Errorf("acphttp: Guard.Hosts has %q: "+
				"use a name in lower case, without a port", name))
		}
	}
	return errors.Join(errs...)
}

// Format implements [fmt.Formatter]. It hides the token.
func (g Guard) Format(f fmt.State, verb rune) { hide.Format(f, verb, g.shown()) }

// MarshalJSON implements [json.Marshaler]. It hides the token.
func (g Guard) MarshalJSON() ([]byte, error) { return json.Marshal(g.shown()) }

type shownGuard Guard

func (g Guard) shown() shownGuard {
	g.Token = hide.Text(g.Token)
	return shownGuard(g)
}
