// SPDX-License-Identifier: Apache-2.0

package acphttp_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acphttp"
)

// lockedBuffer is a log of several goroutines.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// TestTheLogHasConnections has what the log tells of a connection: the beginning of its name, which
// is a secret, and whether its agent has failed, but not with what.
func TestTheLogHasConnections(t *testing.T) {
	const failed = "level=WARN msg=\"acphttp: the agent ended with an error\" connection=ID\n"
	for failure, more := range map[error]string{nil: "", errors.New("s3cret"): failed} {
		synctest.Test(t, func(t *testing.T) {
			var log lockedBuffer
			serve := func(_ context.Context, in io.Reader, out io.Writer) error {
				_, _ = bufio.NewReader(in).ReadString('\n')
				_, _ = io.WriteString(out, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n")
				return failure
			}
			h, err := acphttp.New(acphttp.Config{
				Guard: acphttp.Guard{Token: token}, Serve: serve,
				Logger: slog.New(slog.NewTextHandler(&log, nil)),
			})
			require.NoError(t, err)
			r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/",
				strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			require.Equal(t, `{"jsonrpc":"2.0","id":1,"result":{}}`, strings.TrimSpace(w.Body.String()))
			id := w.Header().Get(acphttp.HeaderConnection)
			require.Greater(t, len(id), 20)
			synctest.Wait()
			require.NoError(t, h.Close())
			text := regexp.MustCompile(`(?m)^time=\S+ `).ReplaceAllString(log.buf.String(), "")
			require.NotContains(t, text, id[:7])
			require.NotContains(t, text, "s3cret")
			require.Equal(t, "level=INFO msg=\"acphttp: connection begins\" connection=ID\n"+more+
				"level=INFO msg=\"acphttp: connection ends\" connection=ID\n",
				strings.ReplaceAll(text, id[:6], "ID"))
		})
	}
}
