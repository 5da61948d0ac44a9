// SPDX-License-Identifier: Apache-2.0

package webfetch

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/idna"

	"github.com/ponte-go/ponte/internal/fetch"
	"github.com/ponte-go/ponte/internal/header"
	"github.com/ponte-go/ponte/internal/hide"
)

// Limits of what is downloaded and shown, and their defaults.
const (
	// DefaultMaxBytes is how much of a page is downloaded, in bytes.
	DefaultMaxBytes = 4 << 20
	// DefaultPartBytes is how much text one call returns, in bytes.
	DefaultPartBytes = 32 << 10
	// DefaultTimeout limits the duration of a download, and of reading the page.
	DefaultTimeout = 30 * time.Second

	minPartBytes = 1 << 10
	maxPartBytes = 1 << 20
	maxMaxBytes  = 64 << 20
	// cacheEntries and cacheBytes limit what a run keeps of the pages that it has read.
	cacheEntries = 16
	cacheBytes   = 16 << 20
)

// Options changes [New]. The zero value fetches from any public address, with approval.
type Options struct {
	// Allow lists hosts that need no approval: "go.dev", or ".example.com" for a domain and its
	// subdomains. They are fetched from with HTTPS at its usual port only; other URLs of these
	// hosts need approval.
	Allow []string
	// AllowAll fetches from every public host without approval. A page that talks the model into it
	// can then send what the model knows to any server.
	AllowAll bool
	// Deny lists hosts that are never fetched from, in the form of Allow.
	Deny []string
	// Only restricts web_fetch to these hosts, in the form of Allow. They still need approval
	// unless Allow lists them.
	Only []string
	// AllowPrivate lists address ranges that are allowed although they are not public, such as an
	// intranet.
	AllowPrivate []netip.Prefix
	// MaxBytes limits how much of a page is downloaded, after decompression. The rest is cut off. 0
	// means [DefaultMaxBytes].
	MaxBytes int64
	// PartBytes limits the text of one result. 0 means [DefaultPartBytes].
	PartBytes int
	// Timeout limits the duration of a download, and then of reading the page. 0 means
	// [DefaultTimeout].
	Timeout time.Duration
	// Native uses the provider's own fetch instead of web_fetch if the model has it
	// ([model.NativeWebFetch]) and can be restricted as Only and Deny say. The provider never asks,
	// so Allow and AllowAll do not apply. It fetches only URLs that occur in the conversation.
	Native bool
	// NoMedia refuses images and PDF files even if the model of the run accepts them.
	NoMedia bool
	// Header is sent with each download, with a User-Agent added if it has none. After a redirect
	// it is sent to the same scheme, host and port only.
	Header http.Header
	// Resolver resolves names. If nil, it is Go's default.
	Resolver *net.Resolver `json:"-"`
}

func (o *Options) check() error {
	var errs []error
	problem := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("webfetch: Options."+format, args...))
	}
	for name, list := range map[string][]string{"Allow": o.Allow, "Deny": o.Deny, "Only": o.Only} {
		for _, host := range list {
			ascii, err := idna.Lookup.ToASCII(strings.TrimPrefix(host, "."))
			if _, isIP := parseIP(host); !isIP && (err != nil || ascii == "" || strings.ContainsAny(ascii, "/:@ *")) {
				problem("%s has %q, which is not a host; use \"example.com\", or \".example.com\" for a domain and its subdomains", name, host)
			}
		}
	}
	for i, r := range o.AllowPrivate {
		if !r.IsValid() {
			problem("AllowPrivate[%d] is not a range of addresses; use netip.ParsePrefix", i)
		}
	}
	if o.MaxBytes < 0 || o.MaxBytes > maxMaxBytes {
		problem("MaxBytes is %d; it must be between 1 and %d, or 0", o.MaxBytes, maxMaxBytes)
	}
	if o.PartBytes != 0 && (o.PartBytes < minPartBytes || o.PartBytes > maxPartBytes) {
		problem("PartBytes is %d; it must be between %d and %d, or 0", o.PartBytes, minPartBytes, maxPartBytes)
	}
	if o.Timeout < 0 {
		problem("Timeout is negative")
	}
	if name, found := header.Invalid(o.Header); found {
		problem("Header[%q] is not a valid header", name)
	}
	return errors.Join(errs...)
}

func parseIP(host string) (netip.Addr, bool) {
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return ip, err == nil
}

// policy returns the policy of downloads.
func (o *Options) policy() fetch.Policy {
	sent := o.Header.Clone()
	if sent == nil {
		sent = http.Header{}
	}
	if sent.Get("User-Agent") == "" {
		sent.Set("User-Agent", "ponte-web-fetch")
	}
	if sent.Get("Accept") == "" {
		sent.Set("Accept", "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5")
	}
	return fetch.Policy{
		Hosts: ascii(o.Only), Denied: ascii(o.Deny), AllowPrivate: o.AllowPrivate, MaxBytes: cmp.Or(o.MaxBytes, DefaultMaxBytes), Partial: true, Gzip: true,
		Timeout: cmp.Or(o.Timeout, DefaultTimeout), Header: sent, Resolver: o.Resolver,
	}
}

// ascii returns hosts as they are written in URLs.
func ascii(hosts []string) []string {
	var all []string
	for _, host := range hosts {
		dot := ""
		if strings.HasPrefix(host, ".") {
			dot = "."
		}
		name := strings.ToLower(strings.Trim(strings.TrimPrefix(host, "."), "[]"))
		if _, isIP := parseIP(name); !isIP {
			if encoded, err := idna.Lookup.ToASCII(name); err == nil {
				name = encoded
			}
		}
		all = append(all, dot+name)
	}
	return all
}

// parse returns a URL in the one form in which it is shown, approved and fetched: the scheme and
// the host in lower case, an international name in ASCII, without the usual port, a final dot and a
// fragment.
func parse(from string) (*url.URL, error) {
	from = strings.TrimSpace(from)
	if scheme, _, ok := strings.Cut(from, "://"); !ok || !strings.EqualFold(scheme, "https") && !strings.EqualFold(scheme, "http") {
		return nil, errors.New("the URL must begin with https:// or http://")
	}
	u, err := url.Parse(from)
	switch {
	case err != nil:
		return nil, errors.New("the URL is not valid")
	case u.User != nil:
		return nil, errors.New("the URL must not contain a user name or password")
	}
	host, port := fetch.HostOf(u), u.Port()
	ip, isIP := parseIP(host)
	if isIP {
		if host = ip.String(); ip.Is6() {
			host = "[" + host + "]"
		}
	} else if host, err = idna.Lookup.ToASCII(host); err != nil || host == "" {
		return nil, errors.New("the URL has no valid host name")
	}
	if port != "" && !(u.Scheme == "https" && port == "443") && !(u.Scheme == "http" && port == "80") {
		host += ":" + port
	}
	u.Host, u.Fragment, u.RawFragment = host, "", ""
	return u, nil
}

// origin returns the scope of "always": exactly this host, with its scheme and port.
func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

// Format implements [fmt.Formatter]. It hides the values of Header.
func (o Options) Format(f fmt.State, verb rune) { hide.Format(f, verb, o.shown()) }

// MarshalJSON implements [json.Marshaler]. It hides the values of Header.
func (o Options) MarshalJSON() ([]byte, error) { return json.Marshal(o.shown()) }

type shownOptions Options

func (o Options) shown() shownOptions {
	o.Header = hide.Header(o.Header)
	return shownOptions(o)
}
