// SPDX-License-Identifier: Apache-2.0

package model

// Usage counts the tokens of one response, as reported by the provider. The fields mean the same
// for every provider, whatever its own counts include. No count is negative, and
//
//	CacheReadTokens + CacheWriteTokens <= InputTokens
//	ReasoningTokens <= OutputTokens
//	TotalTokens = InputTokens + OutputTokens
type Usage struct {
	// InputTokens counts all input, cached or not.
	InputTokens int64 `json:"input_tokens,omitempty"`
	// OutputTokens counts all output, including reasoning.
	OutputTokens int64 `json:"output_tokens,omitempty"`
	// CacheReadTokens is the part of InputTokens read from the provider's prompt cache.
	// CacheWriteTokens is a separate part of InputTokens, written to the cache.
	CacheReadTokens  int64 `json:"cache_read_tokens,omitempty"`
	CacheWriteTokens int64 `json:"cache_write_tokens,omitempty"`
	// ReasoningTokens is the part of OutputTokens used for reasoning.
	ReasoningTokens int64 `json:"reasoning_tokens,omitempty"`
}

// Add adds v to u.
func (u *Usage) Add(v Usage) {
	u.InputTokens += v.InputTokens
	u.OutputTokens += v.OutputTokens
	u.CacheReadTokens += v.CacheReadTokens
	u.CacheWriteTokens += v.CacheWriteTokens
	u.ReasoningTokens += v.ReasoningTokens
}

// TotalTokens returns the sum of input and output tokens.
func (u Usage) TotalTokens() int64 { return u.InputTokens + u.OutputTokens }
