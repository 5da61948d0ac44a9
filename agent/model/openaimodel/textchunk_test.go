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
		got := openaimodel.ReadChunks(true, append(before, chunk)...)
		if quick = got.Quick; quick {
			want := openaimodel.ReadChunks(false, append(before, chunk)...)
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

// Whatever is missing from a chunk, in place of something or too much in it, both agree.
func TestFastPathEqualsSlowPathOfSpoiltChunks(t *testing.T) {
	const every = `{"id":"1","object":"o","created":19,"model":"m","service_tier":null,"new":null,"choices":[{"index":0,"delta":{"role":"r","content":"a\\n","reasoning_content":"b","reasoning":null,` +
		`"tool_calls":[{"index":90,"id":null,"type":"t","function":{"name":null,"arguments":"{"}}]},"logprobs":null}]}`
	require.True(t, agree(t, []byte(every)))
	quick := 0
	spoilt := func(chunk string) {
		if agree(t, []byte(chunk)) {
			quick++
		}
	}
	for i := range len(every) + 1 {
		spoilt(every[:i])
		for _, n := range []int{1, 2, 4} {
			if i+n <= len(every) {
				spoilt(every[:i] + every[i+n:])
			}
		}
		for _, more := range []string{`"`, `{`, `}`, `]`, `,`, `:`, `0`, ` `, `\`, `z`, "\x1f", `null`} {
			spoilt(every[:i] + more + every[i:])
			if i < len(every) {
				spoilt(every[:i] + more + every[i+1:])
			}
		}
	}
	require.Equal(t, 826, quick, "how many of them use the fast path")
}

// Each name and each number at a bound is read quickly if it can be.
func TestBoundsOfTheFastPath(t *testing.T) {
	chunk := func(members string) string { return `{` + members + `"choices":[{"delta":{"content":"a"}}]}` }
	call := func(call string) string { return `{"choices":[{"delta":{"tool_calls":[{` + call + `}]}}]}` }
	for text, want := range map[string]bool{
		chunk(`"az_09":null,`): true, chunk(`"aZ":null,`): false, chunk("\"`\":null,"): false, chunk(`"{":null,`): false, chunk(`"/":null,`): false, chunk(`":":null,`): false, chunk(`"a-":null,`): false,
		chunk(`"":null,`): true, chunk(`:null,`): false, chunk(`":null,`): false, chunk(`"created":1,`): true, chunk(`"created":9876543210,`): true, chunk(`"created":0,`): false,
		chunk(`"created":,`): false, chunk(`"created":-1,`): false, chunk(`"created":1`): false, chunk(`"object":"a",`): true, chunk(`"object":"\\n",`): false, chunk(`"object":1,`): false,
		chunk(`"service_tier":"a",`): true, chunk(`"system_fingerprint":"a",`): true, chunk(`"obfuscation":"a",`): true, chunk(`"provider":"a",`): true, chunk(`"other":"a",`): false,
		chunk("\"object\":\"\x1f\","): false, chunk("\"object\":\" \","): true, chunk(`"id":"a","id":"a",`): false, chunk(`"model":"a","model":"b",`): false, chunk(`"id":"\\n",`): false,
		chunk(`"object":nul,`): false, chunk(`"object":null,`): true, chunk(`"role":"a",`): false, chunk(`"created":null,"created":1,`): true,
		call(`"index":0`): true, call(`"index":9`): true, call(`"index":10`): true, call(`"index":99`): true, call(`"index":100`): false, call(`"index":`): false, call(`"index": 7`): true, call(`"index":00`): false, call(`"index":"1"`): false,
		call(`"type":"function"`): true, call(`"type":1`): false, call(`"id":"a"`): false, call(`"function":{"arguments":"{}"}`): true, call(`"function":{"arguments":"\""}`): true, call(`"function":{"name":"a"}`): false,
		call(`"function":{"arguments":1}`): false, call(`"function":[]`): false, call(``): true, call(`"index":1,"index":2`): false, call(`"function":{},"function":{}`): false, call(`"function":{"arguments":"","arguments":""}`): false,
		`{"choices":[{"index":0,"delta":{}}]}`: true, `{"choices":[{"index":1,"delta":{}}]}`: false, `{"choices":[{"delta":{},"index":0,"index":0}]}`: false, `{"choices":[{"delta":{"role":"a"}}]}`: true, `{"choices":[{"delta":{"type":"a"}}]}`: false,
		`{"choices":[{"delta":{}},{"delta":{}}]}`: false, `{"choices":[{"delta":{"tool_calls":[{},{}]}}]}`: false, `{"choices":[{"delta":{}}],"choices":[]}`: false, `{"choices":[{"delta":{"reasoning":"a","reasoning":"b"}}]}`: false,
		`{"choices":[{"delta":{"reasoning_content":"a","reasoning_content":"b"}}]}`: false, `{"choices":[{"delta":{"tool_calls":[],"tool_calls":[]}}]}`: false, `{"choices":[{"role":"a","delta":{}}]}`: false,
		" \t\r\n{\"choices\":[{\"delta\":{}}]} \t\r\n": true, "\f{\"choices\":[{\"delta\":{}}]}": false, `{"choices":[{"delta":{"content":"a` + "\\": false,
	} {
		require.Equal(t, want, agree(t, []byte(text)), "%q", text)
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
