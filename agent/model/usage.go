// SPDX-License-Identifier: Apache-2.0

package model

// Usage counts the tokens of one response, as far as the provider reports them. It means the same for every provider,
// whatever the provider's own counts include. No count is negative, and
//
//	CacheReadTokens + CacheWriteTokens <= InputTokens
//	ReasoningTokens <= OutputTokens
//	TotalTokens = InputTokens + OutputTokens
type Usage struct {
	// InputTokens counts all that the model read, cached or not.
	InputTokens int64 `json:"input_tokens,omitempty"`
	// OutputTokens counts all that the model wrote, reasoning included.
	OutputTokens int64 `json:"output_tokens,omitempty"`
	// CacheReadTokens is the part of InputTokens that came from the provider's prompt cache. CacheWriteTokens is the part,
	// apart from that, that was written to it.
	CacheReadTokens  int64 `json:"cache_read_tokens,omitempty"`
	CacheWriteTokens int64 `json:"cache_write_tokens,omitempty"`
	// ReasoningTokens is the part of OutputTokens that was spent on thinking.
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

// TotalTokens is input and output together.
func (u Usage) TotalTokens() int64 { return u.InputTokens + u.OutputTokens }
