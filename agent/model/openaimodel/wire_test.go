// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// play answers a request according to a scenario, in the form of the protocol.
func play(w http.ResponseWriter, r *http.Request, s modeltest.Scenario, streamed bool) {
	var refusal string
	if s.Error != nil {
		refusal = fmt.Sprintf(`{"error":{"message":%q,"code":%q}}`, s.Error.Message, s.Error.Code)
	}
	body := ""
	switch {
	case s.Fault == modeltest.FaultEmpty && streamed:
		body = events(`{"id":"c1","model":"m","choices":[]}`)
	case s.Fault == modeltest.FaultEmpty:
		body = `{"id":"c1","model":"m","choices":[]}`
	case s.Answer == nil && s.Error != nil:
		a := answer{Status: s.Error.Status, Body: refusal}
		if s.Error.RetryAfter > 0 {
			a.Header = map[string]string{"Retry-After": strconv.Itoa(int(s.Error.RetryAfter.Seconds()))}
		}
		a.WriteTo(w)
		return
	case s.Answer != nil && streamed:
		body = wireStream(s, refusal)
	case s.Answer != nil && s.Silent:
		body = " "
	case s.Answer != nil:
		body = wireAnswer(s.Answer, wireFinish(s))
		if s.Fault == modeltest.FaultTruncated {
			body = body[:strings.LastIndex(body, `"}`)-1]
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

// wireStream returns a stream that ends as the scenario says.
func wireStream(s modeltest.Scenario, refusal string) string {
	deltas := wireDeltas(s.Answer)
	switch {
	case s.Error != nil:
		return openEvents(append(deltas, refusal)...)
	case s.Silent:
		return openEvents(deltas...)
	case s.Fault == modeltest.FaultTruncated:
		return openEvents(deltas[:len(deltas)-1]...)
	}
	return events(append(deltas, finish(wireFinish(s)), `{"id":"c1","model":"m","choices":[],"usage":`+wireUsage(s.Answer.Usage)+`}`)...)
}

func wireFinish(s modeltest.Scenario) string {
	if s.Fault == modeltest.FaultFinish {
		return "banana"
	}
	return string(s.Answer.Finish) // the same values as in the protocol
}

func wireUsage(u model.Usage) string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d},`+
		`"completion_tokens_details":{"reasoning_tokens":%d}}`,
		u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheWriteTokens, u.ReasoningTokens)
}

func wireAnswer(m *model.Message, reason string) string {
	members, calls, annotations := []string{`"role":"assistant"`}, []string{}, []string{}
	for _, p := range m.Parts {
		switch p.Kind {
		case model.PartToolCall:
			calls = append(calls, fmt.Sprintf(`{%s,"type":"function","function":{"name":%q,"arguments":%s}}`,
				wireCall(p), p.Tool, quote(string(p.Args))))
		case model.PartCitation:
			annotations = append(annotations, wireAnnotation(p))
		default:
			members = append(members, wireMember(p, p.Text))
		}
	}
	if len(annotations) > 0 {
		members = append(members, `"annotations":[`+strings.Join(annotations, ",")+`]`)
	}
	if len(calls) > 0 {
		members = append(members, `"tool_calls":[`+strings.Join(calls, ",")+`]`)
	}
	return fmt.Sprintf(`{"id":"c1","model":"m","usage":%s,"choices":[{"index":0,"finish_reason":%q,"message":{%s}}]}`,
		wireUsage(m.Usage), reason, strings.Join(members, ","))
}

// wireMember returns a member of a message, complete or with a piece of text.
func wireMember(p model.Part, text string) string {
	switch p.Kind {
	case model.PartThinking:
		return `"reasoning_content":` + quote(text)
	case model.PartOpaque:
		return fmt.Sprintf(`"reasoning_details":[{"type":"reasoning.encrypted","data":%q,"index":0}]`, p.Data)
	case model.PartMedia:
		return fmt.Sprintf(`"images":[{"type":"image_url","image_url":{"url":"data:%s;base64,%s"}}]`,
			p.MediaType, base64.StdEncoding.EncodeToString(p.Data))
	}
	return `"content":` + quote(text)
}

// wireAnnotation returns a citation as Chat Completions has it.
func wireAnnotation(p model.Part) string {
	return `{"type":"url_citation","url_citation":` + string(p.Data) + `}`
}

// wireCall returns the members that identify a call.
func wireCall(p model.Part) string {
	id := fmt.Sprintf(`"id":%q`, p.CallID)
	if p.CallID == "" {
		id = `"id":null`
	}
	if len(p.Signature) > 0 {
		id += `,"extra_content":` + string(p.Signature)
	}
	return id
}

// wireDeltas sends text and arguments in pieces.
func wireDeltas(m *model.Message) []string {
	var chunks []string
	calls := 0
	for _, p := range m.Parts {
		switch p.Kind {
		case model.PartToolCall:
			chunks = append(chunks, delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,%s,"type":"function","function":{"name":%q,"arguments":""}}]}`, calls, wireCall(p), p.Tool)))
			for piece := range strings.SplitAfterSeq(string(p.Args), " ") {
				chunks = append(chunks, delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, calls, quote(piece))))
			}
			calls++
		case model.PartCitation:
			chunks = append(chunks, delta(`{"annotations":[`+wireAnnotation(p)+`]}`))
		default:
			for piece := range strings.SplitAfterSeq(p.Text, " ") {
				chunks = append(chunks, delta("{"+wireMember(p, piece)+"}"))
			}
		}
	}
	return chunks
}

func quote(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}
