// SPDX-License-Identifier: Apache-2.0

package mcptoolset_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

// The status of a proxy is not told as if it were the server's. One that is asked for a page answers like a server, and cannot be told from it.
func TestProxyThatRefusesAServerIsNamed(t *testing.T) {
	for _, status := range []int{http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusBadGateway} {
		for to, named := range map[string]bool{"https://mcp.example/mcp": true, "http://mcp.example/mcp": false} {
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
			client := &http.Client{Transport: &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return url.Parse(proxy.URL) }}}
			s, err := mcptoolset.New(mcptoolset.Config{Name: "x", Transport: mcptoolset.HTTP{URL: to, Client: client}, Logger: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			in, err := mcptoolset.Tools(s, mcptoolset.Options[struct{}]{}).Open(t.Context(), &toolset.RunContext[struct{}]{})
			require.NoError(t, err)
			_, err = in.Tools(t.Context(), &toolset.RunContext[struct{}]{})
			require.NoError(t, err)
			text := s.Status().Err.Error()
			if named {
				require.Contains(t, text, "the proxy does not connect (")
				require.Contains(t, text, "check HTTPS_PROXY and NO_PROXY")
			} else {
				require.NotContains(t, text, "the proxy")
			}
			require.Contains(t, text, http.StatusText(status))
			require.NoError(t, in.Close(t.Context()))
			require.NoError(t, s.Close())
			client.CloseIdleConnections()
			proxy.Close()
		}
	}
}
