// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/internal/dev/matrix"
)

func TestResponsesConformance(t *testing.T) {
	var seen seen
	matrix.Conformance(t, "openaimodel-responses", seen.watch(modeltest.Harness{
		Provider: true, Citations: true,
		New: func(t testing.TB, s modeltest.Scenario) model.Model {
			server := seen.serve(t, func(w http.ResponseWriter, r *http.Request, body string) {
				playResponse(w, r, s, strings.Contains(body, `"stream":true`))
			})
			if s.Answer != nil {
				for _, p := range s.Answer.Parts {
					if p.Kind == model.PartToolCall && len(p.Signature) > 0 {
						t.Skip("the Responses API signs reasoning, not calls")
					}
				}
			}
			return newResponses(t, server)
		},
	}))
}

// newResponses returns a model that does not retry, unless change says otherwise.
func newResponses(t testing.TB, baseURL string, change ...func(*openaimodel.Config)) *openaimodel.Responses {
	t.Helper()
	config := openaimodel.Config{
		Name: "test-model", BaseURL: baseURL, Provider: "openai", APIKey: testKey,
		Retry: model.RetryPolicy{Attempts: 1},
	}
	for _, f := range change {
		f(&config)
	}
	m, err := openaimodel.NewResponses(config)
	require.NoError(t, err)
	return m
}

// playResponse answers a request according to a scenario, in the form of the Responses API.
func playResponse(w http.ResponseWriter, r *http.Request, s modeltest.Scenario, streamed bool) {
	switch {
	case s.Answer == nil && s.Error != nil:
		play(w, r, s, streamed) // errors have the form of Chat Completions
		return
	case s.Fault == modeltest.FaultEmpty && streamed:
		answer{Body: itemEvents(`{"type":"response.completed","response":` + responseBody("completed", "", "") + `}`)}.WriteTo(w)
		return
	case s.Fault == modeltest.FaultEmpty:
		answer{Body: responseBody("completed", "", "")}.WriteTo(w)
		return
	}
	body := " "
	switch {
	case s.Answer != nil && streamed:
		body = responseStream(s)
	case s.Answer != nil && !s.Silent:
		body = wholeResponse(s)
		if s.Fault == modeltest.FaultTruncated {
			body = body[:strings.LastIndex(body, `"usage"`)]
		}
	}
	if !s.Silent {
		answer{Body: body}.WriteTo(w)
		return
	}
	_, _ = fmt.Fprint(w, body)
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// itemEvents makes a stream of events as OpenAI does, with the type as the event's name too.
func itemEvents(events ...string) string {
	var b strings.Builder
	for i, e := range events {
		_, rest, _ := strings.Cut(e, `{"type":"`)
		name, rest, _ := strings.Cut(rest, `"`)
		fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q,\"sequence_number\":%d%s\n\n", name, name, i, rest)
	}
	return b.String()
}

func responseBody(status, more, output string) string {
	return fmt.Sprintf(`{"id":"resp_1","object":"response","created_at":1,"status":%q,"error":null,%s"instructions":"x","model":"m","output":[%s],`+
		`"parallel_tool_calls":true,"tools":[],"usage":null}`, status, more, output)
}

// wholeResponse returns a scenario's answer as a complete response.
func wholeResponse(s modeltest.Scenario) string {
	var items []string
	for i, p := range s.Answer.Parts {
		if p.Kind != model.PartCitation {
			items = append(items, annotated(s.Answer.Parts[i+1:], outputItem(i, p, true)))
		}
	}
	status, reason := "completed", "null"
	switch {
	case s.Fault == modeltest.FaultFinish:
		status = "banana"
	case s.Answer.Finish == model.FinishLength:
		status, reason = "incomplete", `{"reason":"max_output_tokens"}`
	case s.Answer.Finish == model.FinishContentFilter:
		status, reason = "incomplete", `{"reason":"content_filter"}`
	}
	body := responseBody(status, `"incomplete_details":`+reason+`,`, strings.Join(items, ","))
	u := s.Answer.Usage
	return strings.Replace(body, `"usage":null`, fmt.Sprintf(`"usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d},`+
		`"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":0}`,
		u.InputTokens, u.CacheReadTokens, u.CacheWriteTokens, u.OutputTokens, u.ReasoningTokens), 1)
}

// annotated returns the item of a text with the citations that follow it.
func annotated(behind []model.Part, item string) string {
	return strings.Replace(item, `"annotations":[]`, `"annotations":[`+strings.Join(annotations(behind), ",")+`]`, 1)
}

