// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
)

func parsed(t *testing.T, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	return u
}

// Hosts that are numbers, or this machine's name, are known without asking anybody.
func TestPlacesOfHosts(t *testing.T) {
	for host, want := range map[string][2]bool{ // loopback, public
		"127.0.0.1": {true, false}, "127.9.9.9": {true, false}, "::1": {true, false}, "::ffff:127.0.0.1": {true, false}, "localhost": {true, false}, "LocalHost": {true, false},
		"localhost.": {false, false}, "x.localhost": {false, false}, "x.LOCALHOST.": {false, false}, "10.0.0.1": {false, false}, "192.168.1.1": {false, false}, "169.254.169.254": {false, false},
		"::ffff:10.0.0.1": {false, false}, "93.184.216.34": {false, true}, "2606:2800:220:1::1": {false, true}, "0.0.0.0": {false, false},
	} {
		require.Equal(t, want, [2]bool{isLoopback(host), isPublic(t.Context(), host)}, host)
	}
}

// Sign-in addresses are https, or near a server that is near.
func TestAddressesForSigningIn(t *testing.T) {
	const needs = "the server names a sign-in address that is not allowed: %s must be an https address"
	for _, c := range []struct {
		address   string
		far, near bool // allowed for a server that is public, and for one that is not
		shown     string
	}{
		{"https://a.test/x", true, true, ""}, {"https://93.184.216.34", true, true, ""}, {"http://127.0.0.1:9", false, true, "http://127.0.0.1:9"}, {"http://localhost", false, true, "http://localhost"},
		{"http://a.test/x?y", false, false, "http://a.test"}, {"https://u@a.test", false, false, "https://a.test"}, {"https:///x", false, false, "https://"}, {"ftp://127.0.0.1", false, false, "ftp://127.0.0.1"},
		{"http://10.0.0.1", false, false, "http://10.0.0.1"},
	} {
		for near, ok := range map[bool]bool{false: c.far, true: c.near} {
			err := checkAuthURL(parsed(t, c.address), near)
			if ok {
				require.NoError(t, err, "%s %v", c.address, near)
				continue
			}
			require.EqualError(t, err, fmt.Sprintf(needs, c.shown))
			require.ErrorIs(t, err, errAuthAddress)
		}
	}
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"https://a.test/x", "https://a.test/y", true}, {"https://a.test:443", "https://a.test", true}, {"https://a.test:444", "https://a.test", false}, {"http://a.test", "https://a.test", false},
		{"https://b.test", "https://a.test", false}, {"https://u@a.test", "https://a.test", false}, {"https://a.test", "https://u@a.test", true},
	} {
		require.Equal(t, c.want, sameOrigin(parsed(t, c.a), parsed(t, c.b)), c)
	}
	require.Equal(t, "https://"+strings.Repeat("x", 192)+"…", shownOrigin(&url.URL{Scheme: "https", Host: strings.Repeat("x", 193)}))
}

// named is a tripper that does nothing.
type named string

func (n named) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New(string(n)) }

