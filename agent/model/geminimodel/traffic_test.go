// SPDX-License-Identifier: Apache-2.0

package geminimodel_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// Unexpected responses of Google's servers, shortened.

func TestRealStream(t *testing.T) {
	const tail = `,"modelVersion":"gemini-3.5-flash","responseId":"kT4gafyZ"}`
	usage := func(more string) string {
		return `"usageMetadata":{"promptTokenCount":12,` + more + `"promptTokensDetails":[{"modality":"TEXT","tokenCount":12}]}`
	}
	body := events(
		`{"candidates":[{"content":{"parts":[{"text":"**Weighing it**\n\n","thought":true}],"role":"model"},"index":0}],`+
			usage(`"totalTokenCount":40,"thoughtsTokenCount":28,`)+tail,
		`{"candidates":[{"content":{"parts":[{"text":"","thought":true}],"role":"model"},"index":0}],`+
			usage(`"totalTokenCount":52,"thoughtsTokenCount":40,`)+tail,
		`{"candidates":[{"content":{"parts":[{"text":"It "}],"role":"model"},"index":0}],`+
			usage(`"candidatesTokenCount":1,"totalTokenCount":53,"thoughtsTokenCount":40,`)+tail,
		`{"candidates":[{"content":{"parts":[{"text":"rains."}],"role":"model"},"index":0,`+
			`"safetyRatings":[{"category":"HARM_CATEGORY_HARASSMENT","probability":"NEGLIGIBLE"}],`+
			`"citationMetadata":{"citationSources":[{"startIndex":0,"endIndex":9,"uri":"https://x"}]}}],`+
			usage(`"candidatesTokenCount":3,"totalTokenCount":55,"thoughtsTokenCount":40,`)+tail,
		`{"candidates":[{"content":{"role":"model"},"finishReason":"STOP","index":0,"groundingMetadata":{"webSearchQueries":["rain"]}}],`+
			usage(`"candidatesTokenCount":4,"totalTokenCount":56,"thoughtsTokenCount":40,`)+tail,
		`{"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":4,"totalTokenCount":56,"thoughtsTokenCount":40}`+tail,
	)
	rec := &recorder{T: t}
	msg, err := newModel(t, serve(t, answer{Body: body}).URL).Generate(t.Context(), hello(), rec.Sink)
	require.NoError(t, err)
	rec.Agrees(msg)
	require.Equal(t, &model.Message{
		Kind: model.KindResponse, Provider: "google", Model: "gemini-3.5-flash", ResponseID: "kT4gafyZ", Finish: model.FinishStop,
		Usage: model.Usage{InputTokens: 12, OutputTokens: 44, ReasoningTokens: 40},
		Parts: []model.Part{
			{Kind: model.PartThinking, Provider: "google", Text: "**Weighing it**\n\n"},
			model.Text("It rains."),
			{Kind: model.PartCitation, Provider: "google", URL: "https://x", Data: []byte(`{"startIndex":0,"endIndex":9,"uri":"https://x"}`)},
			{Kind: model.PartOpaque, Provider: "google", Data: []byte(`{"metadata":{"groundingMetadata":{"webSearchQueries":["rain"]},` +
				`"citationMetadata":{"citationSources":[{"startIndex":0,"endIndex":9,"uri":"https://x"}]}}}`)},
		},
	}, msg)
	var grew []int64
	for _, d := range rec.Deltas {
		if d.Usage != nil {
			grew = append(grew, d.Usage.OutputTokens)
		}
	}
	require.Equal(t, []int64{28, 40, 41, 43, 44}, grew, "usage is cumulative")
}

func TestResponseWithoutContent(t *testing.T) {
	for wire, want := range map[string]model.FinishReason{
		"UNEXPECTED_TOOL_CALL": model.FinishError, "TOO_MANY_TOOL_CALLS": model.FinishError, "SAFETY": model.FinishContentFilter,
		"PROHIBITED_CONTENT": model.FinishContentFilter, "MAX_TOKENS": model.FinishLength, "STOP": model.FinishStop,
	} {
		t.Run(wire, func(t *testing.T) {
			body := `{"candidates":[{"content":{},"finishReason":"` + wire + `","finishMessage":"why","index":0}],"usageMetadata":{"promptTokenCount":9}}`
			msg := both(t, body, body)
			require.Equal(t, want, msg.Finish)
			require.Empty(t, msg.Parts)
			require.EqualValues(t, 9, msg.Usage.InputTokens)
		})
	}
}

func TestFilterKeepsEarlierText(t *testing.T) {
	msg := both(t, chunk("SAFETY", `{"text":"First, "}`),
		chunk("", `{"text":"First, "}`), `{"candidates":[{"finishReason":"SAFETY","index":0}],"modelVersion":"m-001","responseId":"r1"}`)
	require.Equal(t, "First, ", msg.Text())
	require.Equal(t, model.FinishContentFilter, msg.Finish)
}

func TestPromptBlockedWithinAStream(t *testing.T) {
	body := `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":7},"modelVersion":"m-001","responseId":"r1"}`
	e := serve(t, answer{Body: events(body)})
	msg, err := stream(t, newModel(t, e.URL), hello())
	require.NoError(t, err)
	require.Equal(t, model.FinishContentFilter, msg.Finish)
	require.Equal(t, 1, e.Count())
}

func TestCandidatesInSeparateChunks(t *testing.T) {
	second := strings.Replace(chunk("STOP", `{"text":"b"}`), `"index":0`, `"index":1`, 1)
	msg, err := stream(t, newModel(t, serve(t, answer{Body: events(chunk("", `{"text":"a"}`), second, chunk("STOP"))}).URL), hello())
	require.NoError(t, err)
	require.Equal(t, "a", msg.Text())
}