// annotations returns the citations that the parts begin with.
func annotations(parts []model.Part) []string {
	var all []string
	for _, p := range parts {
		if p.Kind != model.PartCitation {
			break
		}
		all = append(all, string(p.Data))
	}
	return all
}

// outputItem returns a part as an item, complete or as at its start.
func outputItem(i int, p model.Part, complete bool) string {
	status := map[bool]string{true: "completed", false: "in_progress"}[complete]
	text := func(form string) string {
		if !complete || p.Text == "" {
			return "[]"
		}
		return fmt.Sprintf(form, quote(p.Text))
	}
	switch p.Kind {
	case model.PartThinking:
		encrypted := "null"
		if len(p.Signature) > 0 {
			encrypted = quote(string(p.Signature))
		}
		return fmt.Sprintf(`{"id":"rs_%d","type":"reasoning","summary":%s,"encrypted_content":%s,"status":%q}`,
			i, text(`[{"type":"summary_text","text":%s}]`), encrypted, status)
	case model.PartToolCall:
		args := ""
		if complete {
			args = string(p.Args)
		}
		id := quote(p.CallID)
		if p.CallID == "" {
			id = "null"
		}
		return fmt.Sprintf(`{"id":"fc_%d","type":"function_call","status":%q,"arguments":%s,"call_id":%s,"name":%q}`, i, status, quote(args), id, p.Tool)
	case model.PartOpaque:
		return fmt.Sprintf(`{"id":"ws_%d", "type":"web_search_call","status":%q,"action":{"type":"search","query":%q}}`, i, status, p.Data)
	case model.PartMedia:
		result := "null"
		if complete {
			result = quote(base64.StdEncoding.EncodeToString(p.Data))
		}
		return fmt.Sprintf(`{"id":"ig_%d","type":"image_generation_call","status":%q,"output_format":%q,"result":%s}`,
			i, status, strings.TrimPrefix(p.MediaType, "image/"), result)
	}
	return fmt.Sprintf(`{"id":"msg_%d","type":"message","status":%q,"role":"assistant","content":%s}`,
		i, status, text(`[{"type":"output_text","annotations":[],"logprobs":[],"text":%s}]`))
}

// responseStream returns a stream that ends as the scenario says.
func responseStream(s modeltest.Scenario) string {
	list := []string{
		`{"type":"response.created","response":` + responseBody("in_progress", "", "") + `}`,
		`{"type":"response.in_progress","response":` + responseBody("in_progress", "", "") + `}`,
	}
	for i, p := range s.Answer.Parts {
		if p.Kind == model.PartCitation {
			continue
		}
		at := fmt.Sprintf(`"item_id":"x_%d","output_index":%d`, i, i)
		list = append(list, fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":%s}`, i, outputItem(i, p, false)))
		kind, whole := "output_text", p.Text
		switch p.Kind {
		case model.PartThinking:
			kind, at = "reasoning_summary_text", at+`,"summary_index":0`
		case model.PartToolCall:
			kind, whole = "function_call_arguments", string(p.Args)
		}
		for piece := range strings.SplitAfterSeq(whole, " ") {
			if piece != "" {
				list = append(list, fmt.Sprintf(`{"type":"response.%s.delta",%s,"content_index":0,"delta":%s,"obfuscation":"x7"}`, kind, at, quote(piece)))
			}
		}
		for n, a := range annotations(s.Answer.Parts[i+1:]) {
			list = append(list, fmt.Sprintf(`{"type":"response.output_text.annotation.added",%s,"content_index":0,"annotation_index":%d,"annotation":%s}`, at, n, a))
		}
		list = append(list,
			fmt.Sprintf(`{"type":"response.%s.done",%s,"text":%s}`, kind, at, quote(whole)),
			fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, i, annotated(s.Answer.Parts[i+1:], outputItem(i, p, true))))
	}
	whole := wholeResponse(s)
	end := "response.completed"
	if strings.Contains(whole, `"status":"incomplete"`) {
		end = "response.incomplete"
	}
	switch {
	case s.Error != nil:
		list = append(list, fmt.Sprintf(`{"type":"error","code":%q,"message":%q,"param":null}`, s.Error.Code, s.Error.Message))
	case s.Fault == modeltest.FaultTruncated:
		return itemEvents(list[:len(list)-2]...)
	case !s.Silent:
		list = append(list, fmt.Sprintf(`{"type":%q,"response":%s}`, end, whole))
	}
	return itemEvents(list...)
}
