// SPDX-License-Identifier: Apache-2.0

package geminimodel_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// both asks for an unstreamed response and for a stream of the chunks, which must give the same message.
func both(t *testing.T, whole string, chunks ...string) *model.Message {
	t.Helper()
	msg, err := newModel(t, serve(t, answer{Body: whole}).URL).Generate(context.Background(), hello(), nil)
	require.NoError(t, err)
	streamed, err := stream(t, newModel(t, serve(t, answer{Body: events(chunks...)}).URL), hello())
	require.NoError(t, err)
	require.Equal(t, msg, streamed)
	return msg
}

func TestResponseNamesItsModel(t *testing.T) {
	msg := both(t, chunk("STOP", `{"text":"hi there"}`), chunk("", `{"text":"hi "}`), chunk("", `{"text":""}`), chunk("", `{"text":"there"}`), chunk("STOP"))
	require.Equal(t, &model.Message{
		Kind: model.KindResponse, Parts: []model.Part{model.Text("hi there")}, Finish: model.FinishStop,
		Provider: "google", Model: "m-001", ResponseID: "r1",
	}, msg)
	msg = both(t, `{"candidates":[{"content":{"parts":[{"text":"x"}]}, "finishReason":"STOP"}]}`,
		`{"candidates":[{"content":{"parts":[{"text":"x"}]}, "finishReason":"STOP"}]}`)
	require.Equal(t, "test-model", msg.Model, "if the response does not say")
}

func TestUsageCountsAllInputAndOutput(t *testing.T) {
	usage := `"usageMetadata":{"promptTokenCount":10,"toolUsePromptTokenCount":5,"cachedContentTokenCount":4,"candidatesTokenCount":20,"thoughtsTokenCount":7,"totalTokenCount":42}`
	last := strings.TrimSuffix(chunk("STOP", `{"text":"b"}`), "}") + "," + usage + "}"
	first := strings.TrimSuffix(chunk("", `{"text":"a"}`), "}") + `,"usageMetadata":{"promptTokenCount":10}}`
	whole := strings.Replace(last, `"b"`, `"ab"`, 1)
	require.Equal(t, model.Usage{InputTokens: 15, OutputTokens: 27, CacheReadTokens: 4, ReasoningTokens: 7}, both(t, whole, first, last).Usage)

	// Of proxies: numbers of another form, and zeros at the end.
	odd := strings.NewReplacer(":10,", `:"10",`, ":20,", ":20.0,").Replace(last)
	require.Equal(t, model.Usage{InputTokens: 15, OutputTokens: 27, CacheReadTokens: 4, ReasoningTokens: 7},
		both(t, strings.Replace(odd, `"b"`, `"ab"`, 1), first, odd, `{"usageMetadata":{"promptTokenCount":0}}`).Usage)
}

func TestSignaturesAreSentBackWithTheirParts(t *testing.T) {
	signature := func(s string) string {
		return `"thoughtSignature":"` + base64.StdEncoding.EncodeToString([]byte(s)) + `"`
	}
	parts := []string{
		`{"text":"Hm.","thought":true,` + signature("\x00\xff thought") + `}`,
		`{"text":"Plain."}`,
		`{"text":"Signed.",` + signature("text") + `}`,
		`{"inlineData":{"mimeType":"image/png","data":"cG5n"},` + signature("image") + `}`,
		`{"functionCall":{"id":"c1","name":"weather","args":{"id": 9223372036854775807}},` + signature("call") + `}`,
		`{"functionCall":{"id":"c2","name":"weather","args":{}}}`,
		`{"executableCode":{"language":"PYTHON","code":"print(1)"},` + signature("code") + `}`,
		`{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1\n"}}`,
		`{"aKindOfTheFuture":{"n":9007199254740993}}`,
		`{"text":"",` + signature("end") + `}`,
	}
	var chunks []string
	for _, p := range parts {
		chunks = append(chunks, chunk("", p))
	}
	msg := both(t, chunk("STOP", parts...), append(chunks, chunk("STOP"))...)
	require.Equal(t, "Plain.Signed.", msg.Text())
	require.Equal(t, []byte("\x00\xff thought"), msg.Parts[0].Signature)
	require.Equal(t, model.FinishToolCalls, msg.Finish)

	saved, err := json.Marshal(msg)
	require.NoError(t, err)
	var restored model.Message
	require.NoError(t, json.Unmarshal(saved, &restored))
	sent := contents(t, model.UserText("x"), &restored, request(model.ToolReturn("c1", "weather", "7"), model.ToolReturn("c2", "weather", "8")))
	require.Contains(t, sent, `{"role":"model","parts":[`+strings.Join(parts, ",")+`]}`)
}

