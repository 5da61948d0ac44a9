// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

// quickChunks are chunks of text as servers send them. They use the fast path.
var quickChunks = map[string]string{
	"OpenAI":    `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1795312800,"model":"gpt-x","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":" a"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"q7Z"}`,
	"the first": `{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}]}`,
	"vLLM":      `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1795312800,"model":"q","choices":[{"index":0,"delta":{"content":"a","reasoning_content":null},"logprobs":null,"finish_reason":null,"token_ids":null}],"prompt_token_ids":null}`,
	"DeepSeek":  `{"id":"1","model":"d","choices":[{"index":0,"delta":{"content":null,"reasoning_content":"hm"},"finish_reason":null}]}`,
	"OpenRouter": `{"id":"gen-1","provider":"X","model":"m","created":1,"choices":[{"index":0,"delta":{"role":"assistant","content":"a","reasoning":null},` +
		`"finish_reason":null,"native_finish_reason":null,"logprobs":null}]}`,
	"reasoning":                 `{"choices":[{"delta":{"reasoning":"hm","reasoning_content":"hm"}}]}`,
	"spaces":                    " {\"id\" : \"1\" ,\t\"choices\": [ { \"index\": 0, \"delta\": { \"content\": \"a\" } } ] }\r\n ",
	"escapes":                   `{"choices":[{"delta":{"content":"\"\\\n\u00e9\ud83d\ude00\ud83d"}}]}`,
	"no ASCII":                  `{"choices":[{"delta":{"content":"é😀"}}]}`,
	"no UTF-8":                  "{\"object\":\"\xff\",\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}",
	"an empty delta":            `{"choices":[{"delta":{}}]}`,
	"arguments":                 `{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":"}}]},"logprobs":null,"finish_reason":null}]}`,
	"arguments of a later call": `{"choices":[{"delta":{"role":"assistant","content":null,"tool_calls":[{"index":12,"id":null,"type":"function","function":{"name":null,"arguments":"1}"}}]}}]}`,
	"arguments without index":   `{"choices":[{"delta":{"content":"a","tool_calls":[{"function":{"arguments":""}}]}}]}`,
	"an empty call":             `{"choices":[{"delta":{"tool_calls":[{"function":{}}]}}]}`,
	"nulls":                     `{"id":null,"error":null,"x_groq":null,"choices":[{"index":null,"delta":{"content":null,"tool_calls":null,"audio":null}}]}`,
}

