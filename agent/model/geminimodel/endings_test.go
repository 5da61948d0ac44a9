// SPDX-License-Identifier: Apache-2.0

package geminimodel_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adaptertest/endingtest"
)

func ending(wire string, r endingtest.Reply, req *http.Request) string {
	text, _ := json.Marshal(r.Text)
	parts := []string{`{"text":` + string(text) + `}`}
	if r.Args != "" {
		parts = append(parts, `{"functionCall":{"name":"act","args":`+r.Args+`}}`)
	}
	body := chunk(wire, parts...)
	if strings.Contains(req.URL.Path, "stream") {
		return events(body)
	}
	return body
}

func TestResponsesEndAsTheProviderSays(t *testing.T) {
	endings := []endingtest.Ending{{Wire: "STOP", Want: model.FinishStop}, {Wire: "MAX_TOKENS", Want: model.FinishLength}}
	for _, wire := range []string{"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY"} {
		endings = append(endings, endingtest.Ending{Wire: wire, Want: model.FinishContentFilter})
	}
	for _, wire := range []string{"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"} {
		endings = append(endings, endingtest.Ending{Wire: wire, Want: model.FinishError})
	}
	open := func(t testing.TB, url string) model.Model { return newModel(t, url) }
	endingtest.Check(t, open, ending, true, endings...)
}
