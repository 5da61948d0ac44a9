// SPDX-License-Identifier: Apache-2.0

package anthropicdialect_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/internal/dev/matrix"
)

func TestConformance(t *testing.T) {
	var endpoints sync.Map
	matrix.Conformance(t, "genkit anthropic", modeltest.Harness{
		Provider: true,
		New: func(t testing.TB, s modeltest.Scenario) model.Model {
			skipWhatTheWireCannotSay(t, s)
			e := serve(t, func(w http.ResponseWriter, r *http.Request, body string) { play(w, r, s) })
			endpoints.Store(t, e)
			return newModel(t, e)
		},
		Sent: func(t testing.TB) string {
			if e, ok := endpoints.Load(t); ok {
				return e.(*endpoint).sent()
			}
			return ""
		},
		Known: map[string]string{
			"Usage is what the provider counted/read from a cache":                             cache,
			"Usage is what the provider counted/written to a cache":                            cache,
			"Usage is what the provider counted/reasoning":                                     "the plugin drops the count of reasoning tokens",
			"An unknown finish reason is not an error":                                         "the plugin reports refusals and unknown finish reasons alike, so both are failures",
			"A withheld response says so":                                                      "the plugin reports refusals and unknown finish reasons alike",
			"Arguments that are not a JSON object are kept/cut off":                            notJSON,
			"Arguments that are not a JSON object are kept/not JSON":                           notJSON,
			"Streamed arguments that are not a JSON object are kept/cut off":                   notJSON,
			"Streamed arguments that are not a JSON object are kept/not JSON":                  notJSON,
			"What the provider wants back is sent back unchanged, and to no other/opaque part": "the plugin fails if there is redacted thinking",
		},
	})
}

const (
	cache   = "the plugin drops the counts of cached tokens"
	notJSON = "the SDK fails if arguments are not JSON"
)

func skipWhatTheWireCannotSay(t testing.TB, s modeltest.Scenario) {
	if s.Answer == nil {
		return
	}
	for _, p := range s.Answer.Parts {
		switch {
		case p.Kind == model.PartMedia:
			t.Skip("the Messages API returns no media")
		case p.Kind == model.PartToolCall && len(p.Signature) > 0:
			t.Skip("the Messages API does not sign calls")
		}
	}
}

// play answers a request according to a scenario. The plugin always asks for a stream.
func play(w http.ResponseWriter, r *http.Request, s modeltest.Scenario) {
	// The SDK retries unless told not to.
	header := []string{"X-Should-Retry", "false", "Request-Id", "req_1"}
	refusal := ""
	if s.Error != nil {
		refusal = wireError(s.Error)
		if s.Error.RetryAfter > 0 {
			header = append(header, "Retry-After", fmt.Sprint(int(s.Error.RetryAfter.Seconds())))
		}
	}
	if s.Answer == nil && s.Error != nil {
		say(s.Error.Status, refusal, header...)(w, r, "")
		return
	}
	var stream []string
	if s.Answer != nil && s.Fault != modeltest.FaultEmpty {
		begin, blocks, end := wireEvents(s)
		stream = append(begin, blocks...)
		switch {
		case s.Error != nil:
			stream = append(stream, refusal)
		case s.Silent:
		case s.Fault == modeltest.FaultTruncated:
			stream = stream[:len(stream)-1]
		default:
			stream = append(stream, end...)
		}
	}
	say(200, events(stream...), header...)(w, r, "")
	if s.Silent {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

// wireError returns an error in the API's form, which has types instead of codes.
func wireError(e *model.APIError) string {
	kind, message := e.Type, e.Message
	switch {
	case e.Code == "context_length_exceeded":
		kind, message = "invalid_request_error", "prompt is too long: "+message
	case e.Code == "insufficient_quota":
		kind = "billing_error"
	case kind == "":
		kind = map[int]string{
			400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
			429: "rate_limit_error", 500: "api_error", 503: "overloaded_error", 529: "overloaded_error",
		}[e.Status]
	}
	return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q}}`, kind, message)
}

func quote(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// wireEvents returns the events of a stream, with text and arguments in pieces.
func wireEvents(s modeltest.Scenario) (begin, blocks, end []string) {
	m := s.Answer
	begin = []string{fmt.Sprintf(`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],
		"stop_reason":null,"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,"output_tokens":1}}}`,
		m.Usage.InputTokens-m.Usage.CacheReadTokens-m.Usage.CacheWriteTokens, m.Usage.CacheReadTokens, m.Usage.CacheWriteTokens), `{"type":"ping"}`}
	for i, p := range m.Parts {
		block := func(content string) {
			blocks = append(blocks, fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, content))
		}
		delta := func(d string) {
			blocks = append(blocks, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, i, d))
		}
		switch p.Kind {
		case model.PartText:
			block(`{"type":"text","text":""}`)
			for piece := range strings.SplitAfterSeq(p.Text, " ") {
				delta(`{"type":"text_delta","text":` + quote(piece) + `}`)
			}
		case model.PartThinking:
			block(`{"type":"thinking","thinking":"","signature":""}`)
			for piece := range strings.SplitAfterSeq(p.Text, " ") {
				delta(`{"type":"thinking_delta","thinking":` + quote(piece) + `}`)
			}
			if len(p.Signature) > 0 {
				delta(`{"type":"signature_delta","signature":` + quote(string(p.Signature)) + `}`)
			}
		case model.PartOpaque:
			block(`{"type":"redacted_thinking","data":` + quote(string(p.Data)) + `}`)
		case model.PartToolCall:
			block(fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":{}}`, p.CallID, p.Tool))
			delta(`{"type":"input_json_delta","partial_json":""}`)
			for _, piece := range pieces(string(p.Args)) {
				delta(`{"type":"input_json_delta","partial_json":` + quote(piece) + `}`)
			}
		}
		blocks = append(blocks, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i))
	}
	reason := map[model.FinishReason]string{
		model.FinishStop: "end_turn", model.FinishLength: "max_tokens", model.FinishToolCalls: "tool_use", model.FinishContentFilter: "refusal",
	}[m.Finish]
	if s.Fault == modeltest.FaultFinish {
		reason = "tired"
	}
	return begin, blocks, []string{
		fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q},"usage":{"output_tokens":%d,"output_tokens_details":{"thinking_tokens":%d}}}`,
			reason, m.Usage.OutputTokens, m.Usage.ReasoningTokens),
		`{"type":"message_stop"}`,
	}
}

func pieces(args string) []string {
	var split []string
	for size := max(len(args)/8, 1); len(args) > 0; {
		n := min(size, len(args))
		split, args = append(split, args[:n]), args[n:]
	}
	return split
}
