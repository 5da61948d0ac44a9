package openaimodel_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

func TestConformance(t *testing.T) {
	var mu sync.Mutex
	sent := map[testing.TB]*strings.Builder{}
	modeltest.Conformance(t, modeltest.Harness{
		Provider: true,
		New: func(t testing.TB, s modeltest.Scenario) model.Model {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				if sent[t] == nil {
					sent[t] = &strings.Builder{}
				}
				sent[t].Write(body)
				mu.Unlock()
				play(w, r, s, strings.Contains(string(body), `"stream":true`))
			}))
			t.Cleanup(server.Close)
			return newModel(t, server.URL, "openai")
		},
		Sent: func(t testing.TB) string {
			mu.Lock()
			defer mu.Unlock()
			if sent[t] == nil {
				return ""
			}
			return sent[t].String()
		},
	})
}

// play answers a request as a scenario says.
func play(w http.ResponseWriter, r *http.Request, s modeltest.Scenario, streamed bool) {
	var refusal string
	if s.Error != nil {
		refusal = fmt.Sprintf(`{"error":{"message":%q,"code":%q}}`, s.Error.Message, s.Error.Code)
	}
	body := ""
	switch {
	case s.Answer == nil && s.Error != nil:
		answer{status: s.Error.Status, body: refusal}.serve(w)
		return
	case s.Answer != nil && streamed:
		end := []string{finish(string(s.Answer.Finish)), `{"id":"c1","model":"m","choices":[],"usage":` + wireUsage(s.Answer.Usage) + `}`}
		if s.Error != nil {
			end = []string{refusal}
		}
		if s.Silent {
			end = nil
		}
		body = openEvents(append(wireDeltas(s.Answer), end...)...)
	case s.Answer != nil && s.Silent:
		body = " "
	case s.Answer != nil:
		body = wireAnswer(s.Answer)
	}
	if !s.Silent {
		answer{body: body}.serve(w)
		return
	}
	_, _ = io.WriteString(w, body)
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

func quote(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

func wireUsage(u model.Usage) string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"completion_tokens_details":{"reasoning_tokens":%d}}`,
		u.InputTokens, u.OutputTokens, u.ReasoningTokens)
}

func wireAnswer(m *model.Message) string {
	var members, calls []string
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
	return fmt.Sprintf(`{"id":"c1","model":"m","choices":[{"index":0,"message":{"role":"assistant",%s},"finish_reason":%q}],"usage":%s}`,
		strings.Join(members, ","), m.Finish, wireUsage(m.Usage))
}

// wireDeltas sends text and arguments in pieces.
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
			for piece := range strings.SplitAfterSeq(string(p.Args), ":") {
				chunks = append(chunks, delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, calls, quote(piece))))
			}
			calls++
		}
	}
	return chunks
}
