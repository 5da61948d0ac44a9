// SPDX-License-Identifier: Apache-2.0

package ollamadialect_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// play answers a request to /api/chat according to a scenario, in Ollama's protocol.
func play(w http.ResponseWriter, r *http.Request, s modeltest.Scenario, streamed bool) {
	if s.Answer == nil && s.Error != nil {
		for name, value := range map[string]string{"Content-Type": "application/json"} {
			w.Header().Set(name, value)
		}
		if s.Error.RetryAfter > 0 {
			w.Header().Set("Retry-After", fmt.Sprintf("%.0f", s.Error.RetryAfter.Seconds()))
		}
		w.WriteHeader(s.Error.Status)
		_, _ = w.Write(mustJSON(map[string]string{"error": s.Error.Message}))
		return
	}
	var lines []string
	if s.Answer != nil {
		lines = answerLines(s.Answer, streamed, s)
	}
	body := strings.Join(lines, "\n")
	if len(lines) > 0 {
		body += "\n"
	}
	switch {
	case s.Fault == modeltest.FaultEmpty:
		body = `{"model":"m","created_at":"2026-01-01T00:00:00Z","done":true}` + "\n"
	case s.Fault == modeltest.FaultTruncated && !streamed:
		body = body[:len(body)/2]
	case s.Silent && !streamed:
		body = " "
		if s.Answer == nil {
			body = ""
		}
	}
	_, _ = io.WriteString(w, body)
	if s.Silent {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

func answerLines(m *model.Message, streamed bool, s modeltest.Scenario) []string {
	end := fmt.Sprintf(`,"done":true,"done_reason":%q,"prompt_eval_count":%d,"eval_count":%d}`, reason(m.Finish, s.Fault), m.Usage.InputTokens, m.Usage.OutputTokens)
	const head = `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":`
	if !streamed {
		message := map[string]any{"role": "assistant", "content": m.Text()}
		if t := thinking(m); t != "" {
			message["thinking"] = t
		}
		if c := calls(m); len(c) > 0 {
			message["tool_calls"] = c
		}
		return []string{head + string(mustJSON(message)) + end}
	}
	var lines []string
	line := func(message map[string]any) {
		message["role"] = "assistant"
		if _, ok := message["content"]; !ok {
			message["content"] = ""
		}
		lines = append(lines, head+string(mustJSON(message))+`,"done":false}`)
	}
	for _, p := range m.Parts {
		switch p.Kind {
		case model.PartText:
			for piece := range strings.SplitAfterSeq(p.Text, " ") {
				line(map[string]any{"content": piece})
			}
		case model.PartThinking:
			line(map[string]any{"thinking": p.Text})
		case model.PartToolCall:
			line(map[string]any{"tool_calls": []any{call(p)}})
		}
	}
	switch {
	case s.Error != nil:
		return append(lines, string(mustJSON(map[string]string{"error": s.Error.Message})))
	case s.Silent, s.Fault == modeltest.FaultTruncated:
		return lines
	}
	return append(lines, head+`{"role":"assistant","content":""}`+end)
}

func reason(f model.FinishReason, fault modeltest.Fault) string {
	switch {
	case fault == modeltest.FaultFinish:
		return "eclipse"
	case f == model.FinishLength:
		return "length"
	}
	return "stop"
}

func thinking(m *model.Message) string {
	var b strings.Builder
	for _, p := range m.Parts {
		if p.Kind == model.PartThinking {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func calls(m *model.Message) []any {
	var list []any
	for _, p := range m.Parts {
		if p.Kind == model.PartToolCall {
			list = append(list, call(p))
		}
	}
	return list
}

// call returns a call in Ollama's form: the arguments are a JSON object, and there is no id.
func call(p model.Part) any {
	args := json.RawMessage(p.Args)
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	return map[string]any{"function": map[string]any{"name": p.Tool, "arguments": args}}
}

func mustJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // a mistake in this file
	}
	return bytes.TrimSpace(b.Bytes())
}