func TestSignatureAfterTextIsSentBackSeparately(t *testing.T) {
	msg, err := stream(t, newModel(t, serve(t, answer{Body: events(
		chunk("", `{"text":"It is "}`), chunk("", `{"text":"raining."}`), chunk("STOP", `{"text":"","thoughtSignature":"c2ln"}`),
	)}).URL), hello())
	require.NoError(t, err)
	require.Equal(t, "It is raining.", msg.Text())
	require.Contains(t, contents(t, model.UserText("x"), msg, model.UserText("y")),
		`"parts":[{"text":"It is raining."},{"text":"","thoughtSignature":"c2ln"}]`)
}

func TestSignatureWithoutItsPartIsSent(t *testing.T) {
	msg := model.Response(model.Part{Kind: model.PartOpaque, Provider: "google", Data: []byte(`{"thoughtSignature":"c2ln"}`)})
	require.Contains(t, contents(t, model.UserText("x"), msg), `"parts":[{"text":"","thoughtSignature":"c2ln"}]`)
}

func TestForeignOpaquePartsAreNotSent(t *testing.T) {
	for _, data := range []string{"", "null", "[]", "{}", "{", `{"metadata":{"x":1}}`} {
		msg := model.Response(model.Text("a"), model.Part{Kind: model.PartOpaque, Provider: "google", Data: []byte(data)})
		require.Contains(t, contents(t, model.UserText("x"), msg), `"parts":[{"text":"a"}]`)
	}
}

func TestCodeFromGenkitIsSent(t *testing.T) {
	for data, want := range map[string]string{
		`{"custom":{"executableCode":{"code":"1","language":"PYTHON"}}}`: `"parts":[{"text":"a"},{"executableCode":{"code":"1","language":"PYTHON"}}]`,
		`{"custom":7}`:  `"parts":[{"text":"a"}]`,
		`{"custom":{}}`: `"parts":[{"text":"a"}]`,
	} {
		msg := model.Response(model.Text("a"), model.Part{Kind: model.PartOpaque, Provider: "google", Data: []byte(data)})
		require.Contains(t, contents(t, model.UserText("x"), msg), want)
	}
}

func TestArgumentsAreKeptUnchanged(t *testing.T) {
	args := "{ \"b\" : 1.0, \"a\": 9223372036854775807, \"a\": \"\\u00e9<\",  \"deep\":[{}, null ] }"
	call := `{"functionCall":{"id":"c1","name":"f","args":` + args + `}}`
	msg := both(t, chunk("STOP", call), chunk("", call), chunk("STOP"))
	require.Equal(t, args, string(msg.Parts[0].Args))
}

func TestMissingCallIDsAreGenerated(t *testing.T) {
	call := func(id string) string { return `{"functionCall":{` + id + `"name":"f"}}` }
	body := events(chunk("", call(`"id":"a",`), call(`"id":"a",`)), chunk("", call("")), chunk("STOP", call(`"id":"",`)))
	msg, err := stream(t, newModel(t, serve(t, answer{Body: body}).URL), hello())
	require.NoError(t, err)
	require.Len(t, msg.Parts, 4)
	require.Equal(t, "a", msg.Parts[0].CallID)
	require.Equal(t, "a_2", msg.Parts[1].CallID)
	require.NotEmpty(t, msg.Parts[2].CallID)
	require.NotEqual(t, msg.Parts[2].CallID, msg.Parts[3].CallID)
}

func TestPartWithTextAndCall(t *testing.T) {
	part := `{"text":"Looking.","functionCall":{"id":"a","name":"f","args":{}},"thoughtSignature":"c2ln"}`
	msg := both(t, chunk("STOP", part), chunk("STOP", part))
	require.Equal(t, []model.Part{
		model.Text("Looking."),
		{Kind: model.PartToolCall, CallID: "a", Tool: "f", Args: model.RawArgs("{}"), Provider: "google", Signature: []byte("sig")},
	}, msg.Parts)
}

