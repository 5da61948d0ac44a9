// SPDX-License-Identifier: Apache-2.0

package fakegemini_test

import (
	"context"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/internal/fakegemini"
)

var update = flag.Bool("update", false, "write the file in testdata anew")

func answer(finish model.FinishReason, parts ...model.Part) *model.Message {
	m := model.Response(parts...)
	m.Finish = finish
	m.Usage = model.Usage{InputTokens: 9, OutputTokens: 7, ReasoningTokens: 2, CacheReadTokens: 3}
	return m
}

// TestWireOfScenarios has what is sent for scenarios of each kind, streamed and not.
func TestWireOfScenarios(t *testing.T) {
	text := model.Text("one two\nthree")
	thought := model.Part{Kind: model.PartThinking, Text: "hm, well", Signature: []byte("sig")}
	call := model.ToolCall("c", "act", `{"n": 1}`)
	nameless := model.Part{Kind: model.PartToolCall, Tool: "act"}
	media := model.Part{Kind: model.PartMedia, MediaType: "image/png", Data: []byte("png")}
	code := model.Part{Kind: model.PartOpaque, Data: []byte("print(1)")}
	refused := &model.APIError{Status: 429, Message: `slow "down"`, Code: "RESOURCE_EXHAUSTED", RetryAfter: 7 * time.Second}
	var b strings.Builder
	for _, c := range []struct {
		name string
		s    modeltest.Scenario
	}{
		{"text", modeltest.Scenario{Answer: answer(model.FinishStop, text)}},
		{"thought and call", modeltest.Scenario{Answer: answer(model.FinishToolCalls, thought, text, call, nameless)}},
		{"media and code", modeltest.Scenario{Answer: answer(model.FinishLength, media, code)}},
		{"sources", modeltest.Scenario{Answer: answer(model.FinishStop, model.Text("one two"),
			model.Part{Kind: model.PartCitation, URL: "https://a.test/?b&c", Name: "A \"b\"", Data: []byte(`{"type":"url_citation","start_index":0,"end_index":3}`)},
			model.Part{Kind: model.PartCitation, URL: "https://c.test/", Name: "C", Data: []byte(`{"type":"url_citation","start_index":4,"end_index":7}`)})}},
		{"a source of no passage", modeltest.Scenario{Answer: answer(model.FinishStop, model.Text("one"), model.Part{Kind: model.PartCitation, URL: "https://a.test/", Data: []byte(`{}`)})}},
		{"signed text and call", modeltest.Scenario{Answer: answer(model.FinishToolCalls, model.Part{Kind: model.PartText, Text: "t", Signature: []byte("s")},
			model.Part{Kind: model.PartToolCall, CallID: "c", Tool: "act", Args: model.RawArgs("{}"), Signature: []byte("s")})}},
		{"cut off in thinking", modeltest.Scenario{Answer: answer(model.FinishStop, thought), Fault: modeltest.FaultTruncated}},
		{"filtered", modeltest.Scenario{Answer: answer(model.FinishContentFilter, text)}},
		{"other", modeltest.Scenario{Answer: answer(model.FinishOther, text)}},
		{"unheard of", modeltest.Scenario{Answer: answer(model.FinishStop, text), Fault: modeltest.FaultFinish}},
		{"cut off", modeltest.Scenario{Answer: answer(model.FinishStop, thought, text), Fault: modeltest.FaultTruncated}},
		{"cut off after a call", modeltest.Scenario{Answer: answer(model.FinishStop, text, call), Fault: modeltest.FaultTruncated}},
		{"empty", modeltest.Scenario{Fault: modeltest.FaultEmpty}},
		{"refused", modeltest.Scenario{Error: refused}},
		{"refused at once", modeltest.Scenario{Error: &model.APIError{Status: 400, Message: "no", Code: "INVALID"}}},
		{"broken off", modeltest.Scenario{Answer: answer(model.FinishStop, text), Error: refused}},
		{"silent", modeltest.Scenario{Answer: answer(model.FinishStop, text), Silent: true}},
	} {
		for _, streamed := range []bool{false, true} {
			for _, wire := range []fakegemini.Wire{{}, {OneLine: true, BareEnd: true}} {
				if c.s.Error != nil && c.s.Answer != nil && !streamed {
					continue // it has begun
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancel() // a silent one waits for it
				r := httptest.NewRequestWithContext(ctx, "POST", "/", nil)
				w := httptest.NewRecorder()
				wire.Play(w, r, c.s, streamed)
				fmt.Fprintf(&b, "# %s, streamed %t, %+v: %d %s, retry after %q\n%s\n", c.name, streamed, wire, w.Code,
					w.Header().Get("Content-Type"), w.Header().Get("Retry-After"), strings.ReplaceAll(w.Body.String(), "\r", "^M"))
			}
		}
	}
	const path = "testdata/wire.txt"
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, strings.Split(string(want), "\n"), strings.Split(b.String(), "\n"), "run with -update if it should be so")
}

func TestImpossibleScenarios(t *testing.T) {
	cached := answer(model.FinishStop, model.Text("x"))
	cached.Usage.CacheWriteTokens = 1
	for want, s := range map[string]modeltest.Scenario{
		"": {Answer: answer(model.FinishToolCalls, model.ToolCall("c", "act", `{}`), model.Part{Kind: model.PartToolCall, Tool: "act"})},
		"Gemini does not report tokens that were written to a cache":                      {Answer: cached},
		"Gemini sends arguments as JSON, so a valid response cannot contain invalid ones": {Answer: answer(model.FinishStop, model.ToolCall("c", "act", `{`))},
	} {
		require.Equal(t, want, fakegemini.Impossible(s))
	}
	require.Empty(t, fakegemini.Impossible(modeltest.Scenario{}))
}

// TestSilentAnswersWaitForTheirEnd checks that what has been said is sent at once, and that nothing ends before the client leaves.
func TestSilentAnswersWaitForTheirEnd(t *testing.T) {
	for _, silent := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			w, begin := httptest.NewRecorder(), time.Now()
			fakegemini.Wire{}.Play(w, httptest.NewRequestWithContext(ctx, "POST", "/", nil), modeltest.Scenario{Answer: answer(model.FinishStop, model.Text("x")), Silent: silent}, true)
			require.Equal(t, silent, w.Flushed)
			require.Equal(t, silent, time.Since(begin) == time.Hour)
		})
	}
}
