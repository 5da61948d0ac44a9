// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/fetch"
)

// Both ends of each range of addresses that are not public, and their neighbours.
func TestAddressesThatArePublic(t *testing.T) {
	var none fetch.Policy
	for text, public := range map[string]bool{
		"0.0.0.0": false, "0.255.255.255": false, "1.0.0.0": true, "9.255.255.255": true, "10.0.0.0": false, "10.255.255.255": false, "11.0.0.0": true,
		"100.63.255.255": true, "100.64.0.0": false, "100.127.255.255": false, "100.128.0.0": true, "126.255.255.255": true, "127.0.0.1": false, "127.255.255.255": false, "128.0.0.0": true,
		"168.63.129.15": true, "168.63.129.16": false, "168.63.129.17": true, "169.253.255.255": true, "169.254.169.254": false, "169.255.0.0": true, "172.15.255.255": true, "172.16.0.0": false, "172.31.255.255": false, "172.32.0.0": true,
		"192.0.0.0": false, "192.0.0.255": false, "192.0.1.0": true, "192.0.2.1": false, "192.31.196.1": false, "192.52.193.1": false, "192.88.99.1": false, "192.168.0.0": false, "192.168.255.255": false, "192.169.0.0": true, "192.175.48.1": false,
		"198.17.255.255": true, "198.18.0.0": false, "198.19.255.255": false, "198.20.0.0": true, "198.51.100.1": false, "203.0.113.1": false, "223.255.255.255": true, "224.0.0.1": false, "239.255.255.255": false, "240.0.0.0": false, "255.255.255.255": false,
		"::": false, "::1": false, "::ffff:8.8.8.8": false, "::8.8.8.8": false, "64:ff9b::808:808": false, "1fff:ffff::1": false, "2000::1": true, "2001::1": false, "2001:1ff::1": false, "2001:200::1": true, "2001:db8::1": false, "2001:db9::1": true,
		"2002:808:808::1": false, "2003::1": true, "2606:4700::1111": true, "2620:4f:8000::1": false, "2620:4f:8001::1": true, "3fff::1": false, "3fff:1000::1": true, "3ffe:ffff::1": true, "4000::1": false, "fc00::1": false, "fd00::1": false, "fe80::1": false, "fe80::1%eth0": false, "ff02::1": false,
		"2606:4700::5efe:808:808": false, "2606:4700::200:5efe:808:808": false, "2606:4700::400:5efe:808:808": true, "2606:4700::1:5efe:808:808": true, "2606:4700::5eff:808:808": true, "2606:4700::5ffe:808:808": true, "2606:4700::100:5efe:808:808": false,
	} {
		ip := netip.MustParseAddr(text)
		err := none.CheckIP(ip)
		require.Equal(t, public, err == nil, text)
		if err != nil {
			require.ErrorIs(t, err, fetch.ErrPrivateAddress)
			require.EqualError(t, err, "address is not public: "+ip.WithZone("").String())
		}
	}
}

// Ranges that are allowed hold for an address, and for the IPv4 address in it, which must be allowed too.
func TestRangesThatAreAllowed(t *testing.T) {
	for _, c := range []struct {
		ip      string
		ranges  string
		allowed bool
	}{
		{"10.1.2.3", "10.0.0.0/8", true}, {"10.1.2.3", "10.1.2.3/32", true}, {"10.1.2.3", "11.0.0.0/8 10.0.0.0/8", true}, {"10.1.2.3", "11.0.0.0/8", false}, {"fd00::1", "fd00::/8", true}, {"fd00::1%eth0", "fd00::/8", true}, {"::1", "::1/128", true}, {"::", "::/128", true},
		{"64:ff9b::a01:203", "64:ff9b::/96", false}, {"64:ff9b::a01:203", "64:ff9b::/96 10.0.0.0/8", true}, {"64:ff9b::808:808", "64:ff9b::/96", true}, {"64:ff9b::a01:203", "10.0.0.0/8", false},
		{"2002:a01:203::1", "2002::/16", false}, {"2002:a01:203::1", "2002::/16 10.1.2.3/32", true}, {"2002:808:808::1", "2002::/16", true}, {"::ffff:0:a01:203", "::/0", false}, {"::ffff:0:808:808", "::/0", true}, {"::a01:203", "::/0", false}, {"::808:808", "::/0", true},
		{"2001:0:1:2:3:4:f5fe:fdfc", "2001::/32", false}, {"2001:0:1:2:3:4:f5fe:fdfc", "2001::/32 10.1.2.3/32", true}, {"2001:0:1:2:3:4:f7f7:f7f7", "2001::/32", true}, {"2606:4700::5efe:a01:203", "2606::/16", false}, {"2606:4700::5efe:808:808", "2606::/16", true},
	} {
		var p fetch.Policy
		for text := range strings.FieldsSeq(c.ranges) {
			p.AllowPrivate = append(p.AllowPrivate, netip.MustParsePrefix(text))
		}
		require.Equal(t, c.allowed, p.CheckIP(netip.MustParseAddr(c.ip)) == nil, "%+v", c)
	}
}

