// SPDX-License-Identifier: Apache-2.0

package mcptoolset_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/fetch/fetchtest"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

// internet answers requests to any host, and keeps where they went.
type internet struct {
	at     string // the address of all hosts, or unknown
	mu     sync.Mutex
	asked  []string
	handle func(w http.ResponseWriter, r *http.Request)
}

func (n *internet) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	n.asked = append(n.asked, r.URL.String())
	n.mu.Unlock()
	if trace := httptrace.ContextClientTrace(r.Context()); n.at != "" && trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{Conn: connection{at: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(n.at))}})
	}
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	rec := httptest.NewRecorder()
	n.handle(rec, r)
	res := rec.Result()
	res.Request = r
	return res, nil
}

type connection struct {
	net.Conn
	at net.Addr
}

func (c connection) RemoteAddr() net.Addr { return c.at }

// visitor is a user who is sent somewhere.
type visitor struct {
	mu   sync.Mutex
	sent []string
}

func (*visitor) RedirectURL() string { return "http://127.0.0.1:1/callback" }

func (v *visitor) Authorize(_ context.Context, url string) (mcptoolset.Authorization, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sent = append(v.sent, url)
	return mcptoolset.Authorization{}, errors.New("the user does not want to")
}

// signIn connects to a server that names the addresses for signing in.
func signIn(t *testing.T, server string, addresses map[string]string) (asked, sent []string, err error) {
	t.Helper()
	return signInAt(t, "", server, addresses)
}

// signInAt is signIn for a server that answers at an address.
func signInAt(t *testing.T, answers, server string, addresses map[string]string) (asked, sent []string, err error) {
	t.Helper()
	origin := strings.TrimSuffix(server, "/mcp")
	at := func(role, path string) string {
		if named, ok := addresses[role]; ok {
			return named
		}
		return origin + path
	}
	n := &internet{at: answers}
	n.handle = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		issuer := at("issuer", "")
		switch {
		case r.URL.Path == "/mcp":
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+at("metadata", "/.well-known/oauth-protected-resource/mcp")+`"`)
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/moved":
			http.Redirect(w, r, addresses["moved"], http.StatusTemporaryRedirect)
		case strings.Contains(r.URL.Path, "oauth-protected-resource"):
			_ = json.NewEncoder(w).Encode(map[string]any{"resource": server, "authorization_servers": []string{issuer}})
		case strings.Contains(r.URL.Path, "oauth-authorization-server"):
			_ = json.NewEncoder(w).Encode(map[string]any{
				"issuer": issuer, "authorization_endpoint": at("authorization", "/authorize"), "token_endpoint": at("token", "/token"),
				"registration_endpoint": at("registration", "/register"), "response_types_supported": []string{"code"},
				"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
			})
		case r.URL.Path == "/register":
			w.WriteHeader(http.StatusCreated)
			_ = json.NewEncoder(w).Encode(map[string]any{"client_id": "c", "redirect_uris": []string{"http://127.0.0.1:1/callback"}, "token_endpoint_auth_method": "none"})
		default:
			http.NotFound(w, r)
		}
	}
	v := &visitor{}
	client := &http.Client{Transport: n}
	s := serve(t, newFake(nil), over(mcptoolset.HTTP{URL: server, Client: client, OAuth: &mcptoolset.OAuth{SignIn: v, Client: client}}))
	require.Empty(t, list(t, s, mcptoolset.Options[none]{}))
	require.Error(t, s.Status().Err)
	return n.asked, v.sent, s.Status().Err
}

const publicServer = "https://93.184.216.34/mcp"

