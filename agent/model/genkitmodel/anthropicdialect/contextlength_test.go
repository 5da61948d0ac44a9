// SPDX-License-Identifier: Apache-2.0

package anthropicdialect_test

import (
	"net/http/httptest"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

func TestContextLengthIsRecognised(t *testing.T) {
	open := func(t testing.TB, url string) model.Model {
		return newModel(t, &endpoint{Server: &httptest.Server{URL: url}})
	}
	adaptertest.ContextLength(t, open, []string{"Anthropic"}, map[string]func(string) string{
		"an event": func(body string) string { return "event: error\ndata: " + body + "\n\n" },
	})
}
