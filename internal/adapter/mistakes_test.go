// SPDX-License-Identifier: Apache-2.0

package adapter_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

func TestBaseURLsWithoutASchemeAreNamed(t *testing.T) {
	const missing = "Config.BaseURL must start with http:// or https://"
	const blank = "Config.BaseURL has white space around it, such as a newline"
	for s, want := range map[string]string{
		"https://api.example.com/v1\n": blank, " https://api.example.com": blank, "sk-a-key\n": blank,
		"localhost:11434/v1": missing, "localhost:11434": missing, "127.0.0.1:8080/v1": missing, "api.example.com/v1": missing, "[::1]:80": missing,
		"//api.example.com": missing, "sk-a-key-in-the-wrong-field": missing, "user:secret@host/v1": missing, "/v1": missing, "": missing,
		"host:80/v1?next=https://x.example": missing, "https:/host": missing, "https:host": missing,
		"ftp://user:secret@host/v1?key=1": `Config.BaseURL "ftp://host/v1" must start with http:// or https://`,
		"https:///v1":                     "Config.BaseURL has no host",
		"http://:80/v1":                   "Config.BaseURL has no host", "http://": "Config.BaseURL has no host",
		"https://user:secret@ho st": "Config.BaseURL is not a valid URL",
	} {
		_, err := adapter.ParseBaseURL(s)
		require.EqualError(t, err, want, s)
	}
	for _, s := range []string{"http://localhost:1/v1", "HTTPS://api.example.com", "https://user:pass@host?x=1"} {
		_, err := adapter.ParseBaseURL(s)
		require.NoError(t, err)
	}
}

func TestProxyThatDoesNotAnswerIsNamed(t *testing.T) {
	const closed = "127.0.0.1:1" // a port that was free a moment ago may be the server's
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	for _, proxy := range []string{"http://" + closed, "socks5://" + closed} {
		for _, to := range []string{"https://model.example/v1", server.URL} {
			client := &http.Client{Transport: &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return url.Parse(proxy) }}}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to, nil)
			require.NoError(t, err)
			_, err = client.Do(req)
			require.Error(t, err)
			e := adapter.TransportError(model.Info{Provider: "p", Name: "m"}, to, err, func(s string) string { return s })
			require.Contains(t, e.Message, "the proxy for "+to+" fails: check HTTPS_PROXY, HTTP_PROXY and NO_PROXY", "%s: %v", proxy, err)
			require.Contains(t, e.Message, "connection refused")
			require.True(t, e.Retryable)
		}
	}
}

// What a proxy says that refuses a tunnel looks like what the server might say: the text names both.
func TestProxyThatRefusesIsNamed(t *testing.T) {
	for _, status := range []int{http.StatusProxyAuthRequired, http.StatusForbidden, http.StatusBadGateway, http.StatusFound} {
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			require.Equal(t, http.MethodConnect, r.Method)
			w.WriteHeader(status)
		}))
		transport := &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return url.Parse(proxy.URL) }}
		const to = "https://model.example/v1"
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to, nil)
		require.NoError(t, err)
		_, err = (&http.Client{Transport: transport}).Do(req)
		proxy.Close()
		require.Error(t, err)
		e := adapter.TransportError(model.Info{Provider: "p", Name: "m"}, to, err, func(s string) string { return s })
		require.Equal(t, "no answer from "+to+" or a proxy ("+http.StatusText(status)+")", e.Message)
	}
}

// A gateway quotes the key that it refuses, and its answer may be cut off within the key.
func TestKeysInHeadersAreHiddenAlsoInPart(t *testing.T) {
	const key = "Bearer key-0123456789"
	for said, want := range map[string]string{
		"refused: key-0123456789":          "refused: [redacted]",
		"refused: " + key + "!":            "refused: [redacted]!",
		"refused: key-0123456…":            "refused: [redacted]",
		"refused: key-012345678…":          "refused: [redacted]",
		"refused: key-…":                   "refused: [redacted]",
		"refused: key…":                    "refused: key…",
		"refused: key-0123456… and more":   "refused: key-0123456… and more",
		"nothing of the kind is in this …": "nothing of the kind is in this …",
	} {
		err := &model.APIError{Message: said, Code: said, Type: said, RequestID: said}
		adapter.HideHeaders(err, map[string]string{"X-Gateway-Key": key, "X-Beta": "refused"})
		require.Equal(t, []string{want, want, want, want}, []string{err.Message, err.Code, err.Type, err.RequestID})
	}
}
