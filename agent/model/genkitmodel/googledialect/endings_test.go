// SPDX-License-Identifier: Apache-2.0

package googledialect_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adaptertest/endingtest"
)

func ending(wire string, r endingtest.Reply, req *http.Request) string {
	text, _ := json.Marshal(r.Text)
	parts := `{"text":` + string(text) + `}`
	if r.Args != "" {
		parts += `,{"functionCall":{"name":"act","args":` + r.Args + `}}`
	}
	body := fmt.Sprintf(`{"candidates":[{"index":0,"content":{"role":"model","parts":[%s]},"finishReason":%q}],"modelVersion":"m"}`, parts, wire)
	if strings.Contains(req.URL.Path, "stream") {
		return "data: " + body + "\r\n\r\n"
	}
	return body
}

func TestResponsesEndAsTheProviderSays(t *testing.T) {
	endings := []endingtest.Ending{{Wire: "STOP", Want: model.FinishStop}, {Wire: "MAX_TOKENS", Want: model.FinishLength}}
	for _, wire := range []string{"SAFETY", "RECITATION", "PROHIBITED_CONTENT"} {
		endings = append(endings, endingtest.Ending{Wire: wire, Want: model.FinishContentFilter})
	}
	for _, wire := range []string{"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MISSING_THOUGHT_SIGNATURE", "OTHER"} {
		endings = append(endings, endingtest.Ending{Wire: wire, Want: model.FinishError})
	}
	endingtest.Check(t, func(t testing.TB, url string) model.Model { return open(t, url, "gemini-test") }, ending, true, endings...)
}
