// SPDX-License-Identifier: Apache-2.0

package googledialect_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/internal/dev/matrix"
	"github.com/ponte-go/ponte/internal/fakegemini"
)

func TestConformance(t *testing.T) {
	var mu sync.Mutex
	sent := map[testing.TB]*strings.Builder{}
	headers := map[testing.TB]http.Header{}
	matrix.Conformance(t, "genkit googleai", modeltest.Harness{
		Provider: true, ArgsAsJSON: true,
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
				sent[t].WriteString(systemFirst(body))
				headers[t] = r.Header
				mu.Unlock()
				fakegemini.Wire{OneLine: true}.Play(w, r, s, strings.HasSuffix(r.URL.Path, ":streamGenerateContent"))
			}))
			t.Cleanup(server.Close)
			return open(t, server.URL, "test-model")
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
		Known: map[string]string{
			"A response is what the provider sent/a long integer":                              float,
			"A streamed response is the same message/a long integer":                           float,
			"An error of the provider is an APIError/429, with Retry-After":                    header,
			"An error of the provider is an APIError/503, with Retry-After":                    header,
			"An error of the provider is an APIError/529, with Retry-After":                    header,
			"Arguments that are not a JSON object are kept/not an object":                      object,
			"Streamed arguments that are not a JSON object are kept/not an object":             object,
			"What the provider wants back is sent back unchanged, and to no other/opaque part": "the plugin cannot send back code that Gemini has run",
		},
	})
}

const (
	float  = "the SDK decodes numbers in arguments as floating point"
	header = "the SDK's errors have no headers"
	object = "the SDK fails if arguments are not an object"
)

// systemFirst moves the instructions to where the model reads them, because the SDK sorts the members of the body by
// name.
func systemFirst(body []byte) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return string(body)
	}
	system := members["systemInstruction"]
	delete(members, "systemInstruction")
	rest, err := json.Marshal(members)
	if err != nil {
		return string(body)
	}
	return string(system) + string(rest)
}