// A public server cannot make this program ask machines that only this program reaches.
func TestSignInDoesNotReachPrivateAddresses(t *testing.T) {
	asked, sent, _ := signIn(t, publicServer, nil)
	require.NotEmpty(t, sent, "the user is sent to the server's own: %v", asked)
	for _, origin := range []string{
		"http://127.0.0.1:9", "https://127.0.0.1", "https://10.1.2.3", "https://169.254.169.254", "https://[::1]:8443", "https://[::ffff:10.0.0.1]", "https://localhost",
		"https://x.localhost.", "http://93.184.216.35", "http://93.184.216.34", "https://user:word@127.0.0.1", "file://127.0.0.1", "ftp://93.184.216.35", "https://0.0.0.0",
	} {
		for _, role := range []string{"metadata", "issuer", "authorization", "token", "registration", "moved"} {
			addresses := map[string]string{role: origin + map[string]string{
				"metadata": "/.well-known/oauth-protected-resource/mcp", "issuer": "", "authorization": "/authorize", "token": "/token", "registration": "/register", "moved": "/register",
			}[role]}
			if role == "moved" {
				addresses["registration"] = "https://93.184.216.34/moved"
			}
			asked, sent, _ := signIn(t, publicServer, addresses)
			for _, url := range append(asked, sent...) {
				require.NotContains(t, url, origin+"/", "%s", role)
			}
		}
	}
}

// Whoever has a server has its name, too, and can let it resolve to something private while the user signs in.
func TestSignInDoesNotBelieveTheNameOfAServer(t *testing.T) {
	before := net.DefaultResolver
	net.DefaultResolver = fetchtest.Resolver(func(string) []netip.Addr { return []netip.Addr{netip.MustParseAddr("127.0.0.1")} })
	t.Cleanup(func() { net.DefaultResolver = before })
	named := map[string]string{"registration": "http://127.0.0.1:9/register", "authorization": "http://127.0.0.1:9/authorize"}
	asked, sent, err := signInAt(t, "93.184.216.34:443", "https://server.test/mcp", named)
	require.Contains(t, asked, "https://server.test/mcp")
	require.NotContains(t, asked, "http://127.0.0.1:9/register")
	require.Empty(t, sent)
	require.ErrorContains(t, err, "not allowed")
	asked, _, _ = signInAt(t, "127.0.0.1:443", "https://server.test/mcp", named)
	require.Contains(t, asked, "http://127.0.0.1:9/register", "it is really here")
}

// The address of a proxy is not the server's.
func TestSignInDoesNotTakeAProxyForTheServer(t *testing.T) {
	const private = "http://127.0.0.1:9/.well-known/oauth-protected-resource/mcp"
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "http://server.test/mcp", r.URL.String())
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+private+`"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(proxy.Close)
	at, err := url.Parse(proxy.URL)
	require.NoError(t, err)
	through := &http.Transport{Proxy: http.ProxyURL(at)}
	t.Cleanup(through.CloseIdleConnections)
	n := &internet{handle: http.NotFound}
	s := serve(t, newFake(nil), over(mcptoolset.HTTP{
		URL: "http://server.test/mcp", Client: &http.Client{Transport: through},
		OAuth: &mcptoolset.OAuth{SignIn: &visitor{}, Client: &http.Client{Transport: n}},
	}))
	require.Empty(t, list(t, s, mcptoolset.Options[none]{}))
	require.ErrorContains(t, s.Status().Err, "authorization server metadata")
	require.NotContains(t, n.asked, private)
}

// Other public servers may sign users in, and servers near this program may name what is near.
func TestSignInReachesWhatIsAllowed(t *testing.T) {
	for server, origin := range map[string]string{
		publicServer: "https://93.184.216.35:8443", "http://127.0.0.1:3000/mcp": "http://127.0.0.1:4000",
		"http://localhost:3000/mcp": "http://[::1]:4000", "http://127.0.0.1:3001/mcp": "https://93.184.216.35",
	} {
		asked, sent, err := signIn(t, server, map[string]string{"issuer": origin, "authorization": origin + "/authorize", "token": origin + "/token", "registration": origin + "/register"})
		require.Contains(t, asked, origin+"/register", "%s: %v: %v", server, asked, err)
		require.NotEmpty(t, sent)
		require.True(t, strings.HasPrefix(sent[0], origin+"/authorize?"))
	}
}

// What is sent to sign in may be a secret, so no other server gets it by a redirect, a public one neither.
func TestSignInIsNotRedirectedToOtherServers(t *testing.T) {
	asked, sent, err := signIn(t, publicServer, map[string]string{
		"registration": "https://93.184.216.34/moved", "moved": "https://93.184.216.35/register",
	})
	require.Contains(t, asked, "https://93.184.216.34/moved")
	require.NotContains(t, asked, "https://93.184.216.35/register")
	require.Empty(t, sent)
	require.ErrorContains(t, err, "redirects to")
}
