// SPDX-License-Identifier: Apache-2.0

package adaptertest

import "strconv"

// inWordsOfTheirOwn returns answers as several servers and proxies word them.
func inWordsOfTheirOwn(messages []string) []ErrorAnswer {
	all := make([]ErrorAnswer, len(messages))
	for i, m := range messages {
		all[i] = ErrorAnswer{m, "a wording of several servers", 400, `{"error":{"message":` + strconv.Quote(m) + `}}`}
	}
	return all
}

// tooLongWords are about the conversation.
var tooLongWords = []string{
	"Context window limit exceeded: 210000 > 200000",
	"Error: prompt has 140000 tokens, but the model's context window is 131072 tokens",
	"Prompt (130000 tokens) does not fit into the context window (128000 tokens)",
	"The prompt does not fit in the model's context",
	"Number of tokens in the prompt (9000) is larger than the context window (8192)",
	"Your prompt contains 250000 tokens, which is more than the context size of 200000",
	"messages too long: total tokens 140000 larger than context limit 131072",
	"The messages are too long for this model (maximum 8192 tokens)",
	"Too many tokens: the conversation has 250000 tokens but the limit is 200000",
	"Input too long. Maximum context is 4096 tokens.",
	"Input is too large: 250000 tokens. The maximum is 200000 tokens.",
	"Input exceeds the token limit of the model",
	"Sequence length of 9000 exceeds model maximum of 8192",
	"Prompt length (9000) exceeds max_seq_len (8192)",
	"total tokens (prompt 9000 + completion 500) exceed max_model_len 8192",
	"Total number of tokens (prompt + max_new_tokens) exceeds model's context length",
}

// notTooLongWords are about something else: the output, a key, a file.
var notTooLongWords = []string{
	"The value of max_tokens exceeds the maximum context length",
	"Requested max_tokens 300000 exceeds the model's context window of 200000; " +
		"lower max_tokens",
	"max_output_tokens exceeds the model's context length",
	"max_completion_tokens exceeds maximum context length of 128000",
	"Requested output tokens (300000) exceed the context window (200000)",
	"thinking.budget_tokens exceeds the context window",
	"Token limit exceeded for this API key. Monthly limit 1000000",
	"Token limit exceeded: your daily allowance of 100000 tokens is used up",
	"Your account's token limit exceeded",
	"user token limit exceeded, contact your administrator",
	"Tokens per hour limit reached: input tokens exceed the configured limit of " +
		"10000 tokens/hour",
	"Long context is for tier 4: prompt is too long for your usage tier",
	"Request exceeds the maximum size of images: 20",
	"the file is too large: request exceeds the maximum size for uploads",
	"audio input is too long: at most 30 minutes",
	"Embedding input is too long",
	"Unable to load model: maximum context length: out of memory",
	"invalid value for num_ctx: exceeds the model's maximum context length",
	"logit_bias exceeds the maximum number of tokens allowed (300)",
}
