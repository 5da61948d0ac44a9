// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"net/http"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// contextLengthCodes are codes and types of errors for a conversation that is too long.
const contextLengthCodes = "context_length_exceeded|context_window_exceeded|exceed_context_size_error|request_too_large|" +
	"model_max_prompt_tokens_exceeded|tokens_limit_reached|too_many_prompt_tokens|" +
	"tokens_too_long|characters_too_long|context_overflow"

// contextLengthPhrases are messages of errors for a conversation that is too long, in lower case.
// Bars separate them, an asterisk matches any text, and a hash at the end a digit. The test has the
// whole messages, with their sources.
const contextLengthPhrases = "" +
	// OpenAI, and what is modelled after it: DeepSeek, vLLM, SGLang, OpenRouter, Mistral,
	// Fireworks, NVIDIA, MLX.
	"maximum context length is #|maximum context length of|maximum context length (|maximum context length:|" +
	"too large for model with*maximum context length|reduce the length of the messages|" +
	"context_length_exceeded|" +
	"input tokens exceed the configured limit|contextwindowexceeded|" +
	// Anthropic, Amazon Bedrock, Google, xAI, Perplexity.
	"prompt is too long|request exceeds the maximum size|maximum allowed number of bytes|" +
	"input is too long|prompt tokens*exceed model maximum|too many input tokens|number of input tokens exceeds|" +
	"exceeds the max input token|too many total text bytes|" +
	"input token count*exceeds|input token count*supports up to|exceeds the maximum number of tokens|" +
	"exceeds the maximum number of input tokens|request payload size exceeds the limit|" +
	"maximum prompt length is|sent message larger than max|length of all messages is too long|" +
	// vLLM, SGLang, Together, DeepInfra, Text Generation Inference, TensorRT-LLM, OpenVINO.
	"longer than the maximum model length|exceeds the max_model_len|context length is only|" +
	"longer than the model's context|input length*exceeds the maximum|maximum allowed input length|" +
	"_tokens must be at least*got -#|exceeds maximum input length|the sum of prompt length|prompt tokens*exceeds model max|" +
	"`inputs` tokens + `max_new_tokens` must be|`inputs` must have less than|" +
	// llama.cpp, llama-cpp-python, LM Studio, Ollama, WebLLM, MLC, ONNX Runtime, and others that run
	// on the user's machine.
	"available context size|exceed context window|context length of only|" +
	"greater than the context length|reached context length of|cannot truncate prompt|" +
	"max context length|input length exceeds the context length|exceeds max context window|configured context size|" +
	"greater than max_seq_len|context limit is #*prompt|request too long: #*input tokens|" +
	"exceeded model context window|" +
	"larger than the model input length limit|sequence_length (#*is >= max_length|" +
	// Alibaba, Moonshot, Z.ai, MiniMax, SiliconFlow, Volcengine, UCloud, and proxies.
	"range of input length|token length exceed model limit|exceeded model token limit|input token length too long|" +
	"prompt exceeds max length|prompt too long|prompt tokens too long|tokens in request more than max tokens allowed|" +
	"prompt 超长|上下文过长|上下文超|上下文长度超|" +
	"model_context_window_exceeded|context window exceeds limit|length of prompt_tokens*must be less than|" +
	"exceed max message tokens|max input characters is|" +
	// Cerebras, GitHub Copilot, Databricks, GitHub Models, Cloudflare, Cohere, AI21, Watsonx, Yandex,
	// Salesforce, SambaNova.
	"current length is*while limit is|prompt token count*exceed|request body too large for*max size|" +
	"exceeded this model context window limit|maximum supported sequence length is|" +
	"total number of tokens*cannot exceed|size limit exceeded by|" +
	"prompt has too many tokens|number of input tokens*cannot exceed|" +
	"number of input tokens must be no more than|tokens exceed model token limit|" +
	// A message, or their number, beyond what OpenAI, Google and Alibaba read at all.
	"invalid 'messages*content*string too long|invalid 'messages': array too long|" +
	"invalid 'input*content*string too long|invalid 'input*output': string too long|" +
	"invalid 'input': string too long|invalid 'input': array too long|" +
	"text fields that are too large|string value length*exceeds the maximum allowed|" +
	// What servers say in words of their own.
	"context window*exceeded|context length*exceeded|context size*exceeded|context overflow|" +
	"exceed*model's context|exceeds the model's available context|" +
	"context window is full|exceed*the context window|" +
	"exceed*maximum context|exceeds context length|exceed*context limit|" +
	"longer than the*maximum sequence length|model max length exceeded|token limit exceeded|" +
	"max tokens of #*exceeded|exceeds maximum allowed token|conversation is too long|" +
	"token数量超过上限|" +
	"exceeds max_seq_len|exceed max_model_len|" +
	"exceeds the token limit of the model|exceeds model's maximum sequence|" +
	"sequence length*exceeds model maximum|larger than the context|larger than context|" +
	"more than the context|fit in*context|messages too long|messages are too long|" +
	"tokens, but the model's context|input too long|input is too large: #*tokens|" +
	"the conversation has*the limit is #"

