// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// policy is the Content-Security-Policy of the page: only its own scripts and styles, its own
// pictures and data URLs, nothing from elsewhere, and no frames.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; " +
	"manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

type userKey struct{}

// User returns the user of the request that a context belongs to. In the runs of a turn, it is the user of the
// prompt.
func User(ctx context.Context) string {
	user, _ := ctx.Value(userKey{}).(string)
	return user
}

// secrets prove that a client knows the token. They are held by functions, because functions are
// never printed.
type secrets struct {
	token  func() [sha256.Size]byte // a hash of it, so that comparing takes the same time for every length
	cookie string                   // the name of the cookie, which is another for each token: cookies do not know ports
	value  func() string
}

func newSecrets(token string) *secrets {
	if token == "" {
		return nil
	}
	derive := func(of string) string {
		mac := hmac.New(sha256.New, []byte(token))
		mac.Write([]byte(of))
		return hex.EncodeToString(mac.Sum(nil))
	}
	sum, value := sha256.Sum256([]byte(token)), derive("cookie")
	return &secrets{token: func() [sha256.Size]byte { return sum }, cookie: "ponte-" + derive("name")[:12], value: func() string { return value }}
}

func (s *secrets) knows(token string) bool {
	given, want := sha256.Sum256([]byte(token)), s.token()
	return subtle.ConstantTimeCompare(given[:], want[:]) == 1
}

// proves reports whether a request has the token as a bearer, or the cookie of a first visit.
func (s *secrets) proves(r *http.Request) bool {
	if kind, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(kind, "Bearer") {
		return s.knows(strings.TrimSpace(token))
	}
	for _, c := range r.CookiesNamed(s.cookie) {
		if subtle.ConstantTimeCompare([]byte(c.Value), []byte(s.value())) == 1 {
			return true
		}
	}
	return false
}

// onward leads to the page. It is relative, like the redirect.
const onward = `<!doctype html><title>Opening</title><meta http-equiv="refresh" content="0; url=./"><a href="./">Open the page</a>`

// visit lets in a browser that was given the URL with the token, which then leaves the URL. It reports whether it has answered.
func (h *Handler) visit(w http.ResponseWriter, r *http.Request) bool {
	token := r.URL.Query().Get("token")
	if h.secrets == nil || token == "" || r.Method != http.MethodGet || isAPI(r.URL.Path) || !h.secrets.knows(token) {
		return false
	}
	http.SetCookie(w, &http.Cookie{
		Name: h.secrets.cookie, Value: h.secrets.value(), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	})
	w.Header().Set("Cache-Control", "no-store")
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		// The browser would not send the cookie with a redirect that began elsewhere, such as in a file. This page begins it here.
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, onward)
		return true
	}
	w.Header().Set("Location", "./") // relative: the handler may be mounted below a prefix
	w.WriteHeader(http.StatusSeeOther)
	return true
}

func isAPI(path string) bool {
	return strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/v1/")
}

// guard checks a request before anything else is done with it. It writes the headers that every answer has.
func (h *Handler) guard(w http.ResponseWriter, r *http.Request) error {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Content-Security-Policy", policy)
	if isAPI(r.URL.Path) {
		header.Set("Cache-Control", "no-store")
	}
	if !h.isOurs(r.Host) {
		return refuse(KindHost, "this server is not %q: use one of its names, which Options.Hosts lists", r.Host)
	}
	if r.Header.Get("Upgrade") != "" {
		return refuse(KindInvalid, "there are no WebSockets here: follow api/sessions/ID/events")
	}
	return h.origin(header, r)
}

// identify returns a request with its user.
func (h *Handler) identify(r *http.Request) (*http.Request, error) {
	if h.secrets != nil && !h.secrets.proves(r) {
		return nil, refuse(KindUnauthorized, "open the address with the token that the program has printed, or send the token as a bearer")
	}
	user := ""
	if h.o.User != nil {
		var err error
		if user, err = h.o.User(r); err != nil || user == "" {
			return nil, refuse(KindUnauthorized, "sign in, and try again")
		}
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	default:
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			return nil, refuse(KindMediaType, "set Content-Type to application/json")
		}
	}
	return r.WithContext(context.WithValue(r.Context(), userKey{}, user)), nil
}

// isOurs reports whether a Host header names this server. A name that an attacker has pointed to this address is another one.
func (h *Handler) isOurs(hostPort string) bool {
	hostPort = strings.ToLower(hostPort)
	name, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		name = strings.Trim(hostPort, "[]")
	}
	if len(h.o.Hosts) > 0 {
		return slices.Contains(h.o.Hosts, hostPort) || slices.Contains(h.o.Hosts, name)
	}
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// origin refuses what pages of other sites send, unless they are allowed to.
func (h *Handler) origin(header http.Header, r *http.Request) error {
	origin := r.Header.Get("Origin")
	switch {
	case origin == "":
		// Old browsers send neither. A navigation to the page is fine from anywhere, and so is a
		// request that is not from a page.
		switch site := r.Header.Get("Sec-Fetch-Site"); {
		case site == "", site == "same-origin", site == "none":
			return nil
		case !isAPI(r.URL.Path) && r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate":
			return nil
		}
	case sameHost(origin, r.Host):
		return nil
	case slices.Contains(h.o.Origins, origin):
		header.Set("Access-Control-Allow-Origin", origin)
		header.Add("Vary", "Origin")
		header.Set("Cross-Origin-Resource-Policy", "cross-origin")
		return nil
	}
	return refuse(KindForbidden, "requests from other sites are refused")
}

func sameHost(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && strings.EqualFold(u.Host, host)
}

// preflight answers what a browser asks before it lets a page of another site send a request. It reports whether it has answered.
func (h *Handler) preflight(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if r.Method != http.MethodOptions || !slices.Contains(h.o.Origins, origin) || !h.isOurs(r.Host) || !isAPI(r.URL.Path) {
		return false
	}
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", origin)
	header.Add("Vary", "Origin")
	header.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
	header.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Last-Event-ID")
	header.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}