// What a policy forbids of a URL is said before anything is resolved.
func TestURLsThatAreForbidden(t *testing.T) {
	for _, c := range []struct {
		url, want     string
		hosts, denied []string
	}{
		{"http://a.test/x", "", nil, nil}, {"https://a.test", "", nil, nil}, {"ftp://a.test", `scheme "ftp" is not supported; use http, https or data`, nil, nil}, {"a.test", `scheme "" is not supported; use http, https or data`, nil, nil},
		{"https:///x", "URL has no host", nil, nil}, {"https://.", "URL has no host", nil, nil}, {"https://u@a.test", "URL contains credentials", nil, nil}, {"https://u:p@a.test", "URL contains credentials", nil, nil},
		{"https://A.test.", "", []string{"a.TEST"}, nil}, {"https://b.test", "host is not allowed: b.test", []string{"a.test"}, nil}, {"https://a.test", "host is not allowed: a.test", nil, []string{".test"}}, {"https://a.test", "host is not allowed: a.test", []string{"a.test"}, []string{"a.test"}}, {"https://a.test", "", []string{"b.test", "a.test"}, []string{"c.test"}},
		{"https://10.0.0.1/", "address is not public: 10.0.0.1", nil, nil}, {"https://[::ffff:8.8.8.8]/", "address is not public: ::ffff:8.8.8.8", nil, nil}, {"https://8.8.8.8:1/", "", nil, nil}, {"https://[::1]:8080", "address is not public: ::1", nil, nil},
	} {
		u, err := url.Parse(c.url)
		require.NoError(t, err)
		p := fetch.Policy{Hosts: c.hosts, Denied: c.denied}
		if err := p.CheckURL(u); c.want == "" {
			require.NoError(t, err, c.url)
		} else {
			require.EqualError(t, err, c.want, c.url)
		}
	}
}

// Redirects are followed five times, not from HTTPS to HTTP, and without headers to other servers.
func TestRedirectsAreChecked(t *testing.T) {
	request := func(address string) *http.Request {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		require.NoError(t, err)
		r.Header = http.Header{"User-Agent": {"own"}, "X-Key": {"secret"}, "Referer": {"https://a.test"}}
		return r
	}
	refused := errors.New("refused")
	c := fetch.New(fetch.Policy{Header: http.Header{"x-KEY": {"secret"}}, Denied: []string{"denied.test"}, Redirect: func(_ context.Context, from, to *url.URL) error {
		require.Equal(t, "last.test", from.Host)
		if to.Host == "refused.test" {
			return refused
		}
		return nil
	}})
	for _, test := range []struct {
		first, last, to string
		n               int
		want            string
		key, agent      string
	}{
		{"https://a.test/x", "https://last.test", "https://a.test/y", 1, "", "secret", "own"}, {"https://a.test", "https://last.test", "https://b.test", 1, "", "", "ponte-fetch"}, {"https://a.test", "https://last.test", "https://a.test:444", 1, "", "", "ponte-fetch"},
		{"http://a.test", "http://last.test", "https://a.test", 1, "", "", "ponte-fetch"}, {"http://a.test", "http://last.test", "http://a.test", 1, "", "secret", "own"}, {"https://a.test", "https://last.test", "http://a.test", 1, "redirected from HTTPS to HTTP", "secret", "own"},
		{"https://a.test", "https://last.test", "https://denied.test", 1, "host is not allowed: denied.test", "", "ponte-fetch"}, {"https://a.test", "https://last.test", "https://refused.test", 1, "refused", "", "ponte-fetch"},
		{"https://a.test", "https://last.test", "https://a.test", 5, "", "secret", "own"}, {"https://a.test", "https://last.test", "https://a.test", 6, "more than 5 redirects", "secret", "own"},
	} {
		via := []*http.Request{request(test.first)}
		for len(via) < test.n {
			via = append(via, request("https://between.test"))
		}
		if len(via) > 1 {
			via[len(via)-1] = request(test.last)
		} else {
			via = []*http.Request{request(test.first), request(test.last)}
		}
		r := request(test.to)
		err := c.CheckRedirect(r, via)
		if test.want == "" {
			require.NoError(t, err, "%+v", test)
			require.Empty(t, r.Header.Get("Referer"))
		} else {
			require.EqualError(t, err, test.want, "%+v", test)
		}
		require.Equal(t, test.key, r.Header.Get("X-Key"), "%+v", test)
		require.Equal(t, test.agent, r.Header.Get("User-Agent"), "%+v", test)
	}
}

