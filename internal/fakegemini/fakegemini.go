// SPDX-License-Identifier: Apache-2.0

// Package fakegemini plays the scenarios of the conformance suite in the protocol of Gemini.
package fakegemini

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// Impossible returns why the protocol cannot express a scenario, or nothing if it can.
func Impossible(s modeltest.Scenario) string {
	if s.Answer == nil {
		return ""
	}
	if s.Answer.Usage.CacheWriteTokens > 0 {
		return "Gemini does not report tokens that were written to a cache"
	}
	for _, p := range s.Answer.Parts {
		if p.Kind == model.PartToolCall && len(p.Args) > 0 && !json.Valid(p.Args) {
			return "Gemini sends arguments as JSON, so a valid response cannot contain invalid ones"
		}
	}
	return ""
}

// Wire describes how the protocol is spoken, where several ways exist.
type Wire struct {
	// OneLine makes every event one line of data, as Google's are. Otherwise JSON that has line breaks keeps them.
	OneLine bool
	// BareEnd leaves the content out of the last event. Otherwise it has an empty text.
	BareEnd bool
}

// Play answers a request, whose body has been read, as a scenario says: generateContent, or streamGenerateContent with events.
func (v Wire) Play(w http.ResponseWriter, r *http.Request, s modeltest.Scenario, streamed bool) {
	events := func(chunks ...string) string {
		var b strings.Builder
		for _, c := range chunks {
			if v.OneLine {
				c = strings.ReplaceAll(c, "\n", " ") // between values: within a string it would be escaped
			}
			b.WriteString("data: " + strings.ReplaceAll(c, "\n", "\ndata: ") + "\r\n\r\n")
		}
		return b.String()
	}
	refusal := ""
	if s.Error != nil {
		refusal = fmt.Sprintf(`{"error":{"code":%d,"message":%s,"status":%q}}`, s.Error.Status, quote(s.Error.Message), s.Error.Code)
	}
	status, body := http.StatusOK, ""
	switch {
	case s.Fault == modeltest.FaultEmpty && streamed:
		body = events(`{"usageMetadata":{"promptTokenCount":3}}`)
	case s.Fault == modeltest.FaultEmpty:
		body = `{"candidates":[],"usageMetadata":{"promptTokenCount":3}}`
	case s.Answer == nil && s.Error != nil:
		status, body = s.Error.Status, refusal
		if s.Error.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(s.Error.RetryAfter.Seconds())))
		}
	case s.Answer != nil && streamed:
		pieces := wirePieces(s.Answer)
		end := []string{end(s)}
		if v.BareEnd {
			end[0] = strings.Replace(end[0], `"content":{"role":"model","parts":[{"text":""}]},`, "", 1)
		}
		switch {
		case s.Fault == modeltest.FaultTruncated:
			if last := s.Answer.Parts[len(s.Answer.Parts)-1].Kind; last == model.PartText || last == model.PartThinking {
				pieces = pieces[:len(pieces)-1]
			}
			end = nil
		case s.Error != nil:
			end = []string{refusal}
		case s.Silent:
			end = nil
		}
		body = events(append(pieces, end...)...)
	case s.Answer != nil && s.Silent:
		body = " "
	case s.Answer != nil:
		var parts []string
		for _, p := range s.Answer.Parts {
			if p.Kind != model.PartCitation {
				parts = append(parts, wirePart(p))
			}
		}
		body = strings.Replace(end(s), `{"text":""}`, strings.Join(parts, ","), 1)
		if s.Fault == modeltest.FaultTruncated {
			body = body[:strings.Index(body, `]},"finishReason"`)-5]
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if strings.HasPrefix(body, "{") {
		w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
	if !s.Silent {
		return
	}
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

func quote(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// end is the event that ends an answer.
func end(s modeltest.Scenario) string {
	reason := map[model.FinishReason]string{
		model.FinishStop: "STOP", model.FinishToolCalls: "STOP", model.FinishLength: "MAX_TOKENS",
		model.FinishContentFilter: "SAFETY", model.FinishOther: "OTHER",
	}[s.Answer.Finish]
	if s.Fault == modeltest.FaultFinish {
		reason = "UNHEARD_OF"
	}
	u := s.Answer.Usage
	return fmt.Sprintf(`{"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"finishReason":%q%s,"index":0}],"usageMetadata":{"promptTokenCount":%d,`+
		`"candidatesTokenCount":%d,"thoughtsTokenCount":%d,"cachedContentTokenCount":%d},"modelVersion":"m-001","responseId":"r1"}`,
		reason, grounding(s.Answer), u.InputTokens, u.OutputTokens-u.ReasoningTokens, u.ReasoningTokens, u.CacheReadTokens)
}

// grounding is the member of the candidate that names the sources, with their places in bytes.
func grounding(m *model.Message) string {
	var chunks, supports []string
	for i, source := range model.NativeSources(m) {
		chunks = append(chunks, `{"web":{"uri":`+quote(source.URL)+`,"title":`+quote(source.Title)+`}}`)
		for _, span := range source.Spans {
			supports = append(supports, fmt.Sprintf(`{"segment":{"startIndex":%d,"endIndex":%d,"text":%s},"groundingChunkIndices":[%d]}`,
				span.Start, span.End, quote(m.Text()[span.Start:span.End]), i))
		}
	}
	if chunks == nil {
		return ""
	}
	return `,"groundingMetadata":{"groundingChunks":[` + strings.Join(chunks, ",") + `],"groundingSupports":[` + strings.Join(supports, ",") + `]}`
}

func wirePart(p model.Part) string {
	signature := ""
	if len(p.Signature) > 0 {
		signature = `,"thoughtSignature":"` + base64.StdEncoding.EncodeToString(p.Signature) + `"`
	}
	switch p.Kind {
	case model.PartText:
		return `{"text":` + quote(p.Text) + signature + `}`
	case model.PartThinking:
		return `{"text":` + quote(p.Text) + `,"thought":true` + signature + `}`
	case model.PartToolCall:
		members := []string{}
		if p.CallID != "" {
			members = append(members, `"id":`+quote(p.CallID))
		}
		members = append(members, `"name":`+quote(p.Tool))
		if len(p.Args) > 0 {
			members = append(members, `"args":`+string(p.Args))
		}
		return `{"functionCall":{` + strings.Join(members, ",") + `}` + signature + `}`
	case model.PartMedia:
		return fmt.Sprintf(`{"inlineData":{"mimeType":%q,"data":%q}}`, p.MediaType, base64.StdEncoding.EncodeToString(p.Data))
	case model.PartOpaque:
		return fmt.Sprintf(`{"executableCode":{"language":"PYTHON","code":%q}}`, p.Data)
	}
	panic("no such part: " + p.Kind)
}

// wirePieces are the events of a stream but for the last one: text and thinking in pieces, the
// signature of thinking after it, everything else whole, as Gemini does.
func wirePieces(m *model.Message) []string {
	var chunks []string
	for _, p := range m.Parts {
		if p.Kind == model.PartCitation { // in the last event
			continue
		}
		if p.Kind != model.PartText && p.Kind != model.PartThinking {
			chunks = append(chunks, chunk(wirePart(p)))
			continue
		}
		for piece := range strings.SplitAfterSeq(p.Text, " ") {
			chunks = append(chunks, chunk(wirePart(model.Part{Kind: p.Kind, Text: piece})))
		}
		if len(p.Signature) > 0 {
			chunks = append(chunks, chunk(wirePart(model.Part{Kind: p.Kind, Signature: p.Signature})))
		}
	}
	return chunks
}

func chunk(part string) string {
	return `{"candidates":[{"content":{"role":"model","parts":[` + part + `]},"index":0}],"modelVersion":"m-001","responseId":"r1"}`
}
