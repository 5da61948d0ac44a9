// SPDX-License-Identifier: Apache-2.0

package geminimodel_test

import (
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

func TestContextLengthIsRecognised(t *testing.T) {
	open := func(t testing.TB, url string) model.Model { return newModel(t, url) }
	adaptertest.ContextLength(t, open, []string{"Google"}, map[string]func(string) string{
		"an event": func(body string) string { return "data: " + body + "\n\n" },
		"within a stream": func(body string) string {
			return `data: {"candidates":[{"content":{"role":"model","parts":[{"text":"hi"}]}}]}` + "\n\ndata: " + body + "\n\n"
		},
	})
}
