// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adaptertest/endingtest"
)

var chatEndings = []endingtest.Ending{
	{Wire: "stop", Want: model.FinishStop}, {Wire: "length", Want: model.FinishLength}, {Wire: "max_tokens", Want: model.FinishLength},
	{Wire: "content_filter", Want: model.FinishContentFilter}, {Wire: "safety", Want: model.FinishContentFilter},
	{Wire: "refusal", Want: model.FinishRefusal}, {Wire: "refused", Want: model.FinishRefusal},
	{Wire: "error", Want: model.FinishError}, {Wire: "insufficient_system_resource", Want: model.FinishError},
}

func isStreamed(r *http.Request) bool {
	body, _ := io.ReadAll(r.Body)
	return bytes.Contains(body, []byte(`"stream":true`))
}

// chatEnding is a reply of the chat protocol. The end "refused" is a message of the kind refusal.
func chatEnding(wire string, r endingtest.Reply, req *http.Request) string {
	field := "content"
	if wire == "refused" {
		field, wire = "refusal", "stop"
	}
	msg := fmt.Sprintf(`{"role":"assistant",%q:%s`, field, quote(r.Text))
	if r.Args != "" {
		msg += `,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"act","arguments":` + quote(r.Args) + `}}]`
	}
	msg += "}"
	if isStreamed(req) {
		return events(delta(msg), finish(wire))
	}
	return fmt.Sprintf(`{"id":"c1","object":"chat.completion","model":"m","choices":[{"index":0,"message":%s,"finish_reason":%q}]}`, msg, wire)
}

func TestChatResponsesEndAsTheProviderSays(t *testing.T) {
	endingtest.Check(t, func(t testing.TB, url string) model.Model { return newModel(t, url, "openai") }, chatEnding, false, chatEndings...)
}

// responseEnding is a reply of the Responses API.
func responseEnding(wire string, r endingtest.Reply, req *http.Request) string {
	status, reason, content := "incomplete", `{"reason":`+quote(wire)+`}`, `{"type":"output_text","annotations":[],"text":`
	switch wire {
	case "completed":
		status, reason = "completed", "null"
	case "refused":
		status, reason, content = "completed", "null", `{"type":"refusal","refusal":`
	case "incomplete":
		reason = "null"
	}
	output := `{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[` + content + quote(r.Text) + `}]}`
	if r.Args != "" {
		output += `,{"id":"fc_1","type":"function_call","call_id":"call_1","name":"act","status":"completed","arguments":` + quote(r.Args) + `}`
	}
	body := responseBody(status, `"incomplete_details":`+reason+`,`, output)
	if !isStreamed(req) {
		return body
	}
	return fmt.Sprintf("event: response.%[1]s\ndata: {\"type\":\"response.%[1]s\",\"response\":%s}\n\n", status, body)
}

func TestResponsesAPIEndsAsTheProviderSays(t *testing.T) {
	open := func(t testing.TB, url string) model.Model {
		return newResponses(t, url)
	}
	endingtest.Check(t, open, responseEnding, false,
		endingtest.Ending{Wire: "completed", Want: model.FinishStop}, endingtest.Ending{Wire: "max_output_tokens", Want: model.FinishLength},
		endingtest.Ending{Wire: "content_filter", Want: model.FinishContentFilter}, endingtest.Ending{Wire: "refused", Want: model.FinishRefusal},
		endingtest.Ending{Wire: "incomplete", Want: model.FinishError}, endingtest.Ending{Wire: "tired", Want: model.FinishError})
}