// Who sends a request of a sign-in depends on the server and on where it goes.
func TestRoutesOfSignIns(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"} {
		t.Setenv(name, "")
		t.Setenv(strings.ToLower(name), "")
	}
	const denied = "the server names a sign-in address that is not allowed: "
	for _, c := range []struct{ server, to, want, visit string }{
		{"https://93.184.216.34/mcp", "https://93.184.216.34/x", "next", ""},
		{"https://93.184.216.34/mcp", "https://93.184.216.35/x", "direct", ""},
		{"https://93.184.216.34/mcp", "http://93.184.216.35/x", denied + "http://93.184.216.35 must be an https address", denied + "http://93.184.216.35 must be an https address"},
		{"https://93.184.216.34/mcp", "https://10.0.0.1/x", denied + "https://10.0.0.1 is not public", denied + "https://10.0.0.1 is not public"},
		{"https://93.184.216.34/mcp", "http://127.0.0.1/x", denied + "http://127.0.0.1 must be an https address", denied + "http://127.0.0.1 must be an https address"},
		{"http://127.0.0.1:3000/mcp", "http://127.0.0.1:3000/x", "next", ""},
		{"http://127.0.0.1:3000/mcp", "http://127.0.0.1:4000/x", "next", ""},
		{"http://127.0.0.1:3000/mcp", "https://10.0.0.1/x", "next", ""},
		{"http://127.0.0.1:3000/mcp", "https://93.184.216.35/x", "next", ""},
		{"http://127.0.0.1:3000/mcp", "http://10.0.0.1/x", denied + "http://10.0.0.1 must be an https address", denied + "http://10.0.0.1 must be an https address"},
	} {
		g := &authGuard{server: parsed(t, c.server), home: &place{}, next: named("next"), direct: named("direct")}
		closed := &closing{Reader: strings.NewReader("x")}
		_, err := g.RoundTrip(&http.Request{URL: parsed(t, c.to), Body: closed})
		require.EqualError(t, err, c.want, c)
		require.Equal(t, strings.HasPrefix(c.want, denied), closed.closed, "a body is closed if nobody else does")
		if c.visit == "" {
			require.NoError(t, g.checkVisit(t.Context(), c.to), c)
		} else {
			require.EqualError(t, g.checkVisit(t.Context(), c.to), c.visit, c)
		}
		_, err = g.RoundTrip(&http.Request{URL: parsed(t, c.to)})
		require.EqualError(t, err, c.want, "without a body")
		g.direct = nil // the program has a client of its own
		if _, err = g.RoundTrip(&http.Request{URL: parsed(t, c.to)}); c.want == "direct" {
			require.EqualError(t, err, "next")
		}
	}
	g := &authGuard{server: parsed(t, "https://93.184.216.34/mcp"), home: &place{}}
	require.EqualError(t, g.checkVisit(t.Context(), "https://a.test:x"), denied+"it is not valid")
	// The name of a server says nothing once its address is known.
	g.server = parsed(t, "https://server.test/mcp")
	g.home.known.Store(true)
	require.True(t, g.near(t.Context()))
	g.home.public.Store(true)
	require.False(t, g.near(t.Context()))
	g.server = parsed(t, "http://localhost/mcp")
	require.True(t, g.near(t.Context()), "this machine is near, whoever answers")
	g.server = parsed(t, "http://10.0.0.1/mcp")
	require.True(t, g.near(t.Context()))
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

type at struct {
	net.Conn
	addr net.Addr
}

func (a at) RemoteAddr() net.Addr { return a.addr }

// Where a server is is noted when it answers; behind a proxy it counts as public.
func TestPlacesOfServersAreNoted(t *testing.T) {
	request := &http.Request{URL: parsed(t, "http://server.test")}
	for address, public := range map[string]bool{"127.0.0.1:1": false, "93.184.216.34:1": true, "[::ffff:10.0.0.1]:1": false, "[::ffff:93.184.216.34]:1": true} {
		var p place
		trace := httptrace.ContextClientTrace(p.trace(t.Context(), named(""), request))
		require.False(t, p.known.Load(), "nobody has answered")
		trace.GotConn(httptrace.GotConnInfo{Conn: at{addr: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address))}})
		require.Equal(t, [2]bool{true, public}, [2]bool{p.known.Load(), p.public.Load()}, address)
	}
	var p place
	httptrace.ContextClientTrace(p.trace(t.Context(), &http.Transport{}, request)).GotConn(httptrace.GotConnInfo{Conn: at{addr: &net.UnixAddr{Name: "/s", Net: "unix"}}})
	require.False(t, p.known.Load(), "an address that is none says nothing")
	for name, proxy := range map[string]func(*http.Request) (*url.URL, error){
		"a proxy": http.ProxyURL(parsed(t, "http://127.0.0.1:1")), "a failure": func(*http.Request) (*url.URL, error) { return nil, errors.New("x") },
	} {
		var p place
		require.Nil(t, httptrace.ContextClientTrace(p.trace(t.Context(), &http.Transport{Proxy: proxy}, request)), name)
		require.Equal(t, [2]bool{true, true}, [2]bool{p.known.Load(), p.public.Load()}, name)
	}
	none := func(*http.Request) (*url.URL, error) { return nil, nil }
	require.NotNil(t, httptrace.ContextClientTrace(new(place).trace(t.Context(), &http.Transport{Proxy: none}, request)))
}

