// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// wireUsage counts tokens, with the field names of all endpoints.
type wireUsage struct {
	PromptTokens     int64        `json:"prompt_tokens"`
	CompletionTokens int64        `json:"completion_tokens"`
	TotalTokens      int64        `json:"total_tokens"`
	PromptDetails    inputDetails `json:"prompt_tokens_details"`
	// PromptDetail is Mistral's second name for the details.
	PromptDetail      inputDetails  `json:"prompt_token_details"`
	CompletionDetails outputDetails `json:"completion_tokens_details"`

	// CachedTokens counts cached tokens for Moonshot and Together, NumCachedTokens for Mistral,
	// CacheHitTokens for DeepSeek.
	CachedTokens    int64 `json:"cached_tokens"`
	NumCachedTokens int64 `json:"num_cached_tokens"`
	CacheHitTokens  int64 `json:"prompt_cache_hit_tokens"`
	// ReasoningTokens is used by Perplexity and SGLang.
	ReasoningTokens int64 `json:"reasoning_tokens"`
}

type inputDetails struct {
	CachedTokens     int64 `json:"cached_tokens"`
	CacheWriteTokens int64 `json:"cache_write_tokens"`
}

type outputDetails struct {
	ReasoningTokens int64 `json:"reasoning_tokens"`
}

func (u *wireUsage) usage() model.Usage {
	return adapter.Count(u.TotalTokens, model.Usage{
		InputTokens:      u.PromptTokens,
		OutputTokens:     u.CompletionTokens,
		CacheReadTokens:  max(u.PromptDetails.CachedTokens, u.PromptDetail.CachedTokens, u.CachedTokens, u.NumCachedTokens, u.CacheHitTokens),
		CacheWriteTokens: u.PromptDetails.CacheWriteTokens,
		ReasoningTokens:  max(u.CompletionDetails.ReasoningTokens, u.ReasoningTokens),
	})
}

// itemUsage counts tokens in the Responses protocol.
type itemUsage struct {
	InputTokens   int64         `json:"input_tokens"`
	InputDetails  inputDetails  `json:"input_tokens_details"`
	OutputTokens  int64         `json:"output_tokens"`
	OutputDetails outputDetails `json:"output_tokens_details"`
	TotalTokens   int64         `json:"total_tokens"`
}

func (u *itemUsage) usage() model.Usage {
	return adapter.Count(u.TotalTokens, model.Usage{
		InputTokens:      u.InputTokens,
		OutputTokens:     u.OutputTokens,
		CacheReadTokens:  u.InputDetails.CachedTokens,
		CacheWriteTokens: u.InputDetails.CacheWriteTokens,
		ReasoningTokens:  u.OutputDetails.ReasoningTokens,
	})
}
