// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// dialect has a server's responses to the same question, streamed and not, in the form that servers of its kind send. The
// content is the same in all of them if the protocol allows it.
type dialect struct {
	provider string
	text     pair // "Hello, wörld"
	calls    pair // two calls in one response
	thinking pair // with reasoning "Let me think."
}

type pair struct {
	plain, stream string
	want          *model.Message
}

var textUsage = model.Usage{InputTokens: 9, OutputTokens: 4}

func textMessage(provider, name, id string, usage model.Usage) *model.Message {
	return &model.Message{
		Kind: model.KindResponse, Provider: provider, Model: name, ResponseID: id, Finish: model.FinishStop, Usage: usage,
		Parts: []model.Part{model.Text("Hello, wörld")},
	}
}

func callsMessage(provider, name, id string, usage model.Usage, ids ...string) *model.Message {
	return &model.Message{
		Kind: model.KindResponse, Provider: provider, Model: name, ResponseID: id, Finish: model.FinishToolCalls, Usage: usage,
		Parts: []model.Part{model.ToolCall(ids[0], "weather", `{"city":"Oslo"}`), model.ToolCall(ids[1], "time", `{}`)},
	}
}

func thinkingMessage(provider, name, id string, usage model.Usage, more ...model.Part) *model.Message {
	parts := append([]model.Part{{Kind: model.PartThinking, Text: "Let me think.", Provider: provider}}, more...)
	return &model.Message{
		Kind: model.KindResponse, Provider: provider, Model: name, ResponseID: id, Finish: model.FinishStop, Usage: usage,
		Parts: append(parts, model.Text("42")),
	}
}

const detailsJSON = `[{"type":"reasoning.text","text":"Let me think.","format":"anthropic-claude-v1","index":0,"signature":"c2ln"},` +
	`{"type":"reasoning.encrypted","data":"AAEC","format":"anthropic-claude-v1","index":1}]`