// The client of a sign-in follows five redirects, within an origin.
func TestClientsOfSignIns(t *testing.T) {
	server, home := parsed(t, "https://93.184.216.34/mcp"), &place{}
	c := authClient(nil, server, home)
	require.Equal(t, 30*time.Second, c.Timeout)
	g := c.Transport.(*authGuard)
	require.Same(t, server, g.server)
	require.Same(t, home, g.home)
	require.Equal(t, http.DefaultTransport, g.next)
	direct := g.direct.(*http.Transport)
	require.Nil(t, direct.Proxy)
	require.True(t, direct.DisableKeepAlives)
	_, err := direct.DialContext(t.Context(), "tcp", "127.0.0.1:1")
	require.ErrorContains(t, err, "127.0.0.1")
	require.NotContains(t, err.Error(), "refused", "it is not even tried")
	via := func(n int) []*http.Request {
		all := make([]*http.Request, n)
		for i := range all {
			all[i] = &http.Request{URL: parsed(t, "https://a.test/")}
		}
		return all
	}
	for _, check := range []func(*http.Request, []*http.Request) error{c.CheckRedirect} {
		require.NoError(t, check(&http.Request{URL: parsed(t, "https://a.test/x")}, via(4)))
		require.EqualError(t, check(&http.Request{URL: parsed(t, "https://a.test/x")}, via(5)), "too many redirects")
		require.EqualError(t, check(&http.Request{URL: parsed(t, "https://b.test/x?secret")}, via(1)), "the server names a sign-in address that is not allowed: https://a.test redirects to https://b.test")
	}
	own := &http.Client{Transport: named("own"), Timeout: 7}
	c = authClient(own, server, home)
	require.EqualValues(t, 7, c.Timeout)
	g = c.Transport.(*authGuard)
	require.Equal(t, named("own"), g.next)
	require.Nil(t, g.direct)
	require.Equal(t, named("own"), own.Transport, "the program's client stays")
	normal := client(t.Context(), own, "https://a.test", nil, &Limits{}, nil)
	require.EqualValues(t, 7, normal.Timeout)
	require.NoError(t, normal.CheckRedirect(nil, via(4)))
	require.EqualError(t, normal.CheckRedirect(nil, via(5)), "too many redirects")
	require.Equal(t, named("own"), normal.Transport.(*homeTripper).next)
	require.Equal(t, http.DefaultTransport, client(t.Context(), nil, "https://a.test", nil, &Limits{}, nil).Transport.(*homeTripper).next)
}

// memoryTokens is a store of tokens that can fail.
type memoryTokens struct {
	saved []string
	data  []byte
	err   error
}

func (m *memoryTokens) Load(_ context.Context, key string) ([]byte, error) { return m.data, m.err }

func (m *memoryTokens) Save(ctx context.Context, key string, data []byte) error {
	left := "without a deadline"
	if at, ok := ctx.Deadline(); ok && time.Until(at) <= 10*time.Second && time.Until(at) > time.Second {
		left = "soon"
	}
	m.saved = append(m.saved, key+" "+left+" "+string(data))
	return m.err
}

type source struct {
	token *oauth2.Token
	err   error
}

func (s *source) Token() (*oauth2.Token, error) { return s.token, s.err }

// Tokens are saved when they change, with all that is needed to refresh them.
func TestTokensAreKept(t *testing.T) {
	store, next := &memoryTokens{}, &source{token: &oauth2.Token{AccessToken: "one"}}
	k := &keeping{store: store, key: "server", next: next, kept: &kept{ClientID: "id", ClientSecret: "word", TokenURL: "https://a.test/token", AuthStyle: 2, Token: &oauth2.Token{AccessToken: "one"}}}
	got, err := k.Token()
	require.NoError(t, err)
	require.Same(t, next.token, got)
	require.Empty(t, store.saved)
	next.token = &oauth2.Token{AccessToken: "two", RefreshToken: "r"}
	for range 2 {
		got, err = k.Token()
		require.NoError(t, err)
		require.Equal(t, "two", got.AccessToken)
	}
	require.Equal(t, []string{`server soon {"client_id":"id","client_secret":"word","token_url":"https://a.test/token","auth_style":2,"token":{"access_token":"two","refresh_token":"r","expiry":"0001-01-01T00:00:00Z"}}`}, store.saved)
	next.token, store.err = &oauth2.Token{AccessToken: "three"}, os.ErrPermission
	_, err = k.Token()
	require.EqualError(t, err, "save token: permission denied")
	k.store = nil
	next.token = &oauth2.Token{AccessToken: "four"}
	_, err = k.Token()
	require.NoError(t, err)
	require.Equal(t, "four", k.kept.Token.AccessToken)

	next.err = errors.New("no network")
	_, err = k.Token()
	require.Equal(t, next.err, err)
	answer := &http.Response{StatusCode: 400, Status: "400 Bad Request"}
	next.err = fmt.Errorf("x: %w", &oauth2.RetrieveError{Response: answer, Body: []byte("secret"), ErrorCode: "invalid_grant", ErrorDescription: "secret"})
	_, err = k.Token()
	require.Equal(t, &oauth2.RetrieveError{Response: answer, ErrorCode: "invalid_grant"}, err)
	require.Equal(t, &oauth2.RetrieveError{Response: answer, ErrorCode: "refused"}, hidden(&oauth2.RetrieveError{Response: answer, Body: []byte("secret")}))
	valid, err := (&kept{Token: &oauth2.Token{AccessToken: "good", Expiry: time.Now().Add(time.Hour)}}).source(t.Context()).Token()
	require.NoError(t, err)
	require.Equal(t, "good", valid.AccessToken)
}

