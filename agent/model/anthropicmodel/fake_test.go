// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// event returns an event of a stream, named by its type.
func event(data string) string {
	var e struct{ Type string }
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		panic(err)
	}
	return "event: " + e.Type + "\ndata: " + data + "\n\n"
}

// begin returns the start of a stream.
func begin() string {
	return event(`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],` +
		`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":1}}}`)
}

// end returns the end of a stream.
func end(stop, usage string) []string {
	return []string{
		event(fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":%s}`, stop, usage)),
		event(`{"type":"message_stop"}`),
	}
}

// events returns a complete stream with the events of its blocks.
func events(blocks ...string) string {
	return finished("end_turn", blocks...)
}

func finished(stop string, blocks ...string) string {
	return begin() + event(`{"type":"ping"}`) + strings.Join(blocks, "") + strings.Join(end(stop, `{"output_tokens":7}`), "")
}

func start(index int, block string) string {
	return event(fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, block))
}

func delta(index int, delta string) string {
	return event(fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, delta))
}

func stop(index int) string {
	return event(fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
}

// say returns the events of a text block.
func say(text string) []string {
	return []string{start(0, `{"type":"text","text":""}`), delta(0, `{"type":"text_delta","text":`+quote(text)+`}`), stop(0)}
}

func quote(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// errorTypes maps the errors of the conformance suite to Anthropic's names.
var errorTypes = map[string]string{
	"invalid_api_key": "authentication_error", "permission_denied": "permission_error", "model_not_found": "not_found_error",
	"context_length_exceeded": "invalid_request_error", "rate_limit_exceeded": "rate_limit_error",
	"insufficient_quota": "billing_error", "server_error": "api_error", "overloaded": "overloaded_error",
}

func wireError(e *model.APIError) string {
	kind := e.Code
	if known := errorTypes[kind]; known != "" {
		kind = known
	}
	return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%s},"request_id":"req_1"}`, kind, quote(e.Message))
}

var stopReasons = map[model.FinishReason]string{
	model.FinishStop: "end_turn", model.FinishLength: "max_tokens", model.FinishToolCalls: "tool_use",
	model.FinishContentFilter: "refusal",
}

func wireStop(s modeltest.Scenario) string {
	if s.Fault == modeltest.FaultFinish {
		return "planets_aligned"
	}
	return stopReasons[s.Answer.Finish]
}

func wireUsage(u model.Usage) string {
	return fmt.Sprintf(`{"input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,"output_tokens":%d,`+
		`"output_tokens_details":{"thinking_tokens":%d}}`,
		u.InputTokens-u.CacheReadTokens-u.CacheWriteTokens, u.CacheReadTokens, u.CacheWriteTokens, u.OutputTokens, u.ReasoningTokens)
}