// slowChunks contain something else, or the same in another form.
var slowChunks = []string{
	``, `{}`, `[]`, `null`, `{"choices":[]}`, `{"choices":null}`, `{"choices":[null]}`, `{"choices":[{"delta":null}]}`, `{"choices":[{}]}`,
	`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`,
	`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":1}}`,
	`{"choices":[{"delta":{"content":"a"}}],"error":"x"}`, `{"choices":[{"delta":{"content":"a"},"error":{"message":"x"}}]}`,
	`{"choices":[{"delta":{"content":"a"},"message":{"content":"b"}}]}`,
	`{"choices":[{"index":1,"delta":{"content":"a"}}]}`, `{"choices":[{"index":00,"delta":{"content":"a"}}]}`, `{"choices":[{"index":0.5,"delta":{"content":"a"}}]}`,
	`{"choices":[{"delta":{"content":"a"}},{"index":1,"delta":{"content":"b"}}]}`,
	`{"choices":[{"delta":{"content":["a"]}}]}`, `{"choices":[{"delta":{"content":1}}]}`, `{"choices":[{"delta":{"content":"a","refusal":"b"}}]}`,
	`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f"}}]}}]}`,
	`{"usage":"x","choices":[{"delta":{"content":"a"}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":00}]}}]}`,
	`{"choices":[{"delta":{"tool_calls":[]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0},{"index":1}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":100}]}}]}`,
	`{"choices":[{"delta":{"tool_calls":[{"index":-1}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":01}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":1.0}]}}]}`,
	`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":{"a":1}}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"arguments":"1"}}]}}]}`,
	`{"choices":[{"delta":{"tool_calls":[{"index":0,"index":1,"function":{"arguments":"1"}}]}}]}`,
	`{"choices":[{"delta":{"content":"a","content":null}}]}`, `{"choices":[{"delta":{"content":"a"},"delta":{"content":"b"}}]}`,
	`{"choices":[{"delta":{"content":"a","Content":null}}]}`, `{"choices":[{"delta":{"content":"a","CONTENT":"b"}}]}`, `{"Choices":[{"delta":{"content":"a"}}]}`,
	`{"choices":[{"delta":{"content":"a","\u0063ontent":"b"}}]}`,
	`{"id":1,"choices":[{"delta":{"content":"a"}}]}`, `{"id":"\u0061","choices":[{"delta":{"content":"a"}}]}`, `{"object":"\q","choices":[{"delta":{"content":"a"}}]}`,
	`{"created":01,"choices":[{"delta":{"content":"a"}}]}`, `{"created":1.5,"choices":[{"delta":{"content":"a"}}]}`, `{"created":0,"choices":[{"delta":{}}]}`,
	`{"choices":[{"delta":{"content":"\q"}}]}`, `{"choices":[{"delta":{"content":"\u12"}}]}`, "{\"choices\":[{\"delta\":{\"content\":\"\x01\"}}]}",
	`{"choices":[{"delta":{"content":"a"}}]} x`, `{"choices":[{"delta":{"content":"a"}}]}{}`, `{"choices":[{"delta":{"content":"a"}}],}`, `{"choices":[{"delta":{"content":"a"},}]}`,
	`{"choices":[{"delta":{"content":"a"}}]`, `{"choices":[{"delta":{"content":"a`, `{"choices":[{"delta":{"content":"a\`, `{"choices":[{"delta":{"content":nullx}}]}`,
	"\ufeff" + `{"choices":[{"delta":{"content":"a"}}]}`, `{"new":1,"choices":[{"delta":{"content":"a"}}]}`,
}

// first is a possible first chunk of a stream.
const first = `{"id":"0","model":"m0","choices":[{"delta":{"content":"x","reasoning":"y"}}]}`

// call starts a call.
const call = `{"choices":[{"delta":{"tool_calls":[{"index":12,"id":"c1","function":{"name":"f","arguments":"{"}}]}}]}`

// agree checks that the fast path and the general decoder read a chunk alike, at the start of a stream and later. It
// reports whether the fast path was used.
func agree(t *testing.T, chunk []byte) (quick bool) {
	t.Helper()
	for _, before := range [][][]byte{nil, {[]byte(first)}, {[]byte(first), []byte(call)}} {
		want := openaimodel.ReadChunks(false, append(before, chunk)...)
		got := openaimodel.ReadChunks(true, append(before, chunk)...)
		if quick = got.Quick; quick {
			got.Quick = false
			require.Equal(t, want, got, "%q", chunk)
		}
	}
	return quick
}

func TestFastPathEqualsSlowPath(t *testing.T) {
	for name, chunk := range quickChunks {
		require.True(t, agree(t, []byte(chunk)), name)
	}
	for _, chunk := range slowChunks {
		require.False(t, agree(t, []byte(chunk)), chunk)
	}
}

func FuzzTextChunk(f *testing.F) {
	for _, chunk := range quickChunks {
		f.Add([]byte(chunk))
	}
	for _, chunk := range slowChunks {
		f.Add([]byte(chunk))
	}
	for _, d := range dialects {
		for line := range strings.Lines(d.text.stream + d.thinking.stream + d.calls.stream) {
			f.Add([]byte(strings.TrimPrefix(strings.TrimSpace(line), "data: ")))
		}
	}
	f.Fuzz(func(t *testing.T, chunk []byte) { agree(t, chunk) })
}
