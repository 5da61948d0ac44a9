// SPDX-License-Identifier: Apache-2.0

package openaidialect_test

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
	matrix.Conformance(t, "genkit openai", modeltest.Harness{
		Provider: true,
		New: func(t testing.TB, s modeltest.Scenario) model.Model {
			skipWhatTheWireCannotSay(t, s)
			e := serve(t, func(w http.ResponseWriter, r *http.Request, body string) { play(w, r, s, body) })
			endpoints.Store(t, e)
			return newModel(t, e)
		},
		Sent: func(t testing.TB) string {
			if e, ok := endpoints.Load(t); ok {
				return e.(*endpoint).sent()
			}
			return ""
		},
		SentHeader: func(t testing.TB) http.Header {
			if e, ok := endpoints.Load(t); ok {
				return e.(*endpoint).lastHeader()
			}
			return nil
		},
	})
}

func skipWhatTheWireCannotSay(t testing.TB, s modeltest.Scenario) {
	if s.Answer == nil {
		return
	}
	for _, p := range s.Answer.Parts {
		switch {
		case p.Kind == model.PartMedia:
			t.Skip("OpenAI's Chat Completions return no media")
		case len(p.Signature) > 0, p.Kind == model.PartOpaque:
			t.Skip("OpenAI's Chat Completions wants nothing back")
		}
	}
}

// play answers a request according to a scenario.
func play(w http.ResponseWriter, r *http.Request, s modeltest.Scenario, request string) {
	streamed := strings.Contains(request, `"stream":true`)
	var header []string
	refusal := ""
	if s.Error != nil {
		refusal = fmt.Sprintf(`{"error":{"message":%q,"code":%q,"type":%q}}`, s.Error.Message, s.Error.Code, s.Error.Type)
		if s.Error.RetryAfter > 0 {
			header = []string{"Retry-After", fmt.Sprint(int(s.Error.RetryAfter.Seconds()))}
		}
	}
	body := ""
	switch {
	case s.Answer == nil && s.Error != nil:
		say(s.Error.Status, refusal, header...)(w, r, "")
		return
	case s.Fault == modeltest.FaultEmpty && streamed:
		body = events()
	case s.Fault == modeltest.FaultEmpty:
		body = `{"id":"c1","model":"m","choices":[]}`
	case s.Answer != nil && streamed:
		reason := wireFinish(s)
		chunks := wireDeltas(s.Answer)
		switch {
		case s.Error != nil:
			body = openEvents(append(chunks, refusal)...)
		case s.Silent:
			body = openEvents(chunks...)
		case s.Fault == modeltest.FaultTruncated:
			body = openEvents(chunks[:len(chunks)-1]...)
		default:
			body = events(append(chunks, finish(reason), `{"id":"c1","model":"m","choices":[],"usage":`+strings.Join(strings.Fields(wireUsage(s.Answer.Usage)), "")+`}`)...)
		}
	case s.Answer != nil && s.Silent:
		body = " "
	case s.Answer != nil:
		body = wireAnswer(s.Answer, wireFinish(s))
		if s.Fault == modeltest.FaultTruncated {
			body = body[:len(body)*2/3]
		}
	}
	say(200, body)(w, r, "")
	if s.Silent {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

func wireFinish(s modeltest.Scenario) string {
	if s.Fault == modeltest.FaultFinish {
		return "tired"
	}
	return string(s.Answer.Finish)
}

func quote(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

func wireUsage(u model.Usage) string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,
		"prompt_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d},"completion_tokens_details":{"reasoning_tokens":%d}}`,
		u.InputTokens, u.OutputTokens, u.InputTokens+u.OutputTokens, u.CacheReadTokens, u.CacheWriteTokens, u.ReasoningTokens)
}

func wireAnswer(m *model.Message, reason string) string {
	members, calls := []string{`"role":"assistant"`}, []string(nil)
	for _, p := range m.Parts {
		switch p.Kind {
		case model.PartText:
			members = append(members, `"content":`+quote(p.Text))
		case model.PartThinking:
			members = append(members, `"reasoning_content":`+quote(p.Text))
		case model.PartToolCall:
			calls = append(calls, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}`, p.CallID, p.Tool, quote(string(p.Args))))
		}
	}
	if len(calls) > 0 {
		members = append(members, `"tool_calls":[`+strings.Join(calls, ",")+`]`)
	}
	return fmt.Sprintf(`{"id":"c1","model":"m","choices":[{"index":0,"message":{%s},"finish_reason":%q}],"usage":%s}`,
		strings.Join(members, ","), reason, strings.Join(strings.Fields(wireUsage(m.Usage)), ""))
}

// wireDeltas returns text and arguments in pieces.
func wireDeltas(m *model.Message) []string {
	var chunks []string
	calls := 0
	for _, p := range m.Parts {
		switch p.Kind {
		case model.PartText, model.PartThinking:
			member := `{"content":`
			if p.Kind == model.PartThinking {
				member = `{"reasoning_content":`
			}
			for piece := range strings.SplitAfterSeq(p.Text, " ") {
				chunks = append(chunks, delta(member+quote(piece)+"}"))
			}
		case model.PartToolCall:
			chunks = append(chunks, delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":""}}]}`, calls, p.CallID, p.Tool)))
			for _, piece := range pieces(string(p.Args)) {
				chunks = append(chunks, delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, calls, quote(piece))))
			}
			calls++
		}
	}
	return chunks
}

// pieces splits arguments into pieces small enough for the SDK's limit on events.
func pieces(args string) []string {
	var split []string
	for size := max(len(args)/8, 1); len(args) > 0; {
		n := min(size, len(args))
		split, args = append(split, args[:n]), args[n:]
	}
	return split
}
