// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// wireUsage counts tokens, with the field names of all endpoints.
type wireUsage struct {
	PromptTokens     adapter.Tokens `json:"prompt_tokens"`
	CompletionTokens adapter.Tokens `json:"completion_tokens"`
	TotalTokens      adapter.Tokens `json:"total_tokens"`
	PromptDetails    inputDetails   `json:"prompt_tokens_details"`
	// PromptDetail is Mistral's second name for the details.
	PromptDetail      inputDetails  `json:"prompt_token_details"`
	CompletionDetails outputDetails `json:"completion_tokens_details"`

	// CachedTokens counts cached tokens for Moonshot and Together, NumCachedTokens for Mistral,
	// CacheHitTokens for DeepSeek.
	CachedTokens    adapter.Tokens `json:"cached_tokens"`
	NumCachedTokens adapter.Tokens `json:"num_cached_tokens"`
	CacheHitTokens  adapter.Tokens `json:"prompt_cache_hit_tokens"`
	// ReasoningTokens is used by Perplexity and SGLang.
	ReasoningTokens adapter.Tokens `json:"reasoning_tokens"`
}

type inputDetails struct {
	CachedTokens     adapter.Tokens `json:"cached_tokens"`
	CacheWriteTokens adapter.Tokens `json:"cache_write_tokens"`
}

type outputDetails struct {
	ReasoningTokens adapter.Tokens `json:"reasoning_tokens"`
}

func (u *wireUsage) usage() model.Usage {
	return adapter.Count(int64(u.TotalTokens), model.Usage{
		InputTokens:      int64(u.PromptTokens),
		OutputTokens:     int64(u.CompletionTokens),
		CacheReadTokens:  int64(max(u.PromptDetails.CachedTokens, u.PromptDetail.CachedTokens, u.CachedTokens, u.NumCachedTokens, u.CacheHitTokens)),
		CacheWriteTokens: int64(u.PromptDetails.CacheWriteTokens),
		ReasoningTokens:  int64(max(u.CompletionDetails.ReasoningTokens, u.ReasoningTokens)),
	})
}

// itemUsage counts tokens in the Responses protocol.
type itemUsage struct {
	InputTokens   adapter.Tokens `json:"input_tokens"`
	InputDetails  inputDetails   `json:"input_tokens_details"`
	OutputTokens  adapter.Tokens `json:"output_tokens"`
	OutputDetails outputDetails  `json:"output_tokens_details"`
	TotalTokens   adapter.Tokens `json:"total_tokens"`
}

func (u *itemUsage) usage() model.Usage {
	return adapter.Count(int64(u.TotalTokens), model.Usage{
		InputTokens:      int64(u.InputTokens),
		OutputTokens:     int64(u.OutputTokens),
		CacheReadTokens:  int64(u.InputDetails.CachedTokens),
		CacheWriteTokens: int64(u.InputDetails.CacheWriteTokens),
		ReasoningTokens:  int64(u.OutputDetails.ReasoningTokens),
	})
}
