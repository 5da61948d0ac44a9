// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/webbridge"
)

// An answer can be resumed while it is written, and for five seconds after its end.
func TestAnswersAreResumedUntilFiveSecondsAfterTheirEnd(t *testing.T) {
	for after, want := range map[time.Duration]int{0: 200, 5 * time.Second: 200, 5*time.Second + 1: 204} {
		bubble(t, func(t *testing.T) {
			h := newHandler(t, options{Options: webbridge.Options{
				Linger: time.Hour, Protocols: []webbridge.Protocol{webbridge.UIStream(webbridge.UIStreamOptions{})},
			}})
			_, err := h.Host().Store().Create(t.Context(), session.New{ID: "one"})
			require.NoError(t, err)
			recorded(t, h)("POST", "/api/sessions/one/prompts", `{"parts":[{"text":"x"}]}`, 202)
			synctest.Wait()
			time.Sleep(after)
			w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
			h.ServeHTTP(w, request(t.Context(), "GET", "/api/chat/one/stream", ""))
			require.Equal(t, want, w.Code)
			require.Equal(t, want == 200, strings.Contains(w.Body.String(), `"type":"finish"`), w.Body.String())
			require.NoError(t, h.Shutdown(t.Context()))
		})
	}
}