// What comes of a download is its content, or an error without secrets.
func TestDownloads(t *testing.T) {
	var sent http.Header
	at, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header
		switch r.URL.Path {
		case "/empty":
		case "/moved":
			http.Redirect(w, r, "/ten", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop?secret", http.StatusFound)
		case "/missing":
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "obey me")
		case "/coded":
			w.Header().Set("Content-Encoding", "br")
			_, _ = io.WriteString(w, "x")
		case "/identity":
			w.Header().Set("Content-Encoding", "Identity")
			_, _ = io.WriteString(w, "x")
		case "/flushed":
			_, _ = io.WriteString(w, "12345")
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, "67890")
		default:
			w.Header().Set("Content-Type", "text/x")
			_, _ = io.WriteString(w, "1234567890")
		}
	})
	for _, c := range []struct {
		path    string
		limit   int64
		partial bool
		data    string
		more    bool
		status  int
		want    string
	}{
		{"/ten", 10, false, "1234567890", false, 0, ""}, {"/ten", 9, false, "", false, 200, "too large: 10 bytes, limit 9"}, {"/ten", 9, true, "123456789", true, 0, ""}, {"/ten", 10, true, "1234567890", false, 0, ""},
		{"/flushed", 10, false, "1234567890", false, 0, ""}, {"/flushed", 9, false, "", false, 200, "too large: limit 9 bytes"}, {"/moved", 10, false, "1234567890", false, 0, ""},
		{"/empty", 10, false, "", false, 200, "response is empty"}, {"/missing", 10, false, "", false, 404, "HTTP 404 Not Found"}, {"/coded", 10, false, "", false, 200, "response is compressed (br), although that was not requested"}, {"/identity", 10, false, "x", false, 0, ""},
		{"/loop?secret", 10, false, "", false, 0, "more than 5 redirects"},
	} {
		p := policy(func(p *fetch.Policy) { p.MaxBytes, p.Partial = c.limit, c.partial })
		got, err := fetch.New(p).Get(t.Context(), at+c.path)
		require.Equal(t, "ponte-fetch", sent.Get("User-Agent"))
		require.NotEqual(t, "gzip", sent.Get("Accept-Encoding"))
		if c.want == "" {
			require.NoError(t, err, "%+v", c)
			require.Equal(t, c.data, string(got.Data), "%+v", c)
			require.Equal(t, c.more, got.More, "%+v", c)
			continue
		}
		var failed *fetch.Error
		require.ErrorAs(t, err, &failed)
		require.Equal(t, c.status, failed.Status, "%+v", c)
		path, _, _ := strings.Cut(c.path, "?")
		require.EqualError(t, err, fmt.Sprintf("cannot fetch %s%s: %s", at, path, c.want), "%+v", c)
	}
	got, err := fetch.New(policy(func(p *fetch.Policy) { p.Gzip, p.Header = true, http.Header{"user-agent": {"own"}, "x-a": {"1", "2"}} })).Get(t.Context(), at+"/ten")
	require.NoError(t, err)
	require.Equal(t, "text/x", got.Type)
	require.Equal(t, "/ten", got.URL.Path)
	require.Equal(t, []string{"own", "1", "2", "gzip"}, append(append(sent["User-Agent"], sent["X-A"]...), sent.Get("Accept-Encoding")))
	because := errors.New("because")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(because)
	_, err = fetch.New(policy(nil)).Get(ctx, at+"/ten")
	require.ErrorIs(t, err, because)
	_, err = fetch.New(policy(nil)).Get(t.Context(), "https://u:secret@a.test:x")
	require.EqualError(t, err, "cannot fetch (invalid URL): invalid URL")
	_, err = fetch.New(policy(nil)).Get(t.Context(), "ftp://a.test/x?secret")
	require.EqualError(t, err, `cannot fetch ftp://a.test/x: scheme "ftp" is not supported; use http, https or data`)
}