type silentUser struct{}

func (silentUser) RedirectURL() string { return "http://127.0.0.1:1/callback" }
func (silentUser) Authorize(context.Context, string) (Authorization, error) {
	return Authorization{}, nil
}

// A sign-in begins with what was kept. What cannot be read is an error, what is none is left out.
func TestSignInsBeginWithWhatWasKept(t *testing.T) {
	token, err := json.Marshal(kept{ClientID: "c", Token: &oauth2.Token{AccessToken: "good", Expiry: time.Now().Add(time.Hour)}})
	require.NoError(t, err)
	for text, want := range map[string]string{"": "", "{": "", "{}": "", `{"token":null}`: "", string(token): "good"} {
		store := &memoryTokens{}
		if text != "" {
			store.data = []byte(text)
		}
		h, err := (&OAuth{SignIn: silentUser{}, Tokens: store}).handler(t.Context(), "https://93.184.216.34/mcp", &place{})
		require.NoError(t, err)
		source, err := h.(*auth.AuthorizationCodeHandler).TokenSource(t.Context())
		require.NoError(t, err)
		if want == "" {
			require.Nil(t, source, text)
			continue
		}
		got, err := source.Token()
		require.NoError(t, err)
		require.Equal(t, want, got.AccessToken)
	}
	_, err = (&OAuth{SignIn: silentUser{}, Tokens: &memoryTokens{err: os.ErrPermission}}).handler(t.Context(), "https://a.test", &place{})
	require.EqualError(t, err, "load token: permission denied")
	_, err = (&OAuth{SignIn: silentUser{}}).handler(t.Context(), "https://a.test:x", &place{})
	require.EqualError(t, err, "the URL is not valid")
	for address, want := range map[string]string{
		"": "", "https://a.test/c.json": "", "https://a.test/": "x", "http://a.test/c": "x", "https:///c": "x", "https://a.test": "x", "https://a.test:x/c": "x", "https://a.test//": "x",
	} {
		err := (&OAuth{SignIn: silentUser{}, ClientURL: address}).check()
		if want == "" {
			require.NoError(t, err, address)
		} else {
			require.EqualError(t, err, fmt.Sprintf("OAuth.ClientURL is %q, must be an https address with a path", address))
		}
	}
	require.EqualError(t, (&OAuth{}).check(), "OAuth has no SignIn: set a Loopback, or an implementation of your own")
	require.EqualError(t, HTTP{URL: "https://a.test", OAuth: &OAuth{}}.check(), "OAuth has no SignIn: set a Loopback, or an implementation of your own")
	a := Authorization{Code: "secret", State: "secret", Issuer: "me\n" + strings.Repeat("x", 200)}
	shown := `mcptoolset.Authorization(me\n` + strings.Repeat("x", 197) + `…)`
	text, err := a.MarshalText()
	require.NoError(t, err)
	require.Equal(t, []string{shown, shown, shown, shown}, []string{a.String(), fmt.Sprintf("%#v", a), string(text), a.LogValue().String()})
	o := OAuth{ClientSecret: "secret"}
	text, err = o.MarshalText()
	require.NoError(t, err)
	require.Equal(t, []string{"mcptoolset.OAuth", "mcptoolset.OAuth", "mcptoolset.OAuth", "mcptoolset.OAuth"}, []string{o.String(), fmt.Sprintf("%+v", o), string(text), o.LogValue().String()})
	for _, transport := range []interface {
		MarshalText() ([]byte, error)
		LogValue() slog.Value
	}{Command{Path: "a"}, HTTP{URL: "https://a"}, SSE{URL: "https://a"}} {
		text, err := transport.MarshalText()
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(transport), string(text))
		require.Equal(t, string(text), transport.LogValue().String())
	}
}
