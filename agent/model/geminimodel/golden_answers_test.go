// SPDX-License-Identifier: Apache-2.0

package geminimodel_test

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"testing"
)

// of returns a chunk with one candidate, whose members after the parts are given, and with more members beside it.
func of(parts, candidate, more string) string {
	return `{"candidates":[{"content":{"parts":[` + parts + `]}` + candidate + `}]` + more + `}`
}

// answers are what an endpoint sends with status 200: the chunks of a stream, or a whole answer if there is one chunk.
var answers = []struct {
	name   string
	chunks []string
}{
	{"text", []string{of(`{"text":"a"}`, `,"finishReason":"STOP"`, "")}},
	{"text, with ids", []string{of(`{"text":"a"}`, `,"finishReason":"STOP"`, `,"modelVersion":"m-2","responseId":"r-2"`)}},
	{"ids that change", []string{of(`{"text":"a"}`, "", `,"modelVersion":"m-1","responseId":"r-1"`), of(`{"text":"b"}`, `,"finishReason":"STOP"`, `,"modelVersion":"m-2","responseId":"r-2"`)}},
	{"ids that come once", []string{of(`{"text":"a"}`, "", `,"modelVersion":"m-1","responseId":"r-1"`), of(`{"text":"b"}`, `,"finishReason":"STOP"`, `,"modelVersion":"","responseId":""`)}},
	{"thinking, text and thinking", []string{
		of(`{"text":"h","thought":true}`, "", ""), of(`{"text":"m","thought":true}`, "", ""), of(`{"text":"a"}`, "", ""), of(`{"text":"b"}`, "", ""),
		of(`{"text":"x","thought":true}`, `,"finishReason":"STOP"`, ""),
	}},
	{"signed thinking", []string{of(`{"text":"h","thought":true,"thoughtSignature":"c2ln"},{"text":"i","thought":true},{"text":"a"}`, `,"finishReason":"STOP"`, "")}},
	{"thinking signed at its end", []string{
		of(`{"text":"h","thought":true}`, "", ""), of(`{"text":"","thought":true,"thoughtSignature":"c2ln"}`, "", ""), of(`{"text":"i","thought":true}`, `,"finishReason":"STOP"`, ""),
	}},
	{"a signature of thinking alone", []string{of(`{"text":"","thought":true,"thoughtSignature":"c2ln"},{"text":"a"}`, `,"finishReason":"STOP"`, "")}},
	{"a signature of thinking after text", []string{of(`{"text":"a"},{"text":"","thought":true,"thoughtSignature":"c2ln"},{"text":"b"}`, `,"finishReason":"STOP"`, "")}},
	{"signed text", []string{of(`{"text":"a"},{"text":"b","thoughtSignature":"c2ln"},{"text":"c"}`, `,"finishReason":"STOP"`, "")}},
	{"text that begins with a signature", []string{of(`{"text":"b","thoughtSignature":"c2ln"},{"text":"c"}`, `,"finishReason":"STOP"`, "")}},
	{"signatures of one byte", []string{of(`{"text":"h","thought":true,"thoughtSignature":"cw=="},{"text":"b","thoughtSignature":"cw=="},{"functionCall":{"id":"c","name":"f"},"thoughtSignature":"cw=="},{"inlineData":{"data":""},"thoughtSignature":"cw=="},{"text":"","thoughtSignature":"cw=="},{"text":"","thought":true,"thoughtSignature":"cw=="}`, `,"finishReason":"STOP"`, "")}},
	{"a signature of no text", []string{of(`{"text":"a"},{"text":"","thoughtSignature":"c2ln"},{"text":"c"}`, `,"finishReason":"STOP"`, "")}},
	{"a signature without text", []string{of(`{"text":"a"},{"thoughtSignature":"c2ln"}`, `,"finishReason":"STOP"`, "")}},
	{"empty text", []string{of(`{"text":""},{"text":"","thought":true},{"text":"a"},{"text":""},{"text":"b"}`, `,"finishReason":"STOP"`, "")}},
	{"nothing but empty text", []string{of(`{"text":""}`, "", "")}},
	{"a call", []string{of(`{"functionCall":{"id":"c1","name":"f","args":{"a":1}}}`, `,"finishReason":"STOP"`, "")}},
	{"calls between text", []string{of(`{"text":"a"},{"functionCall":{"id":"c1","name":"f","args":{}}},{"text":"b"},{"functionCall":{"id":"c2","name":"g"}}`, `,"finishReason":"STOP"`, "")}},
	{"a signed call", []string{of(`{"functionCall":{"id":"c1","name":"f","args":{"a":1}},"thoughtSignature":"c2ln"}`, `,"finishReason":"STOP"`, "")}},
	{"arguments of null", []string{of(`{"functionCall":{"id":"c1","name":"f","args":null}}`, `,"finishReason":"STOP"`, "")}},
	{"arguments that are no object", []string{of(`{"functionCall":{"id":"c1","name":"f","args":[1, 2]}}`, `,"finishReason":"STOP"`, "")}},
	{"one id twice", []string{of(`{"functionCall":{"id":"c","name":"f"}},{"functionCall":{"id":"c","name":"f"}},{"functionCall":{"name":"f"}}`, `,"finishReason":"STOP"`, "")}},
	{"text and a call in one part", []string{of(`{"text":"a","functionCall":{"id":"c","name":"f"}}`, `,"finishReason":"STOP"`, "")}},
	{"thinking and a call in one part", []string{of(`{"text":"a","thought":true,"functionCall":{"id":"c","name":"f"},"thoughtSignature":"c2ln"}`, `,"finishReason":"STOP"`, "")}},
	{"a call without a name", []string{of(`{"text":"a"},{"functionCall":{"id":"c"}}`, `,"finishReason":"STOP"`, "")}},
	{"text and a call without a name", []string{of(`{"text":"a","functionCall":{"id":"c"}}`, `,"finishReason":"STOP"`, "")}},
	{"pieces of arguments", []string{of(`{"functionCall":{"id":"c","name":"f","partialArgs":[{}]}}`, `,"finishReason":"STOP"`, "")}},
	{"a call that continues", []string{of(`{"functionCall":{"id":"c","name":"f","willContinue":true}}`, `,"finishReason":"STOP"`, "")}},
	{"an image", []string{of(`{"inlineData":{"mimeType":"image/png","data":"cG5n","displayName":"a.png"}}`, `,"finishReason":"STOP"`, "")}},
	{"a signed image within text", []string{of(`{"text":"a"},{"inlineData":{"mimeType":"image/png","data":"cG5n"},"thoughtSignature":"c2ln"},{"text":"b"}`, `,"finishReason":"STOP"`, "")}},
	{"a thought image", []string{of(`{"inlineData":{"mimeType":"image/png","data":"cG5n"},"thought":true}`, `,"finishReason":"STOP"`, "")}},
	{"an unknown part within text", []string{of(`{"text":"a"}, {"toolCall": {"n": 1.0}} ,{"text":"b"}`, `,"finishReason":"STOP"`, "")}},
	{"empty parts", []string{of(`{"text":"a"},{},null,{"text":"b"}`, `,"finishReason":"STOP"`, "")}},
	{"a part of one letter", []string{of(`{"":1}`, `,"finishReason":"STOP"`, "")}},
	{"opaque parts of a second candidate", []string{
		`{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"},{"index":1,"content":{"parts":[{"x":1}]}}]}`,
	}},
	{"opaque parts of two candidates", []string{
		`{"candidates":[{"index":1,"content":{"parts":[{"x":1},{"text":"n"}]}},{"content":{"parts":[{"text":"a"},{"y":2}]},"finishReason":"STOP"}]}`,
	}},
	{"an array", []string{`[` + of(`{"text":"a"},{"x":1}`, "", "") + `,` + of(`{"text":"b"},{"y":2}`, `,"finishReason":"STOP"`, "") + `]`}},
	{"an array with a mark of its order", []string{"\ufeff[" + of(`{"text":"a"}`, `,"finishReason":"STOP"`, "") + `]`}},
	{"an empty array", []string{`[]`}},
	{"a number", []string{`7`}},
	{"null", []string{`null`}},
	{"no content", []string{`{"candidates":[{"finishReason":"STOP"}]}`}},
	{"no finish reason", []string{of(`{"text":"a"}`, "", "")}},
	{"no parts", []string{`{"candidates":[{"content":{"parts":[]}}]}`}},
	{"another candidate alone", []string{`{"candidates":[{"index":1,"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}`}},
	{"a blocked prompt", []string{`{"promptFeedback":{"blockReason":"SAFETY","blockReasonMessage":"no"}}`}},
	{"a prompt with feedback that is not blocked", []string{`{"promptFeedback":{}}`}},
	{"a prompt with feedback before the answer", []string{`{"promptFeedback":{}}`, of(`{"text":"a"}`, `,"finishReason":"STOP"`, "")}},
	{"a block in the middle", []string{of(`{"text":"a"}`, "", ""), `{"promptFeedback":{"blockReason":"SAFETY"}}`}},
	{"calls and a block", []string{of(`{"functionCall":{"id":"c","name":"f"}}`, `,"finishReason":"STOP"`, `,"promptFeedback":{"blockReason":"SAFETY"}`)}},
	{"a malformed call", []string{of("", `,"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"print("`, "")}},
	{"a malformed call without a message", []string{of("", `,"finishReason":"MALFORMED_FUNCTION_CALL"`, "")}},
	{"a malformed call after text", []string{of(`{"text":"a"}`, `,"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"print("`, "")}},
	{"the last of two reasons", []string{of(`{"text":"a"}`, `,"finishReason":"MAX_TOKENS"`, ""), of(`{"text":"b"}`, `,"finishReason":"STOP"`, "")}},
	{"usage that grows", []string{
		of(`{"text":"a"}`, "", `,"usageMetadata":{"promptTokenCount":7}`), of(`{"text":"b"}`, "", `,"usageMetadata":{"promptTokenCount":7}`),
		of(`{"text":"c"}`, `,"finishReason":"STOP"`, `,"usageMetadata":{"promptTokenCount":7,"toolUsePromptTokenCount":2,"candidatesTokenCount":3,"thoughtsTokenCount":4,"cachedContentTokenCount":5,"totalTokenCount":16}`),
		`{"usageMetadata":{}}`,
	}},
	{"usage of nothing", []string{of(`{"text":"a"}`, `,"finishReason":"STOP"`, `,"usageMetadata":{}`)}},
	{"usage twice", []string{of(`{"text":"a"}`, "", `,"usageMetadata":{}`), of(`{"text":"a"}`, `,"finishReason":"STOP"`, `,"usageMetadata":{}`)}},
	{"thoughts within the output", []string{of(`{"text":"a"}`, `,"finishReason":"STOP"`, `,"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":4,"thoughtsTokenCount":4,"totalTokenCount":11}`)}},
	{"thoughts beside the output", []string{of(`{"text":"a"}`, `,"finishReason":"STOP"`, `,"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":4,"thoughtsTokenCount":4,"totalTokenCount":15}`)}},
	{"more thoughts than output", []string{of(`{"text":"a"}`, `,"finishReason":"STOP"`, `,"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":4,"thoughtsTokenCount":5,"totalTokenCount":11}`)}},
	{"all metadata", []string{of(`{"text":"a"}`, `,"finishReason":"STOP","urlContextMetadata":{"u":1},"citationMetadata":{"citationSources":[{"uri":"https://c","title":"C","text":"t"}]},"groundingMetadata":{"groundingChunks":[{"web":{"uri":"https://w","title":"W"}}]}`, "")}},
	{"metadata in several chunks", []string{
		of(`{"text":"a"}`, `,"groundingMetadata":{"g":1}`, ""), of(`{"text":"b"}`, `,"citationMetadata":{"c":1}`, ""),
		of(`{"text":"c"}`, `,"finishReason":"STOP","groundingMetadata":null,"citationMetadata":{},"urlContextMetadata": {"u":1}`, ""),
	}},
	{"metadata that is replaced", []string{of(`{"text":"a"}`, `,"groundingMetadata":{"g":1}`, ""), of("", `,"finishReason":"STOP","groundingMetadata":{"g":2}`, "")}},
	{"metadata of wrong types", []string{of(`{"text":"a"}`, `,"finishReason":"STOP","groundingMetadata":[1],"citationMetadata":7,"urlContextMetadata":"x"`, "")}},
	{"sources of every kind and none", []string{of(`{"text":"a"}`, `,"finishReason":"STOP","groundingMetadata":{"groundingChunks":[{"retrievedContext":{"uri":"u","title":"t","text":"x"}},{"maps":{"uri":"m"}},{"web":7},7,{"image":{}},{"maps":{"uri":"2"},"web":{"uri":"1"}}]},"citationMetadata":{"citations":[{"uri":"q"},7]}`, "")}},
	{"an error within", []string{of(`{"text":"a"}`, "", ""), `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"busy"}}`}},
	{"an error at once", []string{`{"error":{"code":500,"message":"broken"}}`}},
	{"an error of a number", []string{`{"error":7}`}},
	{"an error of null", []string{of(`{"text":"a"}`, `,"finishReason":"STOP"`, `,"error":null`)}},
	{"an error beside a candidate", []string{of(`{"text":"a"}`, `,"finishReason":"STOP"`, `,"error":{"message":"no"}`)}},
	{"an error in an array", []string{`[` + of(`{"text":"a"}`, "", "") + `,{"error":{"status":"UNAVAILABLE"}}]`}},
	{"a wrong type", []string{of(`{"text":7}`, `,"finishReason":"STOP"`, "")}},
	{"a wrong type after text", []string{of(`{"text":"a"}`, "", ""), of(`{"text":7}`, `,"finishReason":"STOP"`, "")}},
	{"a wrong type in an array", []string{`[` + of(`{"text":7}`, "", "") + `]`}},
	{"a broken end", []string{of(`{"text":"a"}`, "", ""), `{"candidates":[`}},
	{"a broken start", []string{`{"candidates":[`}},
	{"a wrong sign", []string{`{"candidates":[}`}},
	{"text that is no JSON", []string{`upstream is gone`}},
	{"text that is no JSON after text", []string{of(`{"text":"a"}`, "", ""), `upstream is gone`}},
	{"something foreign", []string{`{"detail":"gone"}`}},
	{"something foreign in a list", []string{`[{"detail":"gone"}]`}},
	{"an empty list of candidates", []string{`{"candidates": []}`}},
	{"nothing in braces", []string{`{ }`}},
	{"nothing in a list of braces", []string{"[{\t},\r\n{}]"}},
	{"an id alone", []string{`{"responseId":"r"}`}},
	{"a version alone", []string{`{"modelVersion":"m"}`}},
	{"a version alone, and foreign words", []string{`{"modelVersion":"m","says":1}`}},
	{"the end of another protocol", []string{of(`{"text":"a"}`, `,"finishReason":"STOP"`, ""), `[DONE]`}},
	{"the end of another protocol first", []string{`[DONE]`, of(`{"text":"a"}`, `,"finishReason":"STOP"`, "")}},
	{"blank events", []string{` `, of(`{"text":"a"}`, "", ""), "\t", of(`{"text":"b"}`, `,"finishReason":"STOP"`, "")}},
	{"what follows the end", []string{of(`{"text":"a"}`, `,"finishReason":"STOP"`, ""), of(`{"text":"b"}`, "", "")}},
}