var dialects = []dialect{
	{
		provider: "openai",
		text: pair{
			plain: `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"gpt-5","choices":[{"index":0,"message":{"role":"assistant","content":"Hello, wörld","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],` +
				`"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13,"prompt_tokens_details":{"cached_tokens":2,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":1,"audio_tokens":0}},"service_tier":"default","system_fingerprint":null}`,
			stream: events(
				`{"id":"chatcmpl-1","object":"chat.completion.chunk","model":"gpt-5","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"x"}`,
				`{"id":"chatcmpl-1","object":"chat.completion.chunk","model":"gpt-5","choices":[{"index":0,"delta":{"content":"Hello"},"logprobs":null,"finish_reason":null}],"usage":null}`,
				`{"id":"chatcmpl-1","object":"chat.completion.chunk","model":"gpt-5","choices":[{"index":0,"delta":{"content":", w\u00f6rld"},"logprobs":null,"finish_reason":null}],"usage":null}`,
				`{"id":"chatcmpl-1","object":"chat.completion.chunk","model":"gpt-5","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null}`,
				`{"id":"chatcmpl-1","object":"chat.completion.chunk","model":"gpt-5","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13,"prompt_tokens_details":{"cached_tokens":2},"completion_tokens_details":{"reasoning_tokens":1}}}`),
			want: textMessage("openai", "gpt-5", "chatcmpl-1", model.Usage{InputTokens: 9, OutputTokens: 4, CacheReadTokens: 2, ReasoningTokens: 1}),
		},
		calls: pair{
			plain: `{"id":"chatcmpl-2","model":"gpt-5","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[` +
				`{"id":"call_a","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}},{"id":"call_b","type":"function","function":{"name":"time","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
			stream: events(
				`{"id":"chatcmpl-2","model":"gpt-5","choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"weather","arguments":""}}]},"finish_reason":null}]}`,
				`{"id":"chatcmpl-2","model":"gpt-5","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"city"}}]},"finish_reason":null}]}`,
				`{"id":"chatcmpl-2","model":"gpt-5","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\":\"Oslo\"}"}}]},"finish_reason":null}]}`,
				`{"id":"chatcmpl-2","model":"gpt-5","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"time","arguments":""}}]},"finish_reason":null}]}`,
				`{"id":"chatcmpl-2","model":"gpt-5","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]},"finish_reason":null}]}`,
				`{"id":"chatcmpl-2","model":"gpt-5","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`),
			want: callsMessage("openai", "gpt-5", "chatcmpl-2", model.Usage{}, "call_a", "call_b"),
		},
	},
	{
		provider: "openrouter",
		text: pair{
			plain: "\n         \n" + `{"id":"gen-1","provider":"Anthropic","model":"anthropic/claude","object":"chat.completion","choices":[{"logprobs":null,"finish_reason":"stop","native_finish_reason":"end_turn","index":0,"message":{"role":"assistant","content":"Hello, wörld","refusal":null,"reasoning":null}}],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13,"cost":0.0001}}`,
			stream: ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n" + events(
				`{"id":"gen-1","provider":"Anthropic","model":"anthropic/claude","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello, "},"finish_reason":null,"native_finish_reason":null,"logprobs":null}]}`,
				`{"id":"gen-1","provider":"Anthropic","model":"anthropic/claude","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"wörld"},"finish_reason":null}]}`,
				`{"id":"gen-1","provider":"Anthropic","model":"anthropic/claude","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop","native_finish_reason":"end_turn"}]}`,
				`{"id":"gen-1","provider":"Anthropic","model":"anthropic/claude","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13}}`),
			want: textMessage("openrouter", "anthropic/claude", "gen-1", textUsage),
		},
		thinking: pair{
			plain: `{"id":"gen-2","model":"anthropic/claude","choices":[{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"42","reasoning":"Let me think.","reasoning_details":` + detailsJSON + `}}]}`,
			stream: events(
				`{"id":"gen-2","model":"anthropic/claude","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"Let me ","reasoning_details":[{"type":"reasoning.text","text":"Let me ","format":"anthropic-claude-v1","index":0}]},"finish_reason":null}]}`,
				`{"id":"gen-2","model":"anthropic/claude","choices":[{"index":0,"delta":{"content":"","reasoning":"think.","reasoning_details":[{"type":"reasoning.text","text":"think.","format":"anthropic-claude-v1","index":0}]},"finish_reason":null}]}`,
				`{"id":"gen-2","model":"anthropic/claude","choices":[{"index":0,"delta":{"content":"","reasoning":null,"reasoning_details":[{"type":"reasoning.text","signature":"c2ln","format":"anthropic-claude-v1","index":0}]},"finish_reason":null}]}`,
				`{"id":"gen-2","model":"anthropic/claude","choices":[{"index":0,"delta":{"content":"","reasoning":null,"reasoning_details":[{"type":"reasoning.encrypted","data":"AAEC","format":"anthropic-claude-v1","index":1}]},"finish_reason":null}]}`,
				`{"id":"gen-2","model":"anthropic/claude","choices":[{"index":0,"delta":{"content":"42"},"finish_reason":"stop"}]}`),
			want: thinkingMessage("openrouter", "anthropic/claude", "gen-2", model.Usage{},
				model.Part{Kind: model.PartOpaque, Provider: "openrouter", Data: []byte(detailsJSON)}),
		},
	},
	{
		provider: "ollama",
		text: pair{
			plain: `{"id":"chatcmpl-3","object":"chat.completion","created":1,"model":"qwen3:8b","system_fingerprint":"fp_ollama","choices":[{"index":0,"message":{"role":"assistant","content":"Hello, wörld"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13}}` + "\n",
			stream: events(
				`{"id":"chatcmpl-3","object":"chat.completion.chunk","created":1,"model":"qwen3:8b","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello, "},"finish_reason":null}]}`,
				`{"id":"chatcmpl-3","object":"chat.completion.chunk","created":1,"model":"qwen3:8b","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"role":"assistant","content":"wörld"},"finish_reason":null}]}`,
				`{"id":"chatcmpl-3","object":"chat.completion.chunk","created":1,"model":"qwen3:8b","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop"}]}`,
				`{"id":"chatcmpl-3","object":"chat.completion.chunk","created":1,"model":"qwen3:8b","system_fingerprint":"fp_ollama","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13}}`),
			want: textMessage("ollama", "qwen3:8b", "chatcmpl-3", textUsage),
		},
		calls: pair{
			plain: `{"id":"chatcmpl-4","model":"qwen3:8b","choices":[{"index":0,"message":{"role":"assistant","content":"","tool_calls":[{"id":"call_1","index":0,"type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}},{"id":"call_2","index":1,"type":"function","function":{"name":"time","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
			// Complete calls, in some versions all with index 0 and finish reason stop.
			stream: events(
				`{"id":"chatcmpl-4","model":"qwen3:8b","choices":[{"index":0,"delta":{"role":"assistant","content":"","tool_calls":[{"id":"call_1","index":0,"type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]},"finish_reason":null}]}`,
				`{"id":"chatcmpl-4","model":"qwen3:8b","choices":[{"index":0,"delta":{"role":"assistant","content":"","tool_calls":[{"id":"call_2","index":0,"type":"function","function":{"name":"time","arguments":"{}"}}]},"finish_reason":null}]}`,
				`{"id":"chatcmpl-4","model":"qwen3:8b","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop"}]}`),
			want: callsMessage("ollama", "qwen3:8b", "chatcmpl-4", model.Usage{}, "call_1", "call_2"),
		},
		thinking: pair{
			plain: `{"id":"chatcmpl-5","model":"qwen3:8b","choices":[{"index":0,"message":{"role":"assistant","content":"42","reasoning":"Let me think."},"finish_reason":"stop"}]}`,
			stream: events(
				`{"id":"chatcmpl-5","model":"qwen3:8b","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"Let me"},"finish_reason":null}]}`,
				`{"id":"chatcmpl-5","model":"qwen3:8b","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":" think."},"finish_reason":null}]}`,
				`{"id":"chatcmpl-5","model":"qwen3:8b","choices":[{"index":0,"delta":{"role":"assistant","content":"42"},"finish_reason":"stop"}]}`),
			want: thinkingMessage("ollama", "qwen3:8b", "chatcmpl-5", model.Usage{}),
		},
	},
	{
		provider: "vllm",
		text: pair{
			plain: `{"id":"chatcmpl-6","object":"chat.completion","model":"Qwen/Qwen3","choices":[{"index":0,"message":{"role":"assistant","reasoning_content":null,"content":"Hello, wörld","tool_calls":[]},"logprobs":null,"finish_reason":"stop","stop_reason":null}],"usage":{"prompt_tokens":9,"total_tokens":13,"completion_tokens":4,"prompt_tokens_details":null},"prompt_logprobs":null,"kv_transfer_params":null}`,
			// Usage in every chunk is cumulative.
			stream: events(
				`{"id":"chatcmpl-6","model":"Qwen/Qwen3","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":9,"total_tokens":9,"completion_tokens":0}}`,
				`{"id":"chatcmpl-6","model":"Qwen/Qwen3","choices":[{"index":0,"delta":{"content":"Hello, w"},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":9,"total_tokens":11,"completion_tokens":2}}`,
				`{"id":"chatcmpl-6","model":"Qwen/Qwen3","choices":[{"index":0,"delta":{"content":"örld"},"logprobs":null,"finish_reason":"stop","stop_reason":null}],"usage":{"prompt_tokens":9,"total_tokens":13,"completion_tokens":4}}`,
				`{"id":"chatcmpl-6","model":"Qwen/Qwen3","choices":[],"usage":{"prompt_tokens":9,"total_tokens":13,"completion_tokens":4}}`),
			want: textMessage("vllm", "Qwen/Qwen3", "chatcmpl-6", textUsage),
		},
		calls: pair{
			plain: `{"id":"chatcmpl-7","model":"Qwen/Qwen3","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"chatcmpl-tool-1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}},{"id":"chatcmpl-tool-2","type":"function","function":{"name":"time","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
			// A new id in every fragment.
			stream: events(
				`{"id":"chatcmpl-7","model":"Qwen/Qwen3","choices":[{"index":0,"delta":{"tool_calls":[{"id":"chatcmpl-tool-1","type":"function","index":0,"function":{"name":"weather"}}]}}]}`,
				`{"id":"chatcmpl-7","model":"Qwen/Qwen3","choices":[{"index":0,"delta":{"tool_calls":[{"id":"chatcmpl-tool-x","type":"function","index":0,"function":{"arguments":"{\"city\":"}}]}}]}`,
				`{"id":"chatcmpl-7","model":"Qwen/Qwen3","choices":[{"index":0,"delta":{"tool_calls":[{"id":"chatcmpl-tool-y","type":"function","index":0,"function":{"arguments":"\"Oslo\"}"}}]}}]}`,
				`{"id":"chatcmpl-7","model":"Qwen/Qwen3","choices":[{"index":0,"delta":{"tool_calls":[{"id":"chatcmpl-tool-2","type":"function","index":1,"function":{"name":"time","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`),
			want: callsMessage("vllm", "Qwen/Qwen3", "chatcmpl-7", model.Usage{}, "chatcmpl-tool-1", "chatcmpl-tool-2"),
		},
		thinking: pair{
			plain: `{"id":"chatcmpl-8","model":"Qwen/Qwen3","choices":[{"index":0,"message":{"role":"assistant","reasoning_content":"Let me think.","reasoning":"Let me think.","content":"42"},"finish_reason":"stop"}]}`,
			stream: events(
				`{"id":"chatcmpl-8","model":"Qwen/Qwen3","choices":[{"index":0,"delta":{"reasoning_content":"Let me think.","reasoning":"Let me think."}}]}`,
				`{"id":"chatcmpl-8","model":"Qwen/Qwen3","choices":[{"index":0,"delta":{"content":"42"},"finish_reason":"stop"}]}`),
			want: thinkingMessage("vllm", "Qwen/Qwen3", "chatcmpl-8", model.Usage{}),
		},
	},
	{
		provider: "llamacpp",
		text: pair{
			plain: `{"choices":[{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"Hello, wörld"}}],"created":1,"model":"gemma","system_fingerprint":"b1","object":"chat.completion","usage":{"completion_tokens":4,"prompt_tokens":9,"total_tokens":13,"prompt_tokens_details":{"cached_tokens":3}},"id":"chatcmpl-9","timings":{"prompt_n":9,"prompt_ms":1.5}}`,
			stream: events(
				`{"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"created":1,"id":"chatcmpl-9","model":"gemma","object":"chat.completion.chunk"}`,
				`{"choices":[{"finish_reason":null,"index":0,"delta":{"content":"Hello, wörld"}}],"created":1,"id":"chatcmpl-9","model":"gemma","object":"chat.completion.chunk"}`,
				`{"choices":[{"finish_reason":"stop","index":0,"delta":{}}],"created":1,"id":"chatcmpl-9","model":"gemma","object":"chat.completion.chunk"}`,
				`{"choices":[],"created":1,"id":"chatcmpl-9","model":"gemma","object":"chat.completion.chunk","usage":{"completion_tokens":4,"prompt_tokens":9,"total_tokens":13,"prompt_tokens_details":{"cached_tokens":3}},"timings":{"cache_n":3}}`),
			want: textMessage("llamacpp", "gemma", "chatcmpl-9", model.Usage{InputTokens: 9, OutputTokens: 4, CacheReadTokens: 3}),
		},
		calls: pair{
			plain: `{"choices":[{"finish_reason":"tool_calls","index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"},"id":"aaa"},{"type":"function","function":{"name":"time","arguments":"{}"},"id":"bbb"}]}}],"model":"gemma","id":"chatcmpl-10"}`,
			stream: events(
				`{"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"id":"chatcmpl-10","model":"gemma"}`,
				`{"choices":[{"finish_reason":null,"index":0,"delta":{"tool_calls":[{"index":0,"id":"aaa","type":"function","function":{"name":"weather","arguments":"{\""}}]}}],"id":"chatcmpl-10","model":"gemma"}`,
				`{"choices":[{"finish_reason":null,"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"city\":\"Oslo\"}"}}]}}],"id":"chatcmpl-10","model":"gemma"}`,
				`{"choices":[{"finish_reason":null,"index":0,"delta":{"tool_calls":[{"index":1,"id":"bbb","type":"function","function":{"name":"time","arguments":"{"}}]}}],"id":"chatcmpl-10","model":"gemma"}`,
				`{"choices":[{"finish_reason":null,"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"}"}}]}}],"id":"chatcmpl-10","model":"gemma"}`,
				`{"choices":[{"finish_reason":"tool_calls","index":0,"delta":{}}],"id":"chatcmpl-10","model":"gemma"}`),
			want: callsMessage("llamacpp", "gemma", "chatcmpl-10", model.Usage{}, "aaa", "bbb"),
		},
	},
	{
		provider: "lmstudio",
		text: pair{
			plain: "{\n  \"id\": \"chatcmpl-11\",\n  \"object\": \"chat.completion\",\n  \"model\": \"gpt-oss\",\n  \"choices\": [\n    {\n      \"index\": 0,\n      \"message\": {\n        \"role\": \"assistant\",\n        \"content\": \"Hello, wörld\",\n        \"tool_calls\": []\n      },\n      \"logprobs\": null,\n      \"finish_reason\": \"stop\"\n    }\n  ],\n  \"usage\": {\n    \"prompt_tokens\": 9,\n    \"completion_tokens\": 4,\n    \"total_tokens\": 13\n  },\n  \"stats\": {}\n}",
			stream: events(
				`{"id":"chatcmpl-11","object":"chat.completion.chunk","model":"gpt-oss","system_fingerprint":"gpt-oss","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello, "},"logprobs":null,"finish_reason":null}]}`,
				`{"id":"chatcmpl-11","object":"chat.completion.chunk","model":"gpt-oss","system_fingerprint":"gpt-oss","choices":[{"index":0,"delta":{"content":"wörld"},"logprobs":null,"finish_reason":null}]}`,
				`{"id":"chatcmpl-11","object":"chat.completion.chunk","model":"gpt-oss","system_fingerprint":"gpt-oss","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]}`,
				`{"id":"chatcmpl-11","object":"chat.completion.chunk","model":"gpt-oss","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13}}`),
			want: textMessage("lmstudio", "gpt-oss", "chatcmpl-11", textUsage),
		},
	},
	{
		provider: "deepseek",
		text: pair{
			plain: "\n\n" + `{"id":"ds-1","object":"chat.completion","model":"deepseek-chat","choices":[{"index":0,"message":{"role":"assistant","content":"Hello, wörld"},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":1}}`,
			stream: ": keep-alive\n\n" + events(
				`{"id":"ds-1","model":"deepseek-chat","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}`,
				`{"id":"ds-1","model":"deepseek-chat","choices":[{"index":0,"delta":{"content":"Hello, wörld"},"logprobs":null,"finish_reason":null}]}`,
				`{"id":"ds-1","model":"deepseek-chat","choices":[{"index":0,"delta":{"content":""},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":1}}`),
			want: textMessage("deepseek", "deepseek-chat", "ds-1", model.Usage{InputTokens: 9, OutputTokens: 4, CacheReadTokens: 8}),
		},
		thinking: pair{
			plain: `{"id":"ds-2","model":"deepseek-reasoner","choices":[{"index":0,"message":{"role":"assistant","content":"42","reasoning_content":"Let me think."},"finish_reason":"stop"}]}`,
			stream: events(
				`{"id":"ds-2","model":"deepseek-reasoner","choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning_content":""},"finish_reason":null}]}`,
				`{"id":"ds-2","model":"deepseek-reasoner","choices":[{"index":0,"delta":{"content":null,"reasoning_content":"Let me think."},"finish_reason":null}]}`,
				`{"id":"ds-2","model":"deepseek-reasoner","choices":[{"index":0,"delta":{"content":"42","reasoning_content":null},"finish_reason":"stop"}]}`),
			want: thinkingMessage("deepseek", "deepseek-reasoner", "ds-2", model.Usage{}),
		},
	},
	{
		provider: "groq", // usage is in its own field
		text: pair{
			plain: `{"id":"chatcmpl-12","object":"chat.completion","model":"openai/gpt-oss-20b","choices":[{"index":0,"message":{"role":"assistant","content":"Hello, wörld"},"logprobs":null,"finish_reason":"stop"}],"usage":{"queue_time":0.05,"prompt_tokens":9,"prompt_time":0.004,"completion_tokens":4,"completion_time":0.09,"total_tokens":13,"total_time":0.1},"usage_breakdown":null,"system_fingerprint":"fp_1","x_groq":{"id":"req_1"},"service_tier":"on_demand"}`,
			stream: events(
				`{"id":"chatcmpl-12","object":"chat.completion.chunk","model":"openai/gpt-oss-20b","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"x_groq":{"id":"req_1"}}`,
				`{"id":"chatcmpl-12","object":"chat.completion.chunk","model":"openai/gpt-oss-20b","choices":[{"index":0,"delta":{"content":"Hello, wörld"},"logprobs":null,"finish_reason":null}]}`,
				`{"id":"chatcmpl-12","object":"chat.completion.chunk","model":"openai/gpt-oss-20b","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"x_groq":{"id":"req_1","usage":{"queue_time":0.05,"prompt_tokens":9,"completion_tokens":4,"total_tokens":13}}}`),
			want: textMessage("groq", "openai/gpt-oss-20b", "chatcmpl-12", textUsage),
		},
		thinking: pair{
			plain: `{"id":"chatcmpl-13","model":"openai/gpt-oss-20b","choices":[{"index":0,"message":{"role":"assistant","content":"42","reasoning":"Let me think."},"finish_reason":"stop"}],"x_groq":{"id":"req_2"}}`,
			stream: events(
				`{"id":"chatcmpl-13","model":"openai/gpt-oss-20b","choices":[{"index":0,"delta":{"role":"assistant","reasoning":"Let me ","channel":"analysis"},"finish_reason":null}]}`,
				`{"id":"chatcmpl-13","model":"openai/gpt-oss-20b","choices":[{"index":0,"delta":{"reasoning":"think.","channel":"analysis"},"finish_reason":null}]}`,
				`{"id":"chatcmpl-13","model":"openai/gpt-oss-20b","choices":[{"index":0,"delta":{"content":"42"},"finish_reason":"stop"}]}`),
			want: thinkingMessage("groq", "openai/gpt-oss-20b", "chatcmpl-13", model.Usage{}),
		},
	},
	{
		provider: "mistral", // usage comes unasked; thinking is a part of the content
		text: pair{
			plain: `{"id":"m-1","object":"chat.completion","created":1,"model":"mistral-small-latest","choices":[{"index":0,"message":{"role":"assistant","tool_calls":null,"content":"Hello, wörld"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"total_tokens":13,"completion_tokens":4}}`,
			stream: events(
				`{"id":"m-1","object":"chat.completion.chunk","created":1,"model":"mistral-small-latest","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`,
				`{"id":"m-1","object":"chat.completion.chunk","created":1,"model":"mistral-small-latest","choices":[{"index":0,"delta":{"content":"Hello, wörld"},"finish_reason":null}]}`,
				`{"id":"m-1","object":"chat.completion.chunk","created":1,"model":"mistral-small-latest","choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"total_tokens":13,"completion_tokens":4}}`),
			want: textMessage("mistral", "mistral-small-latest", "m-1", textUsage),
		},
		calls: pair{
			plain: `{"id":"m-2","model":"mistral-small-latest","choices":[{"index":0,"message":{"role":"assistant","content":"","tool_calls":[{"id":"gSIMJiOkT","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"},"index":0},{"id":"zZ9aB1cD2","function":{"name":"time","arguments":"{}"},"index":1}]},"finish_reason":"tool_calls"}]}`,
			stream: events(
				`{"id":"m-2","model":"mistral-small-latest","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`,
				`{"id":"m-2","model":"mistral-small-latest","choices":[{"index":0,"delta":{"content":"","tool_calls":[{"id":"gSIMJiOkT","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"},"index":0},{"id":"zZ9aB1cD2","function":{"name":"time","arguments":"{}"},"index":1}]},"finish_reason":"tool_calls"}]}`),
			want: callsMessage("mistral", "mistral-small-latest", "m-2", model.Usage{}, "gSIMJiOkT", "zZ9aB1cD2"),
		},
		thinking: pair{
			plain: `{"id":"m-3","model":"magistral-small","choices":[{"index":0,"message":{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"Let me think."}]},{"type":"text","text":"42"}]},"finish_reason":"stop"}]}`,
			stream: events(
				`{"id":"m-3","model":"magistral-small","choices":[{"index":0,"delta":{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"Let me "}]}]},"finish_reason":null}]}`,
				`{"id":"m-3","model":"magistral-small","choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"think."}]}]},"finish_reason":null}]}`,
				`{"id":"m-3","model":"magistral-small","choices":[{"index":0,"delta":{"content":"42"},"finish_reason":"stop"}]}`),
			want: thinkingMessage("mistral", "magistral-small", "m-3", model.Usage{}),
		},
	},
}

func TestStreamedAndUnstreamedMessagesAreEqual(t *testing.T) {
	for _, d := range dialects {
		for name, p := range map[string]pair{"text": d.text, "calls": d.calls, "thinking": d.thinking} {
			if p.want == nil {
				continue
			}
			t.Run(d.provider+"/"+name, func(t *testing.T) {
				plain := newModel(t, serve(t, answer{Body: p.plain}).URL, d.provider)
				got, err := plain.Generate(context.Background(), hello(), nil)
				require.NoError(t, err)
				require.Equal(t, p.want, got)

				streamed := newModel(t, serve(t, answer{Body: p.stream}).URL, d.provider)
				got, err = stream(t, streamed, hello())
				require.NoError(t, err)
				require.Equal(t, p.want, got)

				// A response in the other form than requested is understood too.
				got, err = stream(t, plain, hello())
				require.NoError(t, err)
				require.Equal(t, p.want, got)
				got, err = streamed.Generate(context.Background(), hello(), nil)
				require.NoError(t, err)
				require.Equal(t, p.want, got)
			})
		}
	}
}