func TestFinishReasons(t *testing.T) {
	for wire, want := range map[string]model.FinishReason{
		"STOP": model.FinishStop, "MAX_TOKENS": model.FinishLength, "CONTINUATION": model.FinishLength,
		"SAFETY": model.FinishContentFilter, "RECITATION": model.FinishContentFilter, "BLOCKLIST": model.FinishContentFilter,
		"PROHIBITED_CONTENT": model.FinishContentFilter, "SPII": model.FinishContentFilter, "LANGUAGE": model.FinishContentFilter,
		"IMAGE_SAFETY": model.FinishContentFilter, "IMAGE_PROHIBITED_CONTENT": model.FinishContentFilter, "IMAGE_RECITATION": model.FinishContentFilter,
		"MALFORMED_FUNCTION_CALL": model.FinishError, "UNEXPECTED_TOOL_CALL": model.FinishError, "TOO_MANY_TOOL_CALLS": model.FinishError,
		"OTHER": model.FinishOther, "NO_IMAGE": model.FinishOther, "FINISH_REASON_UNSPECIFIED": model.FinishOther, "NEVER_HEARD": model.FinishOther,
	} {
		require.Equal(t, want, both(t, chunk(wire, `{"text":"x"}`), chunk("", `{"text":"x"}`), chunk(wire)).Finish, wire)
	}
	call := `{"functionCall":{"id":"a","name":"f","args":{}}}`
	for wire, want := range map[string]model.FinishReason{
		"STOP": model.FinishToolCalls, "NEVER_HEARD": model.FinishToolCalls, "MAX_TOKENS": model.FinishLength, "SAFETY": model.FinishContentFilter,
	} {
		require.Equal(t, want, both(t, chunk(wire, call), chunk("", call), chunk(wire)).Finish, wire)
	}
	msg, err := newModel(t, serve(t, answer{Body: chunk("", `{"text":"x"}`)}).URL).Generate(context.Background(), hello(), nil)
	require.NoError(t, err)
	require.Equal(t, model.FinishStop, msg.Finish, "an unstreamed response is complete")
}

func TestBlockedPrompt(t *testing.T) {
	blocked := `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":9}}`
	msg := both(t, blocked, blocked)
	require.Equal(t, model.FinishContentFilter, msg.Finish)
	require.Empty(t, msg.Parts)
	require.EqualValues(t, 9, msg.Usage.InputTokens)
}

func TestEmptyResponseWithFinishReason(t *testing.T) {
	msg := both(t, `{"candidates":[{"finishReason":"STOP"}],"responseId":"r"}`, `{"candidates":[{"finishReason":"STOP"}],"responseId":"r"}`)
	require.Empty(t, msg.Parts)
	require.Equal(t, model.FinishStop, msg.Finish)
}

func TestOtherCandidatesAreIgnored(t *testing.T) {
	body := `{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"},{"index":1,"content":{"parts":[{"text":"b"}]},"finishReason":"SAFETY"}]}`
	msg := both(t, body, body)
	require.Equal(t, "a", msg.Text())
	require.Equal(t, model.FinishStop, msg.Finish)
}

func TestGroundingIsKeptForTheApplication(t *testing.T) {
	body := `{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP","groundingMetadata":{"webSearchQueries":["a b"]},"citationMetadata":{}}]}`
	msg := both(t, body, body)
	require.Equal(t, `{"metadata":{"groundingMetadata":{"webSearchQueries":["a b"]}}}`, string(msg.Parts[1].Data))
	require.NotContains(t, contents(t, model.UserText("x"), msg, model.UserText("y")), "webSearchQueries")
}

func TestSourcesAreCitations(t *testing.T) {
	const web, kept, place = `{"web":{"uri":"https://a.test","title":"A"}}`, `{"retrievedContext":{"uri":"gs://b","title":"B","text":"so"}}`, `{"maps":{"uri":"https://m.test","title":"M"}}`
	const source, quote = `{"startIndex":0,"endIndex":1,"uri":"https://c.test"}`, `{"title":"D","uri":"https://d.test"}`
	const about = `"groundingMetadata":{"groundingChunks":[` + web + `,` + kept + `,` + place + `,{"newer":{}}]},"citationMetadata":{"citationSources":[` + source + `],"citations":[` + quote + `]}`
	cite := func(uri, title, text, data string) model.Part {
		return model.Part{Kind: model.PartCitation, Provider: "google", URL: uri, Name: title, Text: text, Data: []byte(data)}
	}
	body := `{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP",` + about + `}]}`
	msg := both(t, body, `{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`, `{"candidates":[{"finishReason":"STOP",`+about+`}]}`)
	require.Equal(t, []model.Part{
		model.Text("a"), cite("https://a.test", "A", "", web), cite("gs://b", "B", "so", kept), cite("https://m.test", "M", "", place),
		cite("https://c.test", "", "", source), cite("https://d.test", "D", "", quote),
	}, msg.Parts[:6])
	require.Equal(t, model.PartOpaque, msg.Parts[6].Kind, "the metadata is complete")
	require.NotContains(t, contents(t, model.UserText("x"), msg, model.UserText("y")), ".test")
}

