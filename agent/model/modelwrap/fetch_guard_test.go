// SPDX-License-Identifier: Apache-2.0

package modelwrap_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model/modelwrap"
	"github.com/ponte-go/ponte/internal/fetch"
)

func TestFetchConnectsToPublicAddressesOnly(t *testing.T) {
	for _, url := range []string{
		"http://127.0.0.1/", "http://localhost/", "http://[::1]/", "http://10.1.2.3/", "http://192.168.0.1/", "http://172.16.0.1/",
		"http://169.254.169.254/", "http://100.64.0.1/", "http://0.0.0.0/", "http://[::]/", "http://[::ffff:127.0.0.1]/",
		"http://[fd00::1]/", "http://[fe80::1]/", "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/", "http://224.0.0.1/",
		"http://255.255.255.255/", "http://192.0.2.1/", "http://[2001:db8::1]/", "http://[::127.0.0.1]/", "https://127.0.0.1/",
		"http://[::ffff:a00:1]/", "http://[64:ff9b:1::1]/", "http://[fec0::1]/", "http://[ff02::1]/", "http://127.1.2.3:80/",
	} {
		_, err := modelwrap.FetchMedia(&eye{}, modelwrap.FetchPolicy{}).Generate(t.Context(), show("image/png", url), nil)
		require.ErrorIs(t, err, modelwrap.ErrPrivateAddress, url)
	}
	for url, says := range map[string]string{
		"ftp://example.com/a": `scheme "ftp" is not supported`, "http:///a": "URL has no host", "http://a:b@example.com/": "credentials",
		"http://exa mple.com/": "cannot fetch", "/etc/passwd": "is not supported",
	} {
		_, err := modelwrap.FetchMedia(&eye{}, modelwrap.FetchPolicy{}).Generate(t.Context(), show("image/png", url), nil)
		require.ErrorAs(t, err, new(*modelwrap.FetchError), url)
		require.ErrorContains(t, err, says, url)
	}
}

func TestFetchConnectsToListedHostsOnly(t *testing.T) {
	server, _ := pictures(t)
	for host, ok := range map[string]bool{"127.0.0.1": true, ".0.0.1": true, "example.com": false, "0.0.1": false, ".127.0.0.1": true} {
		m := modelwrap.FetchMedia(&eye{}, modelwrap.FetchPolicy{AllowPrivate: local, Hosts: []string{host}})
		_, err := m.Generate(t.Context(), show("image/png", server.URL+"/cat.png"), nil)
		if ok {
			require.NoError(t, err, host)
			continue
		}
		require.ErrorIs(t, err, modelwrap.ErrHostNotAllowed, host)
	}
	m := modelwrap.FetchMedia(&eye{}, modelwrap.FetchPolicy{AllowPrivate: local, Hosts: []string{"127.0.0.1"}})
	_, err := m.Generate(t.Context(), show("image/png", server.URL+"/to?url=http://example.com/"), nil)
	require.ErrorIs(t, err, modelwrap.ErrHostNotAllowed)
}

func TestFetchHeadersStayWithTheHost(t *testing.T) {
	first, _ := pictures(t)
	second, _ := pictures(t)
	e := &eye{}
	m := modelwrap.FetchMedia(e, modelwrap.FetchPolicy{AllowPrivate: local, Header: http.Header{
		"X-Token": {"for the first"}, "x-other": {"for the first, too"}, "user-agent": {"mine"},
	}})
	for _, url := range []string{first.URL + "/echo", first.URL + "/to?url=" + second.URL + "/echo"} {
		_, err := m.Generate(t.Context(), show("application/pdf", url), nil)
		require.NoError(t, err)
	}
	own, others := string(e.shown[0].Messages[0].Parts[1].Data), string(e.shown[1].Messages[0].Parts[1].Data)
	require.Contains(t, own, "for the first")
	require.Contains(t, own, "for the first, too")
	require.Contains(t, own, `"User-Agent":["mine"]`)
	require.NotContains(t, own, "Accept-Encoding")
	require.Contains(t, others, `"User-Agent":["ponte-fetch"]`)
	require.NotContains(t, others, "for the first")
	require.NotContains(t, others, "Referer")
}

func TestFetchRedirectsStayOnHTTPS(t *testing.T) {
	request := func(url string) *http.Request {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		return req
	}
	secure, plain := request("https://example.com/a"), request("http://example.com/a")
	check := func(to *http.Request, via ...*http.Request) error {
		return modelwrap.CheckRedirect(modelwrap.FetchPolicy{}, to, via)
	}
	require.ErrorContains(t, check(plain, secure), "from HTTPS to HTTP")
	require.ErrorContains(t, check(plain, plain, secure), "from HTTPS to HTTP")
	require.NoError(t, check(secure, plain))
	require.NoError(t, check(plain, plain))
}

func TestFetchHeadersGoToTheSameOriginOnly(t *testing.T) {
	for to, kept := range map[string]bool{
		"https://h.test/b": true, "https://H.test:443/b": true, "https://h.test:8443/b": false, "https://www.h.test/b": false, "https://other.test/b": false,
	} {
		from, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://h.test/a", nil)
		require.NoError(t, err)
		next, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to, nil)
		require.NoError(t, err)
		next.Header.Set("X-Key", "secret")
		client := fetch.New(fetch.Policy{Header: http.Header{"X-Key": {"secret"}}})
		require.NoError(t, client.CheckRedirect(next, []*http.Request{from}))
		require.Equal(t, kept, next.Header.Get("X-Key") != "", to)
	}
}
