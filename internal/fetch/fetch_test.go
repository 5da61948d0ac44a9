// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/fetch"
	"github.com/ponte-go/ponte/internal/fetch/fetchtest"
)

var local = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

func serve(t *testing.T, handle http.HandlerFunc) (url, port string) {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	_, port, _ = strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")
	return server.URL, port
}

func policy(change func(*fetch.Policy)) fetch.Policy {
	p := fetch.Policy{AllowPrivate: local, MaxBytes: 1 << 20, Timeout: 10 * time.Minute}
	if change != nil {
		change(&p)
	}
	return p
}

func TestRebindingNameGainsNothing(t *testing.T) {
	var asked atomic.Int64
	_, port := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	var resolved atomic.Int64
	p := fetch.Policy{MaxBytes: 1000, Timeout: time.Minute, Resolver: fetchtest.Resolver(func(name string) []netip.Addr {
		resolved.Add(1)
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	})}
	at, err := url.Parse("http://rebind.test:" + port + "/")
	require.NoError(t, err)
	require.NoError(t, p.CheckURL(at), "nothing is known of the name before it is resolved")
	_, err = fetch.New(p).Get(t.Context(), at.String())
	require.ErrorIs(t, err, fetch.ErrPrivateAddress)
	require.Positive(t, resolved.Load())
	require.Zero(t, asked.Load())
}

func TestEveryResolvedAddressIsChecked(t *testing.T) {
	_, port := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("connected") })
	for _, ip := range []string{"127.0.0.1", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "169.254.169.254", "fd00::1", "2606:4700::5efe:a00:1", "2606:4700::200:5efe:a00:1", "0.0.0.0"} {
		p := fetch.Policy{MaxBytes: 1000, Timeout: time.Minute, Resolver: fetchtest.Resolver(func(string) []netip.Addr { return []netip.Addr{netip.MustParseAddr(ip)} })}
		_, err := fetch.New(p).Get(t.Context(), "http://name.test:"+port)
		require.Error(t, err, ip)
		if ip != "0.0.0.0" { // some systems refuse it themselves
			require.ErrorIs(t, err, fetch.ErrPrivateAddress, ip)
		}
	}
}

func TestRedirectIsAskedAbout(t *testing.T) {
	var asked []string
	_, port := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Host[:1] == "a" {
			http.Redirect(w, r, "http://b.test:"+r.Host[strings.IndexByte(r.Host, ':')+1:]+"/x?secret", http.StatusFound)
			return
		}
		asked = append(asked, r.Host)
		_, _ = io.WriteString(w, "hello")
	})
	refuse := false
	p := policy(func(p *fetch.Policy) {
		p.Resolver = fetchtest.Resolver(func(string) []netip.Addr { return []netip.Addr{netip.MustParseAddr("127.0.0.1")} })
		p.Redirect = func(_ context.Context, from, to *url.URL) error {
			require.Equal(t, "a.test:"+port, from.Host)
			require.Equal(t, "b.test:"+port, to.Host)
			if refuse {
				return io.ErrNoProgress
			}
			return nil
		}
	})
	c, err := fetch.New(p).Get(t.Context(), "http://a.test:"+port)
	require.NoError(t, err)
	require.Equal(t, "b.test:"+port, c.URL.Host)
	refuse = true
	_, err = fetch.New(p).Get(t.Context(), "http://a.test:"+port)
	require.ErrorIs(t, err, io.ErrNoProgress)
	require.Len(t, asked, 1)

	denied := policy(func(p2 *fetch.Policy) { p2.Resolver, p2.Denied = p.Resolver, []string{".b.test"} })
	_, err = fetch.New(denied).Get(t.Context(), "http://a.test:"+port)
	require.ErrorIs(t, err, fetch.ErrHostNotAllowed)
	require.NotContains(t, err.Error(), "secret")
}

func TestDecompressionIsLimited(t *testing.T) {
	var bomb bytes.Buffer
	zip := gzip.NewWriter(&bomb)
	zeros := make([]byte, 1<<20)
	for range 4 {
		_, err := zip.Write(zeros)
		require.NoError(t, err)
	}
	require.NoError(t, zip.Close())
	require.Less(t, bomb.Len(), 100<<10)
	at, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb.Bytes())
	})
	_, err := fetch.New(policy(nil)).Get(t.Context(), at)
	require.ErrorContains(t, err, "compressed (gzip), although that was not requested")
	_, err = fetch.New(policy(func(p *fetch.Policy) { p.Gzip = true })).Get(t.Context(), at)
	require.ErrorIs(t, err, fetch.ErrTooLarge)
	c, err := fetch.New(policy(func(p *fetch.Policy) { p.Gzip, p.Partial = true, true })).Get(t.Context(), at)
	require.NoError(t, err)
	require.Len(t, c.Data, 1<<20)
	require.True(t, c.More)
}

func TestContentIsDecompressed(t *testing.T) {
	at, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			_, _ = io.WriteString(w, "plain")
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		if r.URL.Path == "/broken" {
			_, _ = io.WriteString(w, "not gzip")
			return
		}
		zip := gzip.NewWriter(w)
		_, _ = io.WriteString(zip, "packed")
		_ = zip.Close()
	})
	for gzipped, want := range map[bool]string{false: "plain", true: "packed"} {
		c, err := fetch.New(policy(func(p *fetch.Policy) { p.Gzip = gzipped })).Get(t.Context(), at)
		require.NoError(t, err)
		require.Equal(t, want, string(c.Data))
		require.False(t, c.More)
	}
	_, err := fetch.New(policy(func(p *fetch.Policy) { p.Gzip = true })).Get(t.Context(), at+"/broken")
	require.ErrorContains(t, err, "not valid gzip")
}

func TestSlowBodyTimesOut(t *testing.T) {
	at, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "a")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	_, err := fetch.New(policy(func(p *fetch.Policy) { p.Timeout = 50 * time.Millisecond })).Get(t.Context(), at)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

func TestHostsAreMatchedWhole(t *testing.T) {
	for host, want := range map[string]bool{
		"example.com": true, "www.example.com": false, "go.dev": true, "pkg.go.dev": true, "a.pkg.go.dev": true, "notgo.dev": false, "example.com.evil.test": false, "": false,
	} {
		require.Equal(t, want, fetch.MatchHost([]string{"EXAMPLE.com", ".go.dev"}, host), host)
	}
}
