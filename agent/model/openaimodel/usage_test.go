// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// The counts are from real responses if a source is given.
var usageShapes = []struct {
	name  string
	usage string
	want  model.Usage
}{
	{
		"OpenAI: reasoning is part of the output",
		`{"prompt_tokens":75,"completion_tokens":1186,"total_tokens":1261,"prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":{"reasoning_tokens":1024}}`,
		model.Usage{InputTokens: 75, OutputTokens: 1186, CacheReadTokens: 64, ReasoningTokens: 1024},
	},
	{ // vercel/ai pull request 12425
		"xAI: reasoning is beside the output",
		`{"prompt_tokens":12,"completion_tokens":1,"total_tokens":399,"completion_tokens_details":{"reasoning_tokens":386}}`,
		model.Usage{InputTokens: 12, OutputTokens: 387, ReasoningTokens: 386},
	},
	{ // Wei-Shaw/sub2api issue 5771, whose price agrees
		"xAI: less reasoning than answer would tell nothing, the total does",
		`{"prompt_tokens":10120,"completion_tokens":1499,"total_tokens":14428,"prompt_tokens_details":{"cached_tokens":128},"completion_tokens_details":{"reasoning_tokens":2809}}`,
		model.Usage{InputTokens: 10120, OutputTokens: 4308, CacheReadTokens: 128, ReasoningTokens: 2809},
	},
	{
		"xAI: reasoning shorter than the answer",
		`{"prompt_tokens":20,"completion_tokens":300,"total_tokens":330,"completion_tokens_details":{"reasoning_tokens":10}}`,
		model.Usage{InputTokens: 20, OutputTokens: 310, ReasoningTokens: 10},
	},
	{
		"xAI: reasoning shorter than the answer, beside a cache",
		`{"prompt_tokens":100,"completion_tokens":300,"total_tokens":410,"prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":{"reasoning_tokens":10}}`,
		model.Usage{InputTokens: 100, OutputTokens: 310, CacheReadTokens: 64, ReasoningTokens: 10},
	},
	{ // the counts of mozilla-ai/any-llm issue 1290, as the compatible endpoint has them
		"Google: thinking is in the total only",
		`{"completion_tokens":198,"prompt_tokens":20,"total_tokens":623}`,
		model.Usage{InputTokens: 20, OutputTokens: 603, ReasoningTokens: 405},
	},
	{ // mistralai/client-ts issue 240, vercel/ai issue 14382
		"Mistral: cached tokens",
		`{"prompt_tokens":1013,"total_tokens":1043,"completion_tokens":30,"num_cached_tokens":1008}`,
		model.Usage{InputTokens: 1013, OutputTokens: 30, CacheReadTokens: 1008},
	},
	{
		"Mistral: cached tokens in the singular",
		`{"prompt_tokens":1013,"total_tokens":1043,"completion_tokens":30,"prompt_token_details":{"cached_tokens":1008}}`,
		model.Usage{InputTokens: 1013, OutputTokens: 30, CacheReadTokens: 1008},
	},
	{ // AstrBotDevs/AstrBot issue 6614
		"Moonshot: cached tokens twice",
		`{"prompt_tokens":1336,"completion_tokens":31,"total_tokens":1367,"cached_tokens":1280,"prompt_tokens_details":{"cached_tokens":1280}}`,
		model.Usage{InputTokens: 1336, OutputTokens: 31, CacheReadTokens: 1280},
	},
	{ // promptfoo/promptfoo pull request 10132
		"Moonshot: cached tokens at the top only",
		`{"prompt_tokens":2989,"completion_tokens":5,"total_tokens":2994,"cached_tokens":1792}`,
		model.Usage{InputTokens: 2989, OutputTokens: 5, CacheReadTokens: 1792},
	},
	{
		"DeepSeek",
		`{"prompt_tokens":20,"completion_tokens":30,"total_tokens":50,"prompt_cache_hit_tokens":16,"prompt_cache_miss_tokens":4,"completion_tokens_details":{"reasoning_tokens":12}}`,
		model.Usage{InputTokens: 20, OutputTokens: 30, CacheReadTokens: 16, ReasoningTokens: 12},
	},
	{
		"Perplexity: reasoning is in nothing else",
		`{"prompt_tokens":33,"completion_tokens":7163,"total_tokens":7196,"citation_tokens":20016,"num_search_queries":26,"reasoning_tokens":73997}`,
		model.Usage{InputTokens: 33, OutputTokens: 81160, ReasoningTokens: 73997},
	},
	{
		"a proxy that counts cached input beside the rest",
		`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":915,"prompt_tokens_details":{"cached_tokens":900}}`,
		model.Usage{InputTokens: 910, OutputTokens: 5, CacheReadTokens: 900},
	},
	{ // aaif-goose/goose pull request 11472, measured with the service
		"OpenRouter: Claude writes the cache",
		`{"prompt_tokens":25612,"completion_tokens":10,"total_tokens":25622,"prompt_tokens_details":{"cached_tokens":0,"cache_write_tokens":25600}}`,
		model.Usage{InputTokens: 25612, OutputTokens: 10, CacheWriteTokens: 25600},
	},
	{ // OpenRouter, "Usage Accounting"
		"OpenRouter: reads and writes",
		`{"prompt_tokens":10339,"completion_tokens":60,"total_tokens":10399,"prompt_tokens_details":{"cached_tokens":10318,"cache_write_tokens":21},"completion_tokens_details":{"reasoning_tokens":0}}`,
		model.Usage{InputTokens: 10339, OutputTokens: 60, CacheReadTokens: 10318, CacheWriteTokens: 21},
	},
	{
		"OpenRouter: the same tokens as read and as written",
		`{"prompt_tokens":2268,"completion_tokens":5,"total_tokens":2273,"prompt_tokens_details":{"cached_tokens":2111,"cache_write_tokens":2111,"audio_tokens":0}}`,
		model.Usage{InputTokens: 2268, OutputTokens: 5, CacheReadTokens: 2111, CacheWriteTokens: 157},
	},
	{
		"the same without a total",
		`{"prompt_tokens":2268,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":2111,"cache_write_tokens":2111}}`,
		model.Usage{InputTokens: 2268, OutputTokens: 5, CacheReadTokens: 2111, CacheWriteTokens: 157},
	},
	{
		"a proxy that counts what is written beside the rest",
		`{"prompt_tokens":1000,"completion_tokens":5,"total_tokens":1305,"prompt_tokens_details":{"cached_tokens":900,"cache_write_tokens":300}}`,
		model.Usage{InputTokens: 1300, OutputTokens: 5, CacheReadTokens: 900, CacheWriteTokens: 300},
	},
	{ // QuantumNous/new-api, relay tests: Claude's own counts under OpenAI's names
		"a proxy that counts neither in the total",
		`{"prompt_tokens":35,"completion_tokens":576,"total_tokens":611,"prompt_tokens_details":{"cached_tokens":36,"cache_write_tokens":21013}}`,
		model.Usage{InputTokens: 21084, OutputTokens: 576, CacheReadTokens: 36, CacheWriteTokens: 21013},
	},
	{
		"xAI: reasoning beside a cache that is part of the input", // total = input + output + reasoning
		`{"prompt_tokens":100,"completion_tokens":20,"total_tokens":150,"prompt_tokens_details":{"cached_tokens":30},"completion_tokens_details":{"reasoning_tokens":30}}`,
		model.Usage{InputTokens: 100, OutputTokens: 50, CacheReadTokens: 30, ReasoningTokens: 30},
	},
	{ // OpenAI, "Audio": its tokens are part of both
		"OpenAI: audio",
		`{"prompt_tokens":120,"completion_tokens":300,"total_tokens":420,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":100},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":250}}`,
		model.Usage{InputTokens: 120, OutputTokens: 300},
	},
	{
		"no total", `{"prompt_tokens":10,"completion_tokens":5,"completion_tokens_details":{"reasoning_tokens":3}}`,
		model.Usage{InputTokens: 10, OutputTokens: 5, ReasoningTokens: 3},
	},
	{
		"a total that is too small", `{"prompt_tokens":10,"completion_tokens":5,"total_tokens":1}`,
		model.Usage{InputTokens: 10, OutputTokens: 5},
	},
	{"nonsense", `{"prompt_tokens":-1,"completion_tokens":-5,"total_tokens":-6}`, model.Usage{}},
}

