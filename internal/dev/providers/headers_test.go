// SPDX-License-Identifier: Apache-2.0

package providers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// Gateways take keys in headers of their own, and quote what they refuse.
func TestErrorsDoNotQuoteExtraHeaders(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said, _ := json.Marshal(fmt.Sprint(r.Header))
		w.Header().Set("X-Request-Id", r.Header.Get("X-Gateway-Key"))
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `{"error":{"message":%s,"code":%[1]s,"type":%[1]s,"status":%[1]s}}`, said)
	}))
	defer server.Close()
	settings := &model.Settings{ExtraHeaders: map[string]string{
		"X-Gateway-Key": "gw-secret-1", "Gateway-Auth": "Bearer gw-secret-2", "Anthropic-Beta": "new-thing-2026", "Short": "a",
	}}
	for name, m := range openAll(t, model.OpenOptions{BaseURL: server.URL, APIKey: "k"}) {
		t.Run(name, func(t *testing.T) {
			_, err := m.Generate(t.Context(), &model.Request{Messages: []*model.Message{model.UserText("hi")}, Settings: settings}, nil)
			var refused *model.APIError
			require.ErrorAs(t, err, &refused)
			text := fmt.Sprintf("%v %+v %#v", err, *refused, *refused)
			require.NotContains(t, text, "gw-secret")
			require.GreaterOrEqual(t, strings.Count(text, "[redacted]"), 3)
			require.Contains(t, text, "new-thing-2026", "what the error is about stays")
		})
	}
}
