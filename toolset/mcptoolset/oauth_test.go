// SPDX-License-Identifier: Apache-2.0

package mcptoolset_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

// authority is an MCP server with an authorization server beside it.
type authority struct {
	url string
	mu  sync.Mutex
	// issued is the access token that is good. refreshed counts refreshes.
	issued    string
	n         int
	refreshed int
	expires   int
	signIns   int
	// registered has the programs that registered themselves, and asked those that asked for tokens.
	registered []map[string]any
	asked      []string
}

func newAuthority(t *testing.T, f *fake) *authority {
	a := &authority{expires: 3600}
	mux := http.NewServeMux()
	reply := func(w http.ResponseWriter, status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return f.Server }, nil)
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		ok := a.issued != "" && r.Header.Get("Authorization") == "Bearer "+a.issued
		a.mu.Unlock()
		if !ok {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/oauth-protected-resource/mcp"`, a.url))
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 200, map[string]any{"resource": a.url + "/mcp", "authorization_servers": []string{a.url}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 200, map[string]any{
			"issuer": a.url, "authorization_endpoint": a.url + "/authorize", "token_endpoint": a.url + "/token", "registration_endpoint": a.url + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
			"client_id_metadata_document_supported": true,
		})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var in map[string]any
		_ = json.NewDecoder(r.Body).Decode(&in)
		a.mu.Lock()
		a.registered = append(a.registered, maps.Clone(in))
		a.mu.Unlock()
		in["client_id"] = "client-1"
		reply(w, 201, in)
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.signIns++
		a.mu.Unlock()
		q := r.URL.Query()
		if q.Get("code_challenge") == "" || !strings.Contains(q.Get("client_id"), "client-") {
			http.Error(w, "bad", 400)
			return
		}
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {"code-secret"}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		a.mu.Lock()
		defer a.mu.Unlock()
		client, secret, basic := r.BasicAuth()
		a.asked = append(a.asked, cmp.Or(client, r.Form.Get("client_id"))+" "+cmp.Or(secret, r.Form.Get("client_secret")))
		if basic && client == "" {
			reply(w, 401, map[string]any{"error": "invalid_client"})
			return
		}
		switch {
		case r.Form.Get("grant_type") == "authorization_code" && r.Form.Get("code") == "code-secret" && r.Form.Get("code_verifier") != "":
		case r.Form.Get("grant_type") == "refresh_token" && r.Form.Get("refresh_token") == "refresh-secret":
			a.refreshed++
		default:
			reply(w, 400, map[string]any{"error": "invalid_grant", "error_description": "refresh-secret is no good"})
			return
		}
		a.n++
		a.issued = fmt.Sprintf("token-secret-%d", a.n)
		reply(w, 200, map[string]any{"access_token": a.issued, "token_type": "Bearer", "expires_in": a.expires, "refresh_token": "refresh-secret"})
	})
	a.url = web(t, mux).URL
	return a
}

// browser visits an address as a user's browser would.
func browser(ctx context.Context, address string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	return errors.Join(res.Body.Close())
}

func TestOAuth(t *testing.T) {
	f := newFake(nil)
	f.tool("echo", echo)
	a := newAuthority(t, f)
	dir := filepath.Join(t.TempDir(), "tokens")
	var log logBuffer
	connect := func() *mcptoolset.Server {
		signIn, err := mcptoolset.NewLoopback(browser)
		require.NoError(t, err)
		t.Cleanup(func() { _ = signIn.Close() })
		o := &mcptoolset.OAuth{SignIn: signIn, Tokens: mcptoolset.FileTokens{Dir: dir}, ClientSecret: "client-secret"}
		require.NotContains(t, fmt.Sprintf("%v %+v %#v", o, *o, o), "client-secret")
		return serve(t, f, over(mcptoolset.HTTP{URL: a.url + "/mcp", OAuth: o}), func(c *mcptoolset.Config) {
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		})
	}
	s := connect()
	res, err := call(t, s, nil, "r", "s_echo", `{"a":1}`)
	require.NoError(t, err, s.Status().Err)
	require.Equal(t, `{"a":1}`, res.Text)
	require.Equal(t, 1, a.signIns)

	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 1)
	info, err := files[0].Info()
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	// Another process does not ask the user again.
	require.NoError(t, s.Close())
	s = connect()
	_, err = call(t, s, nil, "r", "s_echo", `{}`)
	require.NoError(t, err)
	require.Equal(t, 1, a.signIns)
	require.Zero(t, a.refreshed)
	require.NoError(t, s.Close())

	// A token that has expired is refreshed, and kept.
	name := filepath.Join(dir, files[0].Name())
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	var kept map[string]any
	require.NoError(t, json.Unmarshal(data, &kept))
	kept["token"].(map[string]any)["expiry"] = "2001-01-01T00:00:00Z"
	data, err = json.Marshal(kept)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, data, 0o600))
	s = connect()
	_, err = call(t, s, nil, "r", "s_echo", `{}`)
	require.NoError(t, err)
	require.Equal(t, 1, a.signIns)
	require.Equal(t, 1, a.refreshed)
	data, err = os.ReadFile(name)
	require.NoError(t, err)
	require.Contains(t, string(data), "token-secret-2")
	require.NotContains(t, log.String(), "secret")
}