func TestUsageIsNormalised(t *testing.T) {
	for _, shape := range usageShapes {
		t.Run(shape.name, func(t *testing.T) {
			plain := `{"choices":[{"index":0,"message":{"content":"hi"},"finish_reason":"stop"}],"usage":` + shape.usage + `}`
			streams := map[string]string{
				"last":      events(delta(`{"content":"hi"}`), finish("stop"), `{"choices":[],"usage":`+shape.usage+`}`),
				"in choice": events(delta(`{"content":"hi"}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":`+shape.usage+`}]}`),
			}
			msg, err := newModel(t, serve(t, answer{Body: plain}).URL, "").Generate(context.Background(), hello(), nil)
			require.NoError(t, err)
			require.Equal(t, shape.want, msg.Usage)
			for where, body := range streams {
				var last *model.Usage
				msg, err := newModel(t, serve(t, answer{Body: body}).URL, "").Generate(context.Background(), hello(), func(d model.Delta) error {
					if d.Usage != nil {
						last = d.Usage
					}
					return nil
				})
				require.NoError(t, err)
				require.Equal(t, shape.want, msg.Usage, where)
				require.Equal(t, &shape.want, last, where)
			}
		})
	}
}

func TestUsageOfResponsesMatchesTheTotal(t *testing.T) {
	msg, err := newResponses(t, serve(t, answer{Body: `{"id":"r","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}],
		"usage":{"input_tokens":10,"output_tokens":2,"output_tokens_details":{"reasoning_tokens":30},"total_tokens":42}}`}).URL).Generate(context.Background(), hello(), nil)
	require.NoError(t, err)
	require.Equal(t, model.Usage{InputTokens: 10, OutputTokens: 32, ReasoningTokens: 30}, msg.Usage)
}