// rateLimitPhrases occur in errors about tokens in a span of time, or about credit.
const rateLimitPhrases = "rate limit|rate_limit|rate-limit|ratelimit|per minute|per-minute|" +
	"per min|per day|(tpm)|quota|too many requests|throttl|wait before trying|credits|per hour|" +
	"/hour|hourly|daily|monthly|allowance|api key|your account|user token| tier|session token"

// elsewherePhrases occur in errors about something else than the conversation that is too large.
const elsewherePhrases = "image is|image too|image exceeds|input image|of images|audio input|" +
	"for the cache|the file|embedding|out of memory|num_ctx|logit_bias|schema exceeds|stop: exceeds"

// outputWords name the output, and inputWords the rest of a request.
const (
	outputWords = "max_tokens|max_output_tokens|max_completion_tokens|budget_tokens|" +
		"output tokens"
	inputWords = "input|prompt|message|conversation|in the text|must be at least"
)

// saysContextLength reports whether e means that the conversation is too long.
func saysContextLength(e *model.APIError) bool {
	switch e.Status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusTooManyRequests:
		return false
	}
	message, _, _ := strings.Cut(strings.ToLower(e.Message), ". for image inputs, ") // advice of vLLM
	switch {
	case matchesOne(message, rateLimitPhrases), matchesOne(message, elsewherePhrases),
		outputAlone(message),
		matchesOne(message, outputWords) && !matchesOne(message, inputWords):
		return false
	}
	if matchesOne(message, contextLengthPhrases) {
		return true
	}
	switch e.Status {
	case http.StatusRequestEntityTooLarge: // a file that is too large has no place in the conversation either way
		return !strings.Contains(message, "image") && !strings.Contains(message, "file") && !strings.Contains(message, "audio")
	case http.StatusBadRequest: // "status code (no body)" in opencode's provider/error.ts and pi's overflow.ts
		return (message == "" || message == EmptyBody) && (e.Provider == "cerebras" || e.Provider == "mistral")
	}
	return false
}

// matchesOne reports whether text matches one of the phrases, which bars separate.
func matchesOne(text, phrases string) bool {
	for phrases != "" {
		var phrase string
		if phrase, phrases, _ = strings.Cut(phrases, "|"); matches(text, phrase) {
			return true
		}
	}
	return false
}

// matches reports whether text contains the pieces of a phrase, which asterisks separate, in order.
func matches(text, phrase string) bool {
	for phrase != "" {
		var piece string
		piece, phrase, _ = strings.Cut(phrase, "*")
		piece, beforeDigit := strings.CutSuffix(piece, "#")
		_, rest, found := strings.Cut(text, piece)
		if !found || beforeDigit && leadingNumber(rest) < 0 {
			return false
		}
		text = rest
	}
	return true
}

// outputAlone reports whether a message, in lower case, means that the requested output alone fills
// the context, whatever the conversation.
func outputAlone(message string) bool {
	numberAfter := func(prefix string) int {
		_, rest, _ := strings.Cut(message, prefix)
		return leadingNumber(rest)
	}
	limit := numberAfter("maximum context length is ")
	output := numberAfter("tokens' is too large: ")
	for _, end := range [...]string{" in the completion", " for the completion", " in the output", " output tokens"} {
		if before, _, found := strings.Cut(message, end); found {
			output = max(output, leadingNumber(before[strings.LastIndexAny(before, " (")+1:]))
		}
	}
	return limit > 0 && output >= limit
}

// leadingNumber returns the number with which the text begins, or -1.
func leadingNumber(text string) int {
	n := -1
	for i := 0; i < len(text) && i < 12 && text[i] >= '0' && text[i] <= '9'; i++ {
		n = max(n, 0)*10 + int(text[i]-'0')
	}
	return n
}