// play answers a request according to a scenario.
func play(w http.ResponseWriter, r *http.Request, s modeltest.Scenario, streamed bool) {
	switch {
	case s.Error != nil && (s.Answer == nil || !streamed):
		a := answer{Status: s.Error.Status, Body: wireError(s.Error), Header: map[string]string{}}
		if s.Error.RetryAfter > 0 {
			a.Header["Retry-After"] = fmt.Sprint(int(s.Error.RetryAfter.Seconds()))
		}
		a.WriteTo(w)
		return
	case s.Silent:
		switch {
		case s.Answer != nil && streamed:
			_, _ = io.WriteString(w, begin()+strings.Join(wireBlocks(s.Answer), ""))
		case s.Answer != nil:
			_, _ = io.WriteString(w, " ")
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return
	}
	body := ""
	switch {
	case s.Fault == modeltest.FaultEmpty && streamed:
		body = event(`{"type":"message_stop"}`)
	case s.Fault == modeltest.FaultEmpty:
		body = `{"type":"message","role":"assistant"}`
	case streamed:
		blocks := wireBlocks(s.Answer)
		switch {
		case s.Fault == modeltest.FaultTruncated:
			body = begin() + strings.Join(blocks[:len(blocks)-2], "") // without a piece and the end of the block
		case s.Error != nil:
			body = begin() + strings.Join(blocks, "") + event(wireError(s.Error))
		default:
			body = begin() + event(`{"type":"ping"}`) + strings.Join(blocks, "") + strings.Join(end(wireStop(s), wireUsage(s.Answer.Usage)), "")
		}
	default:
		body = wireAnswer(s)
		if s.Fault == modeltest.FaultTruncated {
			body = body[:strings.LastIndex(body, `}]`)-3]
		}
	}
	answer{Body: body}.WriteTo(w)
}

// wireAnswer returns an unstreamed response.
func wireAnswer(s modeltest.Scenario) string {
	var blocks []string
	for i, p := range s.Answer.Parts {
		switch p.Kind {
		case model.PartText:
			blocks = append(blocks, `{"type":"text","text":`+quote(p.Text)+wireCitations(s.Answer.Parts[i+1:])+`}`)
		case model.PartThinking:
			blocks = append(blocks, fmt.Sprintf(`{"type":"thinking","thinking":%s,"signature":%q}`, quote(p.Text), p.Signature))
		case model.PartOpaque:
			blocks = append(blocks, fmt.Sprintf(`{"type":"redacted_thinking","data":%q}`, p.Data))
		case model.PartToolCall:
			blocks = append(blocks, fmt.Sprintf(`{"type":"tool_use",%s"name":%q,"input":%s}`, wireID(p.CallID), p.Tool, p.Args))
		}
	}
	return fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[%s],"stop_reason":%q,"stop_sequence":null,"usage":%s}`,
		strings.Join(blocks, ","), wireStop(s), wireUsage(s.Answer.Usage))
}

// wireCitations returns the member of a text with the citations that follow it.
func wireCitations(behind []model.Part) string {
	var all []string
	for _, p := range behind {
		if p.Kind != model.PartCitation {
			break
		}
		all = append(all, string(p.Data))
	}
	if all == nil {
		return ""
	}
	return `,"citations":[` + strings.Join(all, ",") + `]`
}

func wireID(id string) string {
	if id == "" {
		return ""
	}
	return `"id":` + quote(id) + ","
}

// wireBlocks returns the events of a response's blocks, with text, thinking and arguments in pieces.
func wireBlocks(m *model.Message) []string {
	var blocks []string
	i := -1
	for n, p := range m.Parts {
		if p.Kind == model.PartCitation { // of the text before it
			blocks = slices.Insert(blocks, len(blocks)-1, delta(i, `{"type":"citations_delta","citation":`+string(p.Data)+`}`))
			continue
		}
		i++
		pieces := func(format, text string) {
			for piece := range strings.SplitAfterSeq(text, " ") {
				blocks = append(blocks, delta(i, fmt.Sprintf(format, quote(piece))))
			}
		}
		switch p.Kind {
		case model.PartText:
			citations := ""
			if wireCitations(m.Parts[n+1:]) != "" {
				citations = `,"citations":[]`
			}
			blocks = append(blocks, start(i, `{"type":"text","text":""`+citations+`}`))
			pieces(`{"type":"text_delta","text":%s}`, p.Text)
		case model.PartThinking:
			blocks = append(blocks, start(i, `{"type":"thinking","thinking":"","signature":""}`))
			pieces(`{"type":"thinking_delta","thinking":%s}`, p.Text)
			blocks = append(blocks, delta(i, fmt.Sprintf(`{"type":"signature_delta","signature":%q}`, p.Signature)))
		case model.PartOpaque:
			blocks = append(blocks, start(i, fmt.Sprintf(`{"type":"redacted_thinking","data":%q}`, p.Data)))
		case model.PartToolCall:
			blocks = append(blocks, start(i, fmt.Sprintf(`{"type":"tool_use",%s"name":%q,"input":{}}`, wireID(p.CallID), p.Tool)))
			blocks = append(blocks, delta(i, `{"type":"input_json_delta","partial_json":""}`))
			pieces(`{"type":"input_json_delta","partial_json":%s}`, string(p.Args))
		}
		blocks = append(blocks, stop(i))
	}
	return blocks
}
