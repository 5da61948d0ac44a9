// SPDX-License-Identifier: Apache-2.0

package acphttp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
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