func TestResponseMediaBecomesParts(t *testing.T) {
	body := chunk("STOP", `{"text":"Here."}`, `{"inlineData":{"mimeType":"image/png","data":"cG5n"}}`, `{"text":"Well?"}`)
	msg := both(t, body, chunk("", `{"text":"Here."}`), chunk("", `{"inlineData":{"mimeType":"image/png","data":"cG5n"}}`), chunk("STOP", `{"text":"Well?"}`))
	require.Equal(t, model.Part{Kind: model.PartMedia, Provider: "google", MediaType: "image/png", Data: []byte("png")}, msg.Parts[1])
}

func TestStreamForms(t *testing.T) {
	a, b := chunk("", `{"text":"a"}`), chunk("STOP", `{"text":"b"}`)
	for name, body := range map[string]string{
		"LF":                      "data: " + a + "\n\ndata: " + b + "\n\n",
		"no space":                "data:" + a + "\n\ndata:" + b + "\n\n",
		"no end of the last line": "data: " + a + "\n\ndata: " + b,
		"comments and fields":     ": hi\n\nevent: x\nid: 1\nretry: 5\ndata: " + a + "\n\n\n\n: there\ndata: " + b + "\n\n",
		"data in several lines":   "data: " + strings.ReplaceAll(a, `,"`, ",\ndata: \"") + "\n\ndata: " + b + "\n\n",
		"an end as OpenAI's":      "data: " + a + "\n\ndata: " + b + "\n\ndata: [DONE]\n\n",
		"an array":                "[" + a + "\n,\n" + b + "]",
		"one object":              strings.Replace(b, `"b"`, `"ab"`, 1),
		"one object in lines":     strings.ReplaceAll(strings.Replace(b, `"b"`, `"ab"`, 1), ",", ",\r\n  "),
	} {
		t.Run(name, func(t *testing.T) {
			msg, err := stream(t, newModel(t, serve(t, answer{Body: body}).URL), hello())
			require.NoError(t, err)
			require.Equal(t, "ab", msg.Text())
		})
	}
}

func TestLongEvent(t *testing.T) {
	data := base64.StdEncoding.EncodeToString(make([]byte, 3<<20))
	msg, err := stream(t, newModel(t, serve(t, answer{Body: events(chunk("STOP", `{"inlineData":{"mimeType":"image/png","data":"`+data+`"}}`))}).URL), hello())
	require.NoError(t, err)
	require.Len(t, msg.Parts[0].Data, 3<<20)
}

func TestSinkErrorIsReturnedUnwrapped(t *testing.T) {
	e := serve(t, answer{Body: events(chunk("", `{"text":"a"}`), chunk("STOP"))})
	_, err := newModel(t, e.URL).Generate(context.Background(), hello(), func(model.Delta) error { return io.EOF })
	require.True(t, err == io.EOF)
	require.Equal(t, 1, e.Count())
}

func TestResponseSizeIsLimited(t *testing.T) {
	parts := strings.Repeat(`{"inlineData":{"mimeType":"image/png","data":"cG5n"}},`, 10_001)
	_, err := newModel(t, serve(t, answer{Body: chunk("STOP", parts+`{"text":"x"}`)}).URL).Generate(context.Background(), hello(), nil)
	require.ErrorContains(t, err, "has more than 10000 parts")
	require.False(t, apiError(t, err).Retryable)
}

// The API counts thoughts beside the answer, some proxies as part of it.
func TestThoughtsAreCountedOnce(t *testing.T) {
	for usage, want := range map[string]model.Usage{
		`{"promptTokenCount":10,"candidatesTokenCount":20,"thoughtsTokenCount":7,"totalTokenCount":37}`: {InputTokens: 10, OutputTokens: 27, ReasoningTokens: 7},
		`{"promptTokenCount":10,"candidatesTokenCount":20,"thoughtsTokenCount":7}`:                      {InputTokens: 10, OutputTokens: 27, ReasoningTokens: 7},
		`{"promptTokenCount":10,"candidatesTokenCount":20,"thoughtsTokenCount":7,"totalTokenCount":30}`: {InputTokens: 10, OutputTokens: 20, ReasoningTokens: 7},
		`{"promptTokenCount":10,"candidatesTokenCount":2,"thoughtsTokenCount":7,"totalTokenCount":12}`:  {InputTokens: 10, OutputTokens: 9, ReasoningTokens: 7},
		`{"promptTokenCount":10,"candidatesTokenCount":-2,"thoughtsTokenCount":-7}`:                     {InputTokens: 10},
	} {
		body := strings.TrimSuffix(chunk("STOP", `{"text":"b"}`), "}") + `,"usageMetadata":` + usage + "}"
		msg, err := newModel(t, serve(t, answer{Body: body}).URL).Generate(context.Background(), hello(), nil)
		require.NoError(t, err)
		require.Equal(t, want, msg.Usage, usage)
	}
}
