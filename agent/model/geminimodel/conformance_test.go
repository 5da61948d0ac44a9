// SPDX-License-Identifier: Apache-2.0

package geminimodel_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/geminimodel"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/internal/dev/matrix"
	"github.com/ponte-go/ponte/internal/fakegemini"
)

func TestConformance(t *testing.T) {
	matrix.Conformance(t, "geminimodel", harness("/v1beta/models/test-model"))
}

func TestConformanceOfVertexAI(t *testing.T) {
	modeltest.Conformance(t, harness(
		"/v1beta1/projects/acme/locations/europe-west4/publishers/google/models/test-model", onVertex))
}

// harness plays scenarios to models that must use path.
func harness(path string, change ...func(*geminimodel.Config)) modeltest.Harness {
	wire := fakegemini.Wire{BareEnd: true}
	var mu sync.Mutex
	sent := map[testing.TB]*strings.Builder{}
	headers := map[testing.TB]http.Header{}
	return modeltest.Harness{
		Provider: true, Citations: true,
		New: func(t testing.TB, s modeltest.Scenario) model.Model {
			if why := fakegemini.Impossible(s); why != "" {
				t.Skip(why)
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				if sent[t] == nil {
					sent[t] = &strings.Builder{}
				}
				sent[t].Write(body)
				headers[t] = r.Header
				mu.Unlock()
				switch r.URL.String() {
				case path + ":generateContent":
					wire.Play(w, r, s, false)
				case path + ":streamGenerateContent?alt=sse":
					wire.Play(w, r, s, true)
				default:
					http.Error(w, "no such page", http.StatusNotFound)
				}
			}))
			t.Cleanup(server.Close)
			return newModel(t, server.URL, change...)
		},
		Sent: func(t testing.TB) string {
			mu.Lock()
			defer mu.Unlock()
			if sent[t] == nil {
				return ""
			}
			return sent[t].String()
		},
		SentHeader: func(t testing.TB) http.Header {
			mu.Lock()
			defer mu.Unlock()
			return headers[t]
		},
	}
}
