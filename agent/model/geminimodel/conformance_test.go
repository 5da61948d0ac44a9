package geminimodel_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/geminimodel"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/internal/matrix"
)

func TestConformance(t *testing.T) {
	matrix.Conformance(t, "geminimodel", harness("/v1beta/models/test-model"))
}

func TestConformanceOfVertexAI(t *testing.T) {
	modeltest.Conformance(t, harness(
		"/v1beta1/projects/acme/locations/europe-west4/publishers/google/models/test-model", onVertex))
}

// harness plays scenarios to models that must ask for path.
func harness(path string, change ...func(*geminimodel.Config)) modeltest.Harness {
	var mu sync.Mutex
	sent := map[testing.TB]*strings.Builder{}
	headers := map[testing.TB]http.Header{}
	return modeltest.Harness{
		Provider: true,
		New: func(t testing.TB, s modeltest.Scenario) model.Model {
			skipImpossible(t, s)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				if sent[t] == nil {
					sent[t] = &strings.Builder{}
				}
				sent[t].Write(body)
				headers[t] = r.Header
				mu.Unlock()
				switch r.URL.String() {
				case path + ":generateContent":
					play(w, r, s, false)
				case path + ":streamGenerateContent?alt=sse":
					play(w, r, s, true)
				default:
					http.Error(w, "no such page", http.StatusNotFound)
				}
			}))
			t.Cleanup(server.Close)
			return newModel(t, server.URL, change...)
		},
		Sent: func(t testing.TB) string {
			mu.Lock()
			defer mu.Unlock()
			if sent[t] == nil {
				return ""
			}
			return sent[t].String()
		},
		SentHeader: func(t testing.TB) http.Header {
			mu.Lock()
			defer mu.Unlock()
			return headers[t]
		},
	}
}

// skipImpossible skips what the wire cannot say.
func skipImpossible(t testing.TB, s modeltest.Scenario) {
	if s.Answer == nil {
		return
	}
	if s.Answer.Usage.CacheWriteTokens > 0 {
		t.Skip("Gemini does not report tokens that were written to a cache")
	}
	for _, p := range s.Answer.Parts {
		if p.Kind == model.PartToolCall && len(p.Args) > 0 && !json.Valid(p.Args) {
			t.Skip("on Gemini's wire arguments are JSON, so they cannot be invalid in an answer that is valid")
		}
	}
}

// play answers a request as a scenario says.
func play(w http.ResponseWriter, r *http.Request, s modeltest.Scenario, streamed bool) {
	refusal := ""
	if s.Error != nil {
		refusal = fmt.Sprintf(`{"error":{"code":%d,"message":%s,"status":%q}}`, s.Error.Status, quote(s.Error.Message), s.Error.Code)
	}
	a := answer{}
	switch {
	case s.Fault == modeltest.FaultEmpty && streamed:
		a.Body = events(`{"usageMetadata":{"promptTokenCount":3}}`)
	case s.Fault == modeltest.FaultEmpty:
		a.Body = `{"candidates":[],"usageMetadata":{"promptTokenCount":3}}`
	case s.Answer == nil && s.Error != nil:
		a.Status, a.Body = s.Error.Status, refusal
		if s.Error.RetryAfter > 0 {
			a.Header = map[string]string{"Retry-After": strconv.Itoa(int(s.Error.RetryAfter.Seconds()))}
		}
	case s.Answer != nil && streamed:
		pieces := wirePieces(s.Answer)
		end := []string{end(s)}
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
		a.Body = events(append(pieces, end...)...)
	case s.Answer != nil && s.Silent:
		a.Body = " "
	case s.Answer != nil:
		var parts []string
		for _, p := range s.Answer.Parts {
			parts = append(parts, wirePart(p))
		}
		a.Body = fmt.Sprintf(`{"candidates":[{"content":{"role":"model","parts":[%s]},%s`, strings.Join(parts, ","), end(s)[len(`{"candidates":[{`):])
		if s.Fault == modeltest.FaultTruncated {
			a.Body = a.Body[:strings.Index(a.Body, `]},"finishReason"`)-5]
		}
	}
	if !s.Silent {
		a.WriteTo(w)
		return
	}
	_, _ = io.WriteString(w, a.Body)
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

func quote(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// end is the chunk that ends an answer.
func end(s modeltest.Scenario) string {
	reason := map[model.FinishReason]string{
		model.FinishStop: "STOP", model.FinishToolCalls: "STOP", model.FinishLength: "MAX_TOKENS",
		model.FinishContentFilter: "SAFETY", model.FinishOther: "OTHER",
	}[s.Answer.Finish]
	if s.Fault == modeltest.FaultFinish {
		reason = "UNHEARD_OF"
	}
	u := s.Answer.Usage
	return fmt.Sprintf(`{"candidates":[{"finishReason":%q,"index":0}],"usageMetadata":{"promptTokenCount":%d,`+
		`"candidatesTokenCount":%d,"thoughtsTokenCount":%d,"cachedContentTokenCount":%d},"modelVersion":"m-001","responseId":"r1"}`,
		reason, u.InputTokens, u.OutputTokens-u.ReasoningTokens, u.ReasoningTokens, u.CacheReadTokens)
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

// wirePieces are the chunks of a stream but for the last one: text and thinking in pieces, the signature of thinking
// behind it, everything else whole, as Gemini does.
func wirePieces(m *model.Message) []string {
	var chunks []string
	for _, p := range m.Parts {
		if p.Kind != model.PartText && p.Kind != model.PartThinking {
			chunks = append(chunks, chunk("", wirePart(p)))
			continue
		}
		for piece := range strings.SplitAfterSeq(p.Text, " ") {
			chunks = append(chunks, chunk("", wirePart(model.Part{Kind: p.Kind, Text: piece})))
		}
		if len(p.Signature) > 0 {
			chunks = append(chunks, chunk("", wirePart(model.Part{Kind: p.Kind, Signature: p.Signature})))
		}
	}
	return chunks
}
