// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/fetch"
)

// A server may send 64 KiB of headers, and no more.
func TestHeadersOfServersAreBounded(t *testing.T) {
	size := 0
	at, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", size))
		_, _ = io.WriteString(w, "hello")
	})
	for n, good := range map[int]bool{60 << 10: true, 70 << 10: false, 200 << 10: false} {
		size = n
		_, err := fetch.New(policy(nil)).Get(t.Context(), at)
		require.Equal(t, good, err == nil, "%d: %v", n, err)
	}
}