// A program that is not registered registers itself, under its name. One that is uses its
// identifier, and its secret if it has one.
func TestProgramsIdentifyThemselves(t *testing.T) {
	for _, c := range []struct {
		oauth      mcptoolset.OAuth
		registered string // the name
		asked      string
	}{
		{mcptoolset.OAuth{}, "ponte", "client-1 "},
		{mcptoolset.OAuth{ClientName: "Desk"}, "Desk", "client-1 "},
		{mcptoolset.OAuth{ClientURL: "https://a.test/client-3"}, "", "https%3A%2F%2Fa.test%2Fclient-3 "},
		{mcptoolset.OAuth{ClientID: "client-2", ClientName: "Desk"}, "", "client-2 "},
		{mcptoolset.OAuth{ClientID: "client-2", ClientSecret: "word"}, "", "client-2 word"},
	} {
		f := newFake(nil)
		f.tool("echo", echo)
		a := newAuthority(t, f)
		signIn, err := mcptoolset.NewLoopback(browser)
		require.NoError(t, err)
		c.oauth.SignIn = signIn
		s := serve(t, f, over(mcptoolset.HTTP{URL: a.url + "/mcp", OAuth: &c.oauth}))
		res, err := call(t, s, nil, "r", "s_echo", `{}`)
		require.NoError(t, err, s.Status().Err)
		require.Equal(t, "{}", res.Text)
		require.Equal(t, []string{c.asked}, a.asked)
		if c.registered == "" {
			require.Empty(t, a.registered)
		} else {
			require.Equal(t, []map[string]any{{
				"client_name": c.registered, "redirect_uris": []any{signIn.RedirectURL()},
				"grant_types": []any{"authorization_code", "refresh_token"}, "response_types": []any{"code"},
				"token_endpoint_auth_method": "none", "application_type": "native",
			}}, a.registered)
		}
		require.NoError(t, signIn.Close())
	}
}

func TestOAuthThatTheUserRefuses(t *testing.T) {
	f := newFake(nil)
	a := newAuthority(t, f)
	signIn, err := mcptoolset.NewLoopback(func(ctx context.Context, address string) error {
		u, err := url.Parse(address)
		if err != nil {
			return err
		}
		return browser(ctx, u.Query().Get("redirect_uri")+"?error=access_denied")
	})
	require.NoError(t, err)
	defer signIn.Close()
	s := serve(t, f, over(mcptoolset.HTTP{URL: a.url + "/mcp", OAuth: &mcptoolset.OAuth{SignIn: signIn}}))
	require.Empty(t, list(t, s, mcptoolset.Options[none]{}))
	require.ErrorContains(t, s.Status().Err, "access_denied")
	_, err = mcptoolset.New(mcptoolset.Config{Name: "s", Transport: mcptoolset.HTTP{URL: a.url, OAuth: &mcptoolset.OAuth{}}})
	require.ErrorContains(t, err, "OAuth has no SignIn")
	for _, address := range []string{"http://example.com/client.json", "https://example.com", "https://example.com/", "/client.json"} {
		_, err = mcptoolset.New(mcptoolset.Config{Name: "s", Transport: mcptoolset.HTTP{URL: a.url, OAuth: &mcptoolset.OAuth{SignIn: signIn, ClientURL: address}}})
		require.ErrorContains(t, err, "must be an https address with a path")
	}
	_, err = mcptoolset.NewLoopback(nil)
	require.Error(t, err)
}

func TestFileTokensRemove(t *testing.T) {
	store := mcptoolset.FileTokens{Dir: t.TempDir()}
	data, err := store.Load(t.Context(), "k")
	require.NoError(t, err)
	require.Nil(t, data)
	require.NoError(t, store.Save(t.Context(), "k", []byte("x")))
	data, err = store.Load(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, "x", string(data))
	require.NoError(t, store.Save(t.Context(), "k", nil))
	require.NoError(t, store.Save(t.Context(), "k", nil))
	data, err = store.Load(t.Context(), "k")
	require.NoError(t, err)
	require.Nil(t, data)
}