func TestAnswersMatchTheGoldenFile(t *testing.T) {
	var told story
	for _, test := range answers {
		body := events(test.chunks...)
		ways := map[string]string{"streamed": body, "without the last line end": strings.TrimRight(body, "\r\n")}
		if len(test.chunks) == 1 {
			ways["whole"], ways["a whole body for a stream"] = test.chunks[0], test.chunks[0]
		}
		told.ways(test.name, slices.Sorted(maps.Keys(ways)), func(way string) []string {
			return outcome(t, inMemory(t, answer{Body: ways[way]}, nil), hello(), way != "whole")
		})
	}
	told.compare(t, "answers.txt")
}

func TestFinishReasonsMatchTheGoldenFile(t *testing.T) {
	var told story
	for _, reason := range []string{
		"", "FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "CONTINUATION", "SAFETY", "RECITATION", "LANGUAGE", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
		"MALFORMED_FUNCTION_CALL", "IMAGE_SAFETY", "UNEXPECTED_TOOL_CALL", "IMAGE_PROHIBITED_CONTENT", "NO_IMAGE", "IMAGE_RECITATION", "IMAGE_OTHER",
		"MODEL_ARMOR", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE", "stop", "SOMETHING_NEW",
	} {
		for _, parts := range []string{"", `{"text":"a"}`, `{"functionCall":{"id":"c","name":"f"}}`} {
			told.tell(reason+" "+parts, outcome(t, inMemory(t, answer{Body: of(parts, `,"finishReason":"`+reason+`"`, "")}, nil), hello(), false)...)
		}
	}
	told.compare(t, "finish-reasons.txt")
}

// TestSizesOfAnswersAreBound checks that what fits is taken, and that one more is not.
func TestSizesOfAnswersAreBound(t *testing.T) {
	parts := func(n int) string {
		one := `{"inlineData":{"mimeType":"image/png","data":"` + base64.StdEncoding.EncodeToString([]byte("png")) + `"}}`
		return of(strings.TrimSuffix(strings.Repeat(one+",", n), ","), `,"finishReason":"STOP"`, "")
	}
	var told story
	for _, streamed := range []bool{false, true} {
		got := outcome(t, inMemory(t, answer{Body: parts(10_000)}, nil), hello(), streamed)
		if !strings.Contains(got[0], `"data":"cG5n"`) || strings.Count(got[0], "image/png") != 10_000 {
			t.Errorf("10000 parts fit, but got %.300s", got)
		}
		told.tell("one part too many", outcome(t, inMemory(t, answer{Body: parts(10_001)}, nil), hello(), streamed)...)
	}
	told.compare(t, "too-many-parts.txt")
}
