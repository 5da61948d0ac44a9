// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/view"
)

// TestAnswersToQuestionsThatAreOver answers a question that the API does not know. That is right only
// if the page does not show it any more: a question that stays open and cannot be answered is an error.
func TestAnswersToQuestionsThatAreOver(t *testing.T) {
	q := &view.Entity{ID: "question:r/1/c", Kind: view.Question, Status: view.Pending, Digest: "d", Choices: []view.Choice{{ID: "allow_once"}}}
	for what, test := range map[string]struct {
		looks int32 // for which the question is open
		fails bool
	}{
		"over":            {0, false},
		"over in a while": {3, false},
		"open":            {1 << 30, true},
	} {
		t.Run(what, func(t *testing.T) {
			var looks atomic.Int32
			serve := func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, "/events") {
					http.Error(w, "no such question", http.StatusNotFound)
					return
				}
				now := *q
				if looks.Add(1) > test.looks {
					now.Status = view.Cancelled
				}
				data, err := json.Marshal(view.Change{Op: view.Upsert, ID: q.ID, Entity: &now})
				if err != nil {
					panic(err)
				}
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprintf(w, "event: sessions\ndata: {\"sessions\":[{\"reset\":true,\"changes\":[%s],\"position\":\"p\"}]}\n\n", data)
			}
			server := httptest.NewServer(http.HandlerFunc(serve))
			defer server.Close()
			defer http.DefaultClient.CloseIdleConnections()
			address := strings.TrimPrefix(server.URL, "http://")
			p := &people{servers: &servers{t: t, addrs: [2]string{address, address}}, gone: 200 * time.Millisecond}
			if what == "over in a while" {
				p.gone = time.Minute
			}
			err := p.answer("s", q)
			if test.fails {
				require.ErrorContains(t, err, "404")
				require.ErrorContains(t, err, "but the question is open")
				require.Zero(t, p.over.Load())
				return
			}
			require.NoError(t, err)
			require.EqualValues(t, 1, p.over.Load())
		})
	}
}
