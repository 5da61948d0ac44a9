// SPDX-License-Identifier: Apache-2.0

package acphttp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acphttp"
)

func TestDialFollowsNoRedirect(t *testing.T) {
	var stolen atomic.Int64
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
	t.Cleanup(thief.Close)
	home := httptest.NewServer(http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect))
	t.Cleanup(home.Close)
	_, err := acphttp.DialWebSocket(t.Context(), strings.Replace(home.URL, "http", "ws", 1), "0123456789abcdef")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "0123456789abcdef")
	require.Zero(t, stolen.Load())
}

// Some servers take a token in the address. It is in no error.
func TestErrorsOfDiallingDoNotShowTheAddress(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	here := "ws" + strings.TrimPrefix(gone.URL, "http") + "/agent?token=hunter2"
	_, refused := acphttp.DialWebSocket(t.Context(), here, "hunter2")
	gone.Close()
	_, down := acphttp.DialWebSocket(t.Context(), here, "hunter2")
	_, malformed := acphttp.DialWebSocket(t.Context(), "ws://[::1/agent?token=hunter2", "hunter2")
	_, foreign := acphttp.DialWebSocket(t.Context(), "gopher://hunter2@host?token=hunter2", "hunter2")
	for _, err := range []error{refused, down, malformed, foreign} {
		require.ErrorContains(t, err, "acphttp: connect: ")
		require.NotContains(t, err.Error(), "hunter2")
	}
	require.ErrorIs(t, down, syscall.ECONNREFUSED)
}
