// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/webbridge"
)

// request makes a request of a program with the token, for handlers without a listener.
func request(ctx context.Context, method, path, body string) *http.Request {
	r := httptest.NewRequestWithContext(ctx, method, "http://localhost"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	if method != http.MethodGet {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// recorded returns a function that makes requests without a network, so that they work in bubbles of synctest.
func recorded(t *testing.T, h *webbridge.Handler) func(method, path, body string, status int) object {
	return func(method, path, body string, status int) object {
		t.Helper()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, request(t.Context(), method, path, body))
		require.Equal(t, status, w.Code, w.Body.String())
		v := object{}
		if w.Body.Len() > 0 {
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &v))
		}
		return v
	}
}

// discard takes what is written.
type discard struct{ header http.Header }

func (d discard) Header() http.Header          { return d.header }
func (discard) Write(data []byte) (int, error) { return len(data), nil }
func (discard) WriteHeader(int)                {}
func (discard) Flush()                         {}

func (s *server) health() int {
	w := httptest.NewRecorder()
	s.handler.Health().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	return w.Code
}

func metrics(h *webbridge.Handler) string {
	w := httptest.NewRecorder()
	h.Metrics().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	return w.Body.String()
}
